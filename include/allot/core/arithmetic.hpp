// SPDX-License-Identifier: BSL-1.0
// Size arithmetic that cannot overflow: every sum or product of sizes that a caller can influence goes through here.
//
// Everything is constexpr, needs no heap and throws nothing. Thread safety: pure functions.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace allot {
inline namespace v1 {

/// True for 1, 2, 4, …: what an alignment must be. (std::has_single_bit calls a function where there is no such instruction.)
template <std::unsigned_integral T>
[[nodiscard]] constexpr bool is_alignment(T align) noexcept {
    const auto below = static_cast<T>(align - 1);
    return (align ^ below) > below;
}

/// How many zeros lie below the lowest one. Precondition: there is a one. (std::countr_zero asks, where there is no such
/// instruction.)
[[nodiscard]] constexpr std::size_t lowest_one(std::uint64_t bits) noexcept {
    return static_cast<std::size_t>(__builtin_ctzll(bits));
}
template <std::unsigned_integral T>
    requires(sizeof(T) <= sizeof(unsigned))  // half the work, where a register has no more
[[nodiscard]] constexpr std::size_t lowest_one(T bits) noexcept {
    return static_cast<std::size_t>(__builtin_ctz(bits));
}

/// The place of the highest one, counted from 0. Precondition: there is a one.
[[nodiscard]] constexpr unsigned highest_one(std::uint64_t bits) noexcept {
    return 63U ^ static_cast<unsigned>(__builtin_clzll(bits));
}
template <std::unsigned_integral T>
    requires(sizeof(T) <= sizeof(unsigned))
[[nodiscard]] constexpr unsigned highest_one(T bits) noexcept {
    return 31U ^ static_cast<unsigned>(__builtin_clz(bits));
}

/// `a + b`, or false and `sum` untouched when that does not fit.
template <std::unsigned_integral T>
[[nodiscard]] constexpr bool checked_add(T a, T b, T& sum) noexcept {
    if (b > std::numeric_limits<T>::max() - a) return false;
    sum = static_cast<T>(a + b);
    return true;
}

/// `a * b`, or false and `product` untouched when that does not fit.
template <std::unsigned_integral T>
[[nodiscard]] constexpr bool checked_multiply(T a, T b, T& product) noexcept {
    if (b != 0 && a > std::numeric_limits<T>::max() / b) return false;
    product = static_cast<T>(a * b);
    return true;
}

/// `value` rounded down to a multiple of `align`, a power of two. Cannot overflow.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T align_down(T value, T align) noexcept {
    return value & static_cast<T>(~(align - 1));
}

/// `value` rounded up to a multiple of `align`, a power of two.
/// Precondition: the result fits; where a caller can influence `value`, use `checked_align_up`.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T align_up(T value, T align) noexcept {
    return align_down(static_cast<T>(value + (align - 1)), align);
}

/// `value` rounded up to a multiple of `align`, a power of two; false and `rounded` untouched when that does not fit.
template <std::unsigned_integral T>
[[nodiscard]] constexpr bool checked_align_up(T value, T align, T& rounded) noexcept {
    if (value > std::numeric_limits<T>::max() - (align - 1)) return false;
    rounded = align_up(value, align);
    return true;
}

/// The largest power of two that divides `value`; 0 for 0, which every power of two divides.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T alignment_of(T value) noexcept {
    return value & static_cast<T>(~value + 1);
}

}  // namespace v1
}  // namespace allot
