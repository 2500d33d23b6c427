#include <allot/strategy/detail/size_bins.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <utility>

namespace {

// In constant expressions, the compiler rejects every access outside of an array.
template <class Size, Size Largest>
constexpr bool every_size_has_a_bin() {
    using bins = allot::detail::size_bins<Size, std::uint16_t, 0xFFFF, Largest>;
    bins lists;
    if (lists.next(0) != bins::count) return false;
    unsigned last = 0;
    // All small sizes; above, the first and the last size of each bin.
    for (std::uint64_t at = 1; at <= Largest; at = at < 200 ? at + 1 : at + at / 16) {
        const auto bin = bins::of(static_cast<Size>(at));
        if (bin >= bins::count || bin < last) return false;
        last = bin;
        lists.push(bin, 7, 0xFFFF);
        if (lists.head(bin) != 7 || lists.next(0) != bin || lists.next(bin) != bin || lists.after(bin) != bins::count)
            return false;
        if (bin != 0 && lists.after(0) != bin) return false;
        lists.pop(bin, 0xFFFF);
        if (lists.head(bin) != 0xFFFF || lists.next(0) != bins::count) return false;
        if (at > std::numeric_limits<std::uint64_t>::max() - at / 16 - 1) break;
    }
    return bins::of(Largest) == bins::count - 1;
}

template <class Size, Size... Largest>
constexpr bool every_size_has_a_bin(std::integer_sequence<Size, Largest...>) {
    return (every_size_has_a_bin<Size, Largest>() && ...);
}

template <class Size>
constexpr Size most = std::numeric_limits<Size>::max();
static_assert(
    every_size_has_a_bin(std::integer_sequence<std::uint8_t, 1, 2, 31, 32, 63, 64, 65, 127, 128, 254, 255>{}));
static_assert(every_size_has_a_bin(
    std::integer_sequence<std::uint16_t, 1, 62, 63, 64, 1000, 1023, 1024, 4095, 32767, 32768, most<std::uint16_t>>{}));
static_assert(every_size_has_a_bin(std::integer_sequence<std::uint32_t, 1, 62, 100'000, (1U << 31) - 1, 1U << 31,
                                                         most<std::uint32_t> - 1, most<std::uint32_t>>{}));
static_assert(every_size_has_a_bin(std::integer_sequence<std::uint64_t, 1, 62, 100'001, std::uint64_t{1} << 40,
                                                         most<std::uint64_t> / 16, most<std::uint64_t>>{}));

}  // namespace

TEST_CASE("size_bins: every size up to the largest has a bin") {
    CHECK(every_size_has_a_bin<std::uint32_t, 12'345>());
    CHECK(every_size_has_a_bin<std::uint64_t, 12'345'678'901>());
}
