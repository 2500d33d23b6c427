// `64_KiB`, `2_MiB`, `1_GiB`: sizes in bytes, as `std::size_t`. A size that does not fit the target does not compile.
#pragma once

#include <cstddef>
#include <limits>

namespace allot::inline v1 {

namespace detail {
void size_does_not_fit_on_this_target();  // not constexpr: a literal that calls it does not compile

consteval std::size_t shifted(unsigned long long n, unsigned shift) {
    if (n > std::numeric_limits<std::size_t>::max() >> shift) size_does_not_fit_on_this_target();
    return static_cast<std::size_t>(n) << shift;
}
}  // namespace detail

inline namespace literals {

consteval std::size_t operator""_B(unsigned long long n) { return detail::shifted(n, 0); }
consteval std::size_t operator""_KiB(unsigned long long n) { return detail::shifted(n, 10); }
consteval std::size_t operator""_MiB(unsigned long long n) { return detail::shifted(n, 20); }
consteval std::size_t operator""_GiB(unsigned long long n) { return detail::shifted(n, 30); }

}  // namespace literals
}  // namespace allot::inline v1
