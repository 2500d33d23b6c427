#include <allot/core/arithmetic.hpp>
#include <allot/core/literals.hpp>

#include <doctest/doctest.h>

namespace {

template <class T>
inline constexpr T most = std::numeric_limits<T>::max();
template <class T>
inline constexpr T half = T{1} << (std::numeric_limits<T>::digits - 1);  // the largest power of two

template <class T>
constexpr bool alignments() {
    if (allot::is_alignment(T{0}) || allot::is_alignment(T{3}) || allot::is_alignment(most<T>)) return false;
    if (!allot::is_alignment(T{1}) || !allot::is_alignment(T{2}) || !allot::is_alignment(half<T>)) return false;
    return allot::alignment_of(T{0}) == 0 && allot::alignment_of(T{1}) == 1 && allot::alignment_of(T{96}) == 32 &&
           allot::alignment_of(most<T>) == 1 && allot::alignment_of(half<T>) == half<T>;
}

template <class T>
constexpr bool sums() {
    T sum = 42;
    if (!allot::checked_add<T>(most<T>, 0, sum) || sum != most<T>) return false;
    if (!allot::checked_add<T>(0, most<T>, sum) || sum != most<T>) return false;
    if (!allot::checked_add<T>(most<T> - 1, 1, sum) || sum != most<T>) return false;
    if (!allot::checked_add<T>(0, 0, sum) || sum != 0) return false;
    sum = 42;
    return !allot::checked_add<T>(most<T>, 1, sum) && !allot::checked_add<T>(1, most<T>, sum) &&
           !allot::checked_add<T>(most<T>, most<T>, sum) && !allot::checked_add<T>(half<T>, half<T>, sum) && sum == 42;
}

template <class T>
constexpr bool products() {
    T product = 42;
    if (!allot::checked_multiply<T>(most<T>, 0, product) || product != 0) return false;
    if (!allot::checked_multiply<T>(0, most<T>, product) || product != 0) return false;
    if (!allot::checked_multiply<T>(most<T>, 1, product) || product != most<T>) return false;
    if (!allot::checked_multiply<T>(1, most<T>, product) || product != most<T>) return false;
    if (!allot::checked_multiply<T>(most<T> / 2, 2, product) || product != most<T> - 1) return false;
    product = 42;
    return !allot::checked_multiply<T>(half<T>, 2, product) && !allot::checked_multiply<T>(2, half<T>, product) &&
           !allot::checked_multiply<T>(most<T>, most<T>, product) &&
           !allot::checked_multiply<T>(most<T> / 2 + 1, 2, product) && product == 42;
}

template <class T>
constexpr bool roundings() {
    if (allot::align_down<T>(0, 8) != 0 || allot::align_down<T>(7, 8) != 0 || allot::align_down<T>(8, 8) != 8)
        return false;
    if (allot::align_down(most<T>, half<T>) != half<T> || allot::align_down<T>(most<T>, 1) != most<T>) return false;
    if (allot::align_up<T>(0, 8) != 0 || allot::align_up<T>(1, 8) != 8 || allot::align_up<T>(8, 8) != 8) return false;
    T rounded = 42;
    if (!allot::checked_align_up<T>(most<T>, 1, rounded) || rounded != most<T>) return false;
    if (!allot::checked_align_up<T>(half<T>, half<T>, rounded) || rounded != half<T>) return false;
    if (!allot::checked_align_up<T>(1, half<T>, rounded) || rounded != half<T>) return false;
    if (!allot::checked_align_up<T>(most<T> - 7, 8, rounded) || rounded != most<T> - 7) return false;
    rounded = 42;
    return !allot::checked_align_up<T>(most<T>, 2, rounded) && !allot::checked_align_up<T>(most<T> - 6, 8, rounded) &&
           !allot::checked_align_up<T>(half<T> + 1, half<T>, rounded) && rounded == 42;
}

template <class T>
constexpr bool all_hold() {
    return alignments<T>() && sums<T>() && products<T>() && roundings<T>();
}
// Includes the types that C++ promotes to int in expressions.
static_assert(all_hold<std::uint8_t>());
static_assert(all_hold<std::uint16_t>());
static_assert(all_hold<std::uint32_t>());
static_assert(all_hold<std::uint64_t>());
static_assert(all_hold<std::size_t>());

using namespace allot::literals;
static_assert(3_B == 3 && 1_KiB == 1024 && 64_KiB == 65536 && 2_MiB == 2097152 && 1_GiB == 1073741824);

}  // namespace

TEST_CASE("arithmetic: checked sums and products match wider arithmetic for every pair of bytes") {
    for (unsigned a = 0; a != 256; ++a) {
        for (unsigned b = 0; b != 256; ++b) {
            std::uint8_t result = 0;
            const bool fits = allot::checked_add(static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b), result);
            REQUIRE(fits == (a + b < 256));
            if (fits) REQUIRE(result == a + b);
            result = 0;
            const bool product_fits =
                allot::checked_multiply(static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b), result);
            REQUIRE(product_fits == (a * b < 256));
            if (product_fits) REQUIRE(result == a * b);
        }
    }
}

TEST_CASE("arithmetic: rounding matches wider arithmetic for every byte and every alignment") {
    for (unsigned value = 0; value != 256; ++value) {
        for (unsigned align = 1; align != 256; align *= 2) {
            const unsigned expected = (value + align - 1) / align * align;
            std::uint8_t rounded = 0;
            const bool fits =
                allot::checked_align_up(static_cast<std::uint8_t>(value), static_cast<std::uint8_t>(align), rounded);
            REQUIRE(fits == (expected < 256));
            if (fits) REQUIRE(rounded == expected);
            REQUIRE(allot::align_down(static_cast<std::uint8_t>(value), static_cast<std::uint8_t>(align)) ==
                    value / align * align);
        }
    }
}
