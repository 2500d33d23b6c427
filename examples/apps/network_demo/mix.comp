// The computation of ../firmware/mix.hpp as a compute shader. `absorb` adds a tensor's words to partial sums; `produce`
// writes a tensor from them. Tensors and sums are words of one buffer, at given first words. Each invocation handles
// one range of words and has one partial sum. Bytes after the end of a tensor are unchanged.
#version 450
#extension GL_ARB_gpu_shader_int64 : require
layout(local_size_x = 8) in;
layout(std430, set = 0, binding = 0) buffer Memory { uint words[]; };
layout(push_constant) uniform Arguments {
    uint first, sums, size;   // of the tensor, in words; of the partial sums, in words; bytes of the tensor
    uint produces;            // 0: absorb
    uint number, afresh;      // absorb: index of the input; 1: start the sums at 0
    uint salt_low, salt_high; // produce
    uint partials;            // produce: number of sums
};

uint64_t weighed(uint word, uint position, uint of_number) {
    const uint k = position * 0x9E3779B1u + of_number * 0x85EBCA77u + 0x27D4EB2Fu;
    uint a = word ^ k;
    a ^= a >> 15;
    a *= 0x2C1B3C6Du;
    a ^= a >> 13;
    const uint b = ((k ^ (k >> 16)) * 0x297A2D39u) | 1u;
    return uint64_t(a) * uint64_t(b);
}
uint64_t key_of(uint64_t sum, uint64_t salt) {
    uint64_t x = sum + salt * 0x9E3779B97F4A7C15ul;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93ul;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93ul;
    return x ^ (x >> 32);
}
uint drawn(uint64_t key, uint position) {
    uint x = position * 0x9E3779B1u + uint(key);
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= uint(key >> 32);
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    return x ^ (x >> 16);
}

uint64_t sum_at(uint item) { return packUint2x32(uvec2(words[sums + 2 * item], words[sums + 2 * item + 1])); }

void main() {
    const uint items = gl_NumWorkGroups.x * gl_WorkGroupSize.x, item = gl_GlobalInvocationID.x;
    const uint whole = size / 4, each = (whole + items - 1) / items;
    const uint begin = min(item * each, whole), end = min(begin + each, whole);
    const uint tail = (1u << (8 * (size % 4))) - 1;  // of the last word if it is partial
    if (produces == 0) {
        uint64_t sum = afresh == 1 ? 0ul : sum_at(item);
        for (uint w = begin; w < end; ++w) sum += weighed(words[first + w], w, number);
        if (item == 0 && tail != 0) sum += weighed(words[first + whole] & tail, whole, number);
        const uvec2 both = unpackUint2x32(sum);
        words[sums + 2 * item] = both.x;
        words[sums + 2 * item + 1] = both.y;
    } else {
        uint64_t sum = 0ul;
        for (uint i = 0; i != partials; ++i) sum += sum_at(i);
        const uint64_t key = key_of(sum, packUint2x32(uvec2(salt_low, salt_high)));
        for (uint w = begin; w < end; ++w) words[first + w] = drawn(key, w);
        if (item == 0 && tail != 0)
            words[first + whole] = (words[first + whole] & ~tail) | (drawn(key, whole) & tail);
    }
}
