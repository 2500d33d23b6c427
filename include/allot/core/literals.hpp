// SPDX-License-Identifier: BSL-1.0
// `64_KiB`, `2_MiB`, `1_GiB`: sizes in bytes, as `std::size_t`. A size that does not fit the target does not compile.
//
// Digits are the template's, and the value a constant of its own: clang 14 leaves calls of consteval literals in
// templates to the linker. Decimal numbers only.
#pragma once

#include <cstddef>
#include <limits>

namespace allot {
inline namespace v1 {

namespace detail {
void size_does_not_fit_on_this_target();  // neither is constexpr: a literal that calls it does not compile
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

inline namespace literals {

template <char... Digits>
[[nodiscard]] constexpr std::size_t operator""_B() noexcept {
    return detail::size_literal<0, Digits...>;
}
template <char... Digits>
[[nodiscard]] constexpr std::size_t operator""_KiB() noexcept {
    return detail::size_literal<10, Digits...>;
}
template <char... Digits>
[[nodiscard]] constexpr std::size_t operator""_MiB() noexcept {
    return detail::size_literal<20, Digits...>;
}
template <char... Digits>
[[nodiscard]] constexpr std::size_t operator""_GiB() noexcept {
    return detail::size_literal<30, Digits...>;
}

}  // namespace literals
}  // namespace v1
}  // namespace allot
