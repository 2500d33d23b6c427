// SPDX-License-Identifier: BSL-1.0
// algorithms: the sorts, heaps and searches that the planners need. They take the place of <algorithm> and <numeric>,
// which take a fifth of the time to compile <allot/plan.hpp>, and their results do not depend on the standard library.
//
// Complexity: a sort by digits is linear, another one O(n log n). Operations of heaps and searches are O(log n).
// Memory: a sort by digits has an array of the caller. Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Returns the smaller of two values.
template <class T>
[[nodiscard]] constexpr T smaller(T a, T b) noexcept {
    return b < a ? b : a;
}
/// Returns the larger of two values.
template <class T>
[[nodiscard]] constexpr T larger(T a, T b) noexcept {
    return a < b ? b : a;
}

/// Returns the greatest common divisor. That of 0 and a number is the number.
[[nodiscard]] constexpr std::uint64_t common_divisor(std::uint64_t a, std::uint64_t b) noexcept {
    while (b != 0) a = std::exchange(b, a % b);
    return a;
}

/// Sets all elements of an array to a value.
template <class Array, class T>
constexpr void set_all(const Array& array, T value) noexcept {
    for (auto& each : array) each = value;
}

/// Returns the first position in [0, count) at which `test(position)` is true, or `count`. Precondition: it is true at
/// all positions after one at which it is true.
template <class Test>
[[nodiscard]] constexpr std::size_t first_position(std::size_t count, Test test) noexcept {
    std::size_t from = 0;
    while (count != 0) {
        const std::size_t half = count / 2;
        if (test(from + half)) {
            count = half;
        } else {
            from += half + 1;
            count -= half + 1;
        }
    }
    return from;
}

/// Moves the item at position `at` of a heap down until it is not less than the items below it. The front of a heap is
/// an item that is not less than any other one.
template <class T, class Less>
constexpr void sift_down(T* heap, std::size_t count, std::size_t at, Less less) noexcept {
    const T item = heap[at];
    for (std::size_t below = 2 * at + 1; below < count; below = 2 * at + 1) {
        if (below + 1 < count && less(heap[below], heap[below + 1])) ++below;
        if (!less(item, heap[below])) break;
        heap[at] = heap[below];
        at = below;
    }
    heap[at] = item;
}
/// Makes an array a heap.
template <class T, class Less>
constexpr void make_heap(T* items, std::size_t count, Less less) noexcept {
    for (std::size_t at = count / 2; at-- != 0;) sift_down(items, count, at, less);
}
/// Adds the item at position `count` to the heap before it.
template <class T, class Less>
constexpr void push_heap(T* heap, std::size_t count, Less less) noexcept {
    const T item = heap[count];
    while (count != 0 && less(heap[(count - 1) / 2], item)) {
        heap[count] = heap[(count - 1) / 2];
        count = (count - 1) / 2;
    }
    heap[count] = item;
}
/// Moves the front of a heap of `count` items to its end. The items before it are a heap. Precondition: `count != 0`.
template <class T, class Less>
constexpr void pop_heap(T* heap, std::size_t count, Less less) noexcept {
    std::swap(heap[0], heap[count - 1]);
    sift_down(heap, count - 1, 0, less);
}

/// Sorts items in ascending order, by a heap. The sort is not stable.
template <class T, class Less>
constexpr void sort(T* items, std::size_t count, Less less) noexcept {
    make_heap(items, count, less);
    for (; count > 1; --count) pop_heap(items, count, less);
}
/// Sorts numbers in ascending order.
template <class T>
constexpr void sort(T* numbers, std::size_t count) noexcept {
    sort(numbers, count, [](T a, T b) { return a < b; });
}

/// Sorts `items[0, count)` by the 64-bit number `key(item)`. The sort is stable. `scratch` has `count` elements.
///
/// Radix sort by digits of 8 bits, from the lowest on. Skips digits that all keys have in common. Complexity: O(n) for
/// each digit. There are no comparisons that a processor could mispredict, and few enough statements for the limits
/// that compilers set for constant expressions.
template <class T, class Key>
constexpr void sort_by(T* items, T* scratch, std::size_t count, Key key) noexcept {
    std::uint64_t some = 0, all = ~std::uint64_t{0};
    for (std::size_t i = 0; i != count; ++i) {
        const std::uint64_t value = key(items[i]);
        some |= value;
        all &= value;
    }
    T *source = items, *target = scratch;
    for (unsigned shift = 0; shift != 64; shift += 8) {
        if ((((some ^ all) >> shift) & 255) == 0) continue;
        std::size_t next[256]{};
        for (std::size_t i = 0; i != count; ++i) ++next[key(source[i]) >> shift & 255];
        for (std::size_t digit = 0, sum = 0; digit != 256; ++digit) {
            sum += next[digit];
            next[digit] = sum - next[digit];
        }
        for (std::size_t i = 0; i != count; ++i) target[next[key(source[i]) >> shift & 255]++] = source[i];
        T* const sorted = target;
        target = source;
        source = sorted;
    }
    if (source != items)
        for (std::size_t i = 0; i != count; ++i) items[i] = source[i];
}

/// Returns the number at position `nth` of the ascending order. Changes `numbers`. Precondition: `nth < count`. O(n).
[[nodiscard]] constexpr std::uint64_t nth_smallest(std::uint64_t* numbers, std::size_t count,
                                                   std::size_t nth) noexcept {
    std::uint64_t some = 0, all = ~std::uint64_t{0};
    for (std::size_t i = 0; i != count; ++i) {
        some |= numbers[i];
        all &= numbers[i];
    }
    // From the highest byte in which numbers differ, keeps those that have the byte of the result.
    for (unsigned shift = 64; shift != 0;) {
        shift -= 8;
        if ((((some ^ all) >> shift) & 255) == 0) continue;
        std::size_t having[256]{}, digit = 0, kept = 0;
        for (std::size_t i = 0; i != count; ++i) ++having[numbers[i] >> shift & 255];
        for (; nth >= having[digit]; ++digit) nth -= having[digit];
        for (std::size_t i = 0; i != count; ++i)
            if ((numbers[i] >> shift & 255) == digit) numbers[kept++] = numbers[i];
        count = kept;
    }
    return numbers[0];
}

/// Maps a step to an unsigned number and preserves the order.
[[nodiscard]] constexpr std::uint64_t ordered(std::int64_t step) noexcept {
    return static_cast<std::uint64_t>(step) ^ (std::uint64_t{1} << 63);
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
