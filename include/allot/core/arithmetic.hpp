// SPDX-License-Identifier: BSL-1.0
// arithmetic: provides size arithmetic that detects overflow, and roundings to powers of two.
//
//     std::size_t count = 1000, bytes = 0;
//     if (!allot::checked_multiply(count, sizeof(float), bytes)) log("the array is too large");
//
// When to use: for each sum or product of sizes that a caller can influence.
// When not to use: for sizes whose bounds are known. Plain operators suffice there.
//
// Complexity: O(1), constexpr, without exceptions or heap allocation.
// Memory: none.
// Thread safety: pure functions.
#pragma once

#include <allot/core/detail/compiler.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace allot {
inline namespace v1 {

/// Returns true when `align` is a power of two, as an alignment must be.
// On processors without a bit-count instruction, std::has_single_bit calls a function.
template <std::unsigned_integral T>
[[nodiscard]] constexpr bool is_alignment(T align) noexcept {
    const auto below = static_cast<T>(align - 1);
    return (align ^ below) > below;
}

/// Stores `a + b` in `sum` and returns true. Returns false and leaves `sum` unchanged when the sum overflows.
template <std::unsigned_integral T>
[[nodiscard]] constexpr bool checked_add(T a, T b, T& sum) noexcept {
    if (b > std::numeric_limits<T>::max() - a) return false;
    sum = static_cast<T>(a + b);
    return true;
}

/// Stores `a * b` in `product` and returns true. Returns false and leaves `product` unchanged when the product
/// overflows.
template <std::unsigned_integral T>
[[nodiscard]] constexpr bool checked_multiply(T a, T b, T& product) noexcept {
    if (b != 0 && a > std::numeric_limits<T>::max() / b) return false;
    product = static_cast<T>(a * b);
    return true;
}

/// Returns `value` rounded down to a multiple of `align`. It cannot overflow. Precondition: `align` is a power of two.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T align_down(T value, T align) noexcept {
    return value & static_cast<T>(~(align - 1));
}

/// Returns `value` rounded up to a multiple of `align`.
/// Preconditions: `align` is a power of two, and the result fits in `T`. When a caller can influence `value`, use
/// `checked_align_up`.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T align_up(T value, T align) noexcept {
    return align_down(static_cast<T>(value + (align - 1)), align);
}

/// Stores `value`, rounded up to a multiple of `align`, in `rounded` and returns true. Returns false and leaves
/// `rounded` unchanged when the result overflows. Precondition: `align` is a power of two.
template <std::unsigned_integral T>
[[nodiscard]] constexpr bool checked_align_up(T value, T align, T& rounded) noexcept {
    if (value > std::numeric_limits<T>::max() - (align - 1)) return false;
    rounded = align_up(value, align);
    return true;
}

/// Returns the largest power of two that divides `value`. Returns 0 for 0, which every power of two divides.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T alignment_of(T value) noexcept {
    return value & static_cast<T>(~value + 1);
}

namespace detail {

/// Returns the number of trailing zero bits. Precondition: `bits != 0`.
// On processors without such an instruction, std::countr_zero adds a test for 0.
[[nodiscard]] constexpr std::size_t lowest_one(std::uint64_t bits) noexcept {
    return static_cast<std::size_t>(trailing_zeros(bits));
}
/// Returns the number of trailing zero bits of a narrow integer. Precondition: `bits != 0`.
template <std::unsigned_integral T>
    requires(sizeof(T) <= sizeof(unsigned))  // half the instructions of the 64-bit overload on 32-bit processors
[[nodiscard]] constexpr std::size_t lowest_one(T bits) noexcept {
    return static_cast<std::size_t>(trailing_zeros(static_cast<unsigned>(bits)));
}

/// Returns the index of the highest set bit, counted from 0. Precondition: `bits != 0`.
[[nodiscard]] constexpr unsigned highest_one(std::uint64_t bits) noexcept {
    return 63U ^ static_cast<unsigned>(leading_zeros(bits));
}
/// Returns the index of the highest set bit of a narrow integer, counted from 0. Precondition: `bits != 0`.
template <std::unsigned_integral T>
    requires(sizeof(T) <= sizeof(unsigned))
[[nodiscard]] constexpr unsigned highest_one(T bits) noexcept {
    return 31U ^ static_cast<unsigned>(leading_zeros(static_cast<unsigned>(bits)));
}

/// Returns `a / b`, rounded up. Precondition: `b != 0`.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T divided_up(T a, T b) noexcept {
    return static_cast<T>(a / b + (a % b != 0 ? 1 : 0));
}

}  // namespace detail

}  // namespace v1
}  // namespace allot
