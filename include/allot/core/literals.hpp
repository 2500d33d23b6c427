// `64_KiB`, `2_MiB`, `1_GiB`: sizes in bytes, as `std::size_t`. A size that does not fit the target does not compile.
#pragma once

#include <cstddef>
#include <limits>

namespace allot::inline v1 {
inline namespace literals {

consteval std::size_t operator""_B(unsigned long long n) {
    if (n > std::numeric_limits<std::size_t>::max()) throw "allot: this size does not fit std::size_t on this target";
    return static_cast<std::size_t>(n);
}
consteval std::size_t operator""_KiB(unsigned long long n) {
    if (n > std::numeric_limits<std::size_t>::max() >> 10) throw "allot: this size does not fit std::size_t here";
    return static_cast<std::size_t>(n) << 10;
}
consteval std::size_t operator""_MiB(unsigned long long n) {
    if (n > std::numeric_limits<std::size_t>::max() >> 20) throw "allot: this size does not fit std::size_t here";
    return static_cast<std::size_t>(n) << 20;
}
consteval std::size_t operator""_GiB(unsigned long long n) {
    if (n > std::numeric_limits<std::size_t>::max() >> 30) throw "allot: this size does not fit std::size_t here";
    return static_cast<std::size_t>(n) << 30;
}

}  // namespace literals
}  // namespace allot::inline v1
