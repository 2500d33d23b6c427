// SPDX-License-Identifier: BSL-1.0
// mix: the computation of the demo's operators. An operator reads every byte of its inputs into a 64-bit sum, to which
// each 32-bit word contributes by its content, its position and the index of the input. It writes every byte of its
// outputs as a function of that sum, the step, the index of the output and the word's position. A lost, moved or
// overwritten byte therefore changes all values computed from it, up to the final digest.
//
//     sum = Σ weighed(word, position, input)          a sum, so that parallel work items may add in any order
//     word of an output = drawn(key_of(sum, step and output), position)
//
// At a given position, different words have different weights. The arithmetic is a single text that is compiled twice:
// here for the host, and as OpenCL C at run time. Words are little-endian, and sizes need not be multiples of 4. Thread
// safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace demo::mix {

using uint = std::uint32_t;
using ulong = std::uint64_t;

#define ALLOT_DEMO_BOTH(...) __VA_ARGS__ inline constexpr char shared_source[] = #__VA_ARGS__;

ALLOT_DEMO_BOTH(
    static inline ulong weighed(uint word, uint position, uint number) {
        const uint k = position * 0x9E3779B1u + number * 0x85EBCA77u + 0x27D4EB2Fu;
        uint a = word ^ k;
        a ^= a >> 15;
        a *= 0x2C1B3C6Du;
        a ^= a >> 13;
        const uint b = ((k ^ (k >> 16)) * 0x297A2D39u) | 1u;
        return (ulong)a * b;
    }

    static inline ulong key_of(ulong sum, ulong salt) {
        ulong x = sum + salt * 0x9E3779B97F4A7C15ul;
        x ^= x >> 32;
        x *= 0xD6E8FEB86659FD93ul;
        x ^= x >> 32;
        x *= 0xD6E8FEB86659FD93ul;
        return x ^ (x >> 32);
    }

    static inline uint drawn(ulong key, uint position) {
        uint x = position * 0x9E3779B1u + (uint)key;
        x ^= x >> 16;
        x *= 0x7FEB352Du;
        x ^= (uint)(key >> 32);
        x ^= x >> 15;
        x *= 0x846CA68Bu;
        return x ^ (x >> 16);
    })
#undef ALLOT_DEMO_BOTH

/// Returns a salt that differs for the outputs of all steps and, with `step` one past the last, for the network's
/// inputs.
[[nodiscard]] constexpr ulong salt_of(std::size_t step, std::size_t output) {
    return (static_cast<ulong>(step) << 32) + output + 1;
}

/// Returns the sum of a piece of a tensor that starts at byte `position`, a multiple of 4.
[[nodiscard]] inline ulong absorb(const void* from, std::size_t size, std::size_t position, std::size_t number) {
    const auto* bytes = static_cast<const std::byte*>(from);
    const auto n = static_cast<uint>(number);
    auto p = static_cast<uint>(position / 4);
    ulong sum = 0;
    uint word = 0;
    for (; size >= 4; size -= 4, bytes += 4) {
        std::memcpy(&word, bytes, 4);
        sum += weighed(word, p++, n);
    }
    word = 0;
    std::memcpy(&word, bytes, size);
    return size == 0 ? sum : sum + weighed(word, p, n);
}

/// Writes a piece of a tensor that starts at byte `position`, a multiple of 4.
inline void produce(void* to, std::size_t size, std::size_t position, ulong key) {
    auto* bytes = static_cast<std::byte*>(to);
    auto p = static_cast<uint>(position / 4);
    uint word = 0;
    for (; size >= 4; size -= 4, bytes += 4) {
        word = drawn(key, p++);
        std::memcpy(bytes, &word, 4);
    }
    word = drawn(key, p);
    std::memcpy(bytes, &word, size);
}

/// The OpenCL kernels, to be compiled after `shared_source`. Tensors and sums are each a buffer and a byte offset, as
/// set by `allot::opencl::set_arg`. Each work item handles one range of words and has one partial sum.
inline constexpr char kernel_source[] = R"(
kernel void absorb(global const uchar* from, ulong offset, global uchar* sums, ulong sums_offset,
                   ulong size, uint number, uint afresh) {
    const ulong items = get_global_size(0), item = get_global_id(0);
    const ulong words = size / 4, each = (words + items - 1) / items;
    const ulong first = min(item * each, words), last = min(first + each, words);
    global const uint* const at = (global const uint*)(from + offset);
    global ulong* const partial = (global ulong*)(sums + sums_offset) + item;
    ulong sum = afresh ? 0 : *partial;
    for (ulong w = first; w < last; ++w) sum += weighed(at[w], (uint)w, number);
    if (item == 0 && size % 4 != 0) {
        uint word = 0;
        for (ulong i = 0; i != size % 4; ++i) word |= (uint)from[offset + words * 4 + i] << (8 * i);
        sum += weighed(word, (uint)words, number);
    }
    *partial = sum;
}

kernel void produce(global uchar* to, ulong offset, global const uchar* sums, ulong sums_offset,
                    ulong size, ulong salt, uint partials) {
    ulong sum = 0;
    for (uint i = 0; i != partials; ++i) sum += ((global const ulong*)(sums + sums_offset))[i];
    const ulong key = key_of(sum, salt);
    const ulong items = get_global_size(0), item = get_global_id(0);
    const ulong words = size / 4, each = (words + items - 1) / items;
    const ulong first = min(item * each, words), last = min(first + each, words);
    global uint* const at = (global uint*)(to + offset);
    for (ulong w = first; w < last; ++w) at[w] = drawn(key, (uint)w);
    if (item == 0) {
        for (ulong i = 0; i != size % 4; ++i)
            to[offset + words * 4 + i] = (uchar)(drawn(key, (uint)words) >> (8 * i));
    }
}
)";

}  // namespace demo::mix
