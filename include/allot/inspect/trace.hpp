// SPDX-License-Identifier: BSL-1.0
// trace: reads and writes traces, which record the allocator calls of a program in their order.
//
//     auto read = allot::read_trace(bytes);
//     if (!read) complain(read.error.what(), read.error.position);
//     for (const allot::trace_operation& each : read.value.operations) …     // those before the error
//
// The format is ALTR1. All numbers are unsigned LEB128 varints: seven bits in each byte, low bits first, and the top
// bit set in all bytes except the last.
//
//     "ALTR1\n"   events   allocations   event event event …
//     6 bytes     the two counts         │
//                                        └► varint e: kind in the low two bits, x in the other bits
//
//     kind 0   allocate x bytes, aligned to 16
//     kind 1   allocate x bytes, aligned to 1 << a, where a is the next byte; a = 255 with x = 0 is a reset
//     kind 2   deallocate the block of age x
//     kind 3   resize: the next varint is the age of a block, which gets x bytes aligned to 16 and a new number
//
// Blocks are numbered from 0 in the order of allocation. An age counts back from the newest number before the event. A
// size of 0 means 1. Blocks that are never deallocated are live until the end of the trace.
//
// The reader checks each event. It returns a resize as an allocation followed by a deallocation. It returns a reset as
// one deallocation for each live block, oldest first, followed by the operation `reset`. When a block is deallocated,
// a later block can take its slot, so a replay needs only one handle for each slot:
//
//     allocate 0 │ allocate 1 │ deallocate 0 │ allocate 0 │ …        2 slots for any number of blocks
//
// When to use: to record the allocations of a program, and to replay them with different allocators.
// When not to use: for profiles. A trace has no times and no call stacks.
//
// Complexity: O(events).
// Memory: 16 bytes for each operation. While reading, also 4 bytes for each allocation and 12 bytes for each slot.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/core/arithmetic.hpp>
#include <allot/inspect/detail/format_reader.hpp>
#include <allot/inspect/detail/varint.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

// libstdc++ 11 has no std::vector in constant expressions.
#if defined(__cpp_lib_constexpr_vector)
#define ALLOT_CONSTEXPR_TRACE constexpr
#else
#define ALLOT_CONSTEXPR_TRACE inline
#endif

namespace allot {
inline namespace v1 {

/// The kind of an operation.
enum class trace_action : unsigned char {
    allocate,    ///< Allocates a block in a slot.
    deallocate,  ///< Deallocates the block in a slot.
    reset,       ///< Resets the allocator. The operations before it deallocated every block.
};

/// One operation of a trace.
struct trace_operation {
    std::uint64_t size = 0;                        ///< The size of the block in bytes, also for its deallocation.
    std::uint32_t slot = 0;                        ///< The slot that holds the block while it is live.
    trace_action action = trace_action::allocate;  ///< The kind of the operation.
    std::uint8_t align_log2 = 4;                   ///< The binary logarithm of the alignment.

    /// Returns the alignment in bytes.
    [[nodiscard]] constexpr std::uint64_t align() const noexcept { return std::uint64_t{1} << align_log2; }
};

/// The operations of a trace, and their summary.
struct trace {
    std::vector<trace_operation> operations{};  ///< The operations in their order.
    std::uint32_t slots = 0;                    ///< The number of slots: the maximum number of live blocks.
    std::uint64_t peak = 0;                     ///< The maximum number of live bytes.
    std::uint64_t largest = 0;                  ///< The size of the largest block in bytes.
    std::uint64_t least_align = 0;              ///< The least alignment in bytes.
    std::uint64_t most_align = 0;               ///< The greatest alignment in bytes.
};

namespace detail {

class trace_reader : format_reader {
public:
    ALLOT_CONSTEXPR_TRACE explicit trace_reader(std::span<const std::byte> bytes) noexcept : format_reader{bytes} {}

    [[nodiscard]] ALLOT_CONSTEXPR_TRACE format_reading<trace> read() {
        const format_refusal reason = read_all();
        made_.slots = static_cast<std::uint32_t>(held_.size());
        return {std::move(made_), {reason, reason == format_refusal::none ? 0 : begin()}};
    }

private:
    static constexpr std::uint32_t dead = std::numeric_limits<std::uint32_t>::max();
    struct block {
        std::uint64_t size;
        std::uint8_t align_log2;
    };

    ALLOT_CONSTEXPR_TRACE format_refusal read_all() {
        if (!magic("ALTR1\n")) return reason();
        begin_record();
        std::uint64_t events = 0, allocations = 0;
        if (!number(events)) return reason();
        begin_record();
        if (!number(allocations)) return reason();
        // An event takes at least one byte, so a false count cannot reserve too much memory.
        made_.operations.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(events, left())));
        for (; events != 0; --events) {
            begin_record();
            if (!event()) return reason();
        }
        begin_record();
        if (left() != 0) return format_refusal::trailing_bytes;
        return slot_of_.size() == allocations ? format_refusal::none : format_refusal::wrong_count;
    }

    ALLOT_CONSTEXPR_TRACE bool event() {
        std::uint64_t head = 0, age = 0;
        if (!number(head)) return false;
        const std::uint64_t x = head >> 2;
        const std::size_t blocks = slot_of_.size();
        switch (head & 3) {
            case 0: return allocate(x, 4);
            case 1: {
                std::uint8_t log2 = 0;
                if (!byte(log2)) return false;
                if (log2 == 255 && x == 0) return reset();
                return log2 < 64 ? allocate(x, log2) : refuse(format_refusal::bad_alignment);
            }
            case 2: return deallocate(blocks, x);
            default: return number(age) && is_live(blocks, age) && allocate(x, 4) && deallocate(blocks, age);
        }
    }

    ALLOT_CONSTEXPR_TRACE bool allocate(std::uint64_t size, std::uint8_t log2) {
        if (size == 0) size = 1;
        if (slot_of_.size() == dead || !checked_add<std::uint64_t>(live_, size, live_))
            return refuse(format_refusal::too_large);
        auto slot = static_cast<std::uint32_t>(held_.size());
        if (spare_.empty()) {
            held_.push_back({size, log2});
        } else {
            slot = spare_.back();
            spare_.pop_back();
            held_[slot] = {size, log2};
        }
        slot_of_.push_back(slot);
        made_.operations.push_back({size, slot, trace_action::allocate, log2});
        const std::uint64_t align = made_.operations.back().align();
        made_.peak = std::max(made_.peak, live_);
        made_.largest = std::max(made_.largest, size);
        made_.most_align = std::max(made_.most_align, align);
        made_.least_align = made_.least_align == 0 ? align : std::min(made_.least_align, align);
        return true;
    }

    /// Returns whether the block of an age is live after a number of allocations.
    ALLOT_CONSTEXPR_TRACE bool is_live(std::size_t blocks, std::uint64_t age) noexcept {
        if (age >= blocks) return refuse(format_refusal::unknown_block);
        return slot_of_[blocks - 1 - static_cast<std::size_t>(age)] != dead || refuse(format_refusal::not_live);
    }
    ALLOT_CONSTEXPR_TRACE bool deallocate(std::size_t blocks, std::uint64_t age) {
        if (!is_live(blocks, age)) return false;
        give_back(slot_of_[blocks - 1 - static_cast<std::size_t>(age)]);
        return true;
    }
    ALLOT_CONSTEXPR_TRACE void give_back(std::uint32_t& slot) {
        const block held = held_[slot];
        made_.operations.push_back({held.size, slot, trace_action::deallocate, held.align_log2});
        live_ -= held.size;
        spare_.push_back(slot);
        slot = dead;
    }
    ALLOT_CONSTEXPR_TRACE bool reset() {
        for (; kept_ != slot_of_.size(); ++kept_)
            if (slot_of_[kept_] != dead) give_back(slot_of_[kept_]);
        made_.operations.push_back({.action = trace_action::reset});
        return true;
    }

    trace made_{};
    std::vector<std::uint32_t> slot_of_{};  // index: number of a block
    std::vector<block> held_{};             // index: slot
    std::vector<std::uint32_t> spare_{};    // free slots; the newest is used first
    std::size_t kept_ = 0;                  // blocks with smaller numbers were deallocated by a reset
    std::uint64_t live_ = 0;
};

}  // namespace detail

