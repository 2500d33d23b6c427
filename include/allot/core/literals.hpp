// SPDX-License-Identifier: BSL-1.0
// literals: `64_KiB`, `2_MiB` and `1_GiB`, which are sizes in bytes of type `std::size_t`.
//
//     using namespace allot::literals;
//     allot::arena<allot::host::static_storage<64_KiB>, allot::bump<>> scratch;
//
// A size that does not fit in the target's `std::size_t` does not compile. Only decimal numbers are accepted.
//
// When to use: for constant sizes in source code.
// When not to use: for sizes that are known at run time. Multiply those.
//
// Complexity: evaluated at compile time.
// Memory: none.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <limits>

// The digits are template arguments and the value is a separate constant, because Clang 14 leaves calls of consteval
// literals in templates to the linker.

namespace allot {
inline namespace v1 {

namespace detail {
void size_does_not_fit_on_this_target();  // not constexpr: a literal that calls one of these functions does not compile
void size_is_no_decimal_number();

template <char... Digits>
[[nodiscard]] constexpr std::size_t shifted(unsigned shift) {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    constexpr char digits[] = {Digits...};
    std::size_t value = 0;
    if (sizeof...(Digits) > 1 && digits[0] == '0') size_is_no_decimal_number();
    for (const char digit : digits) {
        if (digit == '\'') continue;
        if (digit < '0' || digit > '9') size_is_no_decimal_number();
        const auto next = static_cast<std::size_t>(digit - '0');
        if (value > (most - next) / 10) size_does_not_fit_on_this_target();
        value = value * 10 + next;
    }
    if (value > most >> shift) size_does_not_fit_on_this_target();
    return value << shift;
}
template <unsigned Shift, char... Digits>
inline constexpr std::size_t size_literal = shifted<Digits...>(Shift);
}  // namespace detail

/// The literals of sizes, for `using namespace allot::literals`.
inline namespace literals {

/// Returns a number of bytes, in bytes.
template <char... Digits>
[[nodiscard]] constexpr std::size_t operator""_B() noexcept {
    return detail::size_literal<0, Digits...>;
}
/// Returns a number of kibibytes, of 1024 bytes each, in bytes.
template <char... Digits>
[[nodiscard]] constexpr std::size_t operator""_KiB() noexcept {
    return detail::size_literal<10, Digits...>;
}
/// Returns a number of mebibytes, of 1024 KiB each, in bytes.
template <char... Digits>
[[nodiscard]] constexpr std::size_t operator""_MiB() noexcept {
    return detail::size_literal<20, Digits...>;
}
/// Returns a number of gibibytes, of 1024 MiB each, in bytes.
template <char... Digits>
[[nodiscard]] constexpr std::size_t operator""_GiB() noexcept {
    return detail::size_literal<30, Digits...>;
}

}  // namespace literals
}  // namespace v1
}  // namespace allot