/// Returns the operations of a trace. If the trace is invalid, returns those before the first error, which can be
/// replayed, and the error.
[[nodiscard]] ALLOT_CONSTEXPR_TRACE format_reading<trace> read_trace(std::span<const std::byte> bytes) {
    return detail::trace_reader{bytes}.read();
}

/// Writes a trace. `allocate` and `resize` return the number of the new block, which names it in later calls.
class trace_writer {
public:
    /// Records an allocation and returns the number of the block. Preconditions: `size < 2^62`, and `align` is a power
    /// of two.
    ALLOT_CONSTEXPR_TRACE std::uint64_t allocate(std::uint64_t size, std::uint64_t align = 16) {
        event(size << 2 | (align == 16 ? 0 : 1));
        if (align != 16) byte(static_cast<std::uint8_t>(std::countr_zero(align)));
        return blocks_++;
    }
    /// Records a deallocation. Precondition: the block is live.
    ALLOT_CONSTEXPR_TRACE void deallocate(std::uint64_t block) { event((blocks_ - 1 - block) << 2 | 2); }
    /// Records a resize and returns the new number of the block. Preconditions: the block is live, and `size < 2^62`.
    ALLOT_CONSTEXPR_TRACE std::uint64_t resize(std::uint64_t block, std::uint64_t size) {
        event(size << 2 | 3);
        detail::append_varint(blocks_ - 1 - block, events_);
        return blocks_++;
    }
    /// Records a reset, which deallocates all blocks.
    ALLOT_CONSTEXPR_TRACE void reset() {
        event(1);
        byte(255);
    }

    /// Returns the recorded events as a complete trace.
    [[nodiscard]] ALLOT_CONSTEXPR_TRACE std::vector<std::byte> bytes() const {
        std::vector<std::byte> all;
        detail::append_text("ALTR1\n", all);
        detail::append_varint(count_, all);
        detail::append_varint(blocks_, all);
        all.insert(all.end(), events_.begin(), events_.end());
        return all;
    }

private:
    ALLOT_CONSTEXPR_TRACE void event(std::uint64_t head) {
        ++count_;
        detail::append_varint(head, events_);
    }
    ALLOT_CONSTEXPR_TRACE void byte(std::uint8_t value) { events_.push_back(static_cast<std::byte>(value)); }

    std::vector<std::byte> events_{};
    std::uint64_t count_ = 0, blocks_ = 0;
};

}  // namespace v1
}  // namespace allot
