#include <allot/strategy/detail/size_bins.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <utility>

namespace {

// In constant expressions, the compiler rejects every access outside of an array and every element without a value. It
// takes seconds for large sizes, so these are tested when the program runs, where the sanitizer checks the accesses. The
// first size is an argument, because a compiler evaluates calls without variables itself.
template <class Size, Size Largest, bool Fine>
constexpr bool has_bins(std::uint64_t first) {
    using bins = allot::detail::size_bins<Size, std::uint16_t, 0xFFFF, Largest, Fine>;
    bins lists;
    if (lists.next(0) != bins::count) return false;
    unsigned last = 0;
    // All small sizes; above, the first and the last size of each bin.
    for (std::uint64_t at = first; at <= Largest; at = at < 200 ? at + 1 : at + at / 16) {
        const auto bin = bins::of(static_cast<Size>(at));
        if (bin >= bins::count || bin < last) return false;
        last = bin;
        lists.push(bin, 7, 0xFFFF);
        if (lists.head(bin) != 7 || lists.next(0) != bin || lists.next(bin) != bin || lists.after(bin) != bins::count)
            return false;
        if (bin != 0 && lists.after(0) != bin) return false;
        lists.pop(bin, 0xFFFF);
        if (lists.head(bin) != 0xFFFF || lists.next(0) != bins::count) return false;
        lists.push(bin, 8);  // without a branch
        lists.push(bin, 9);
        if (lists.head(bin) != 9 || lists.next(0) != bin || lists.after(bin) != bins::count) return false;
        lists.replace(bin, 8);
        if (lists.head(bin) != 8 || lists.next(0) != bin) return false;
        lists.replace(bin, 0xFFFF);
        if (lists.head(bin) != 0xFFFF || lists.next(0) != bins::count) return false;
        if (at > std::numeric_limits<std::uint64_t>::max() - at / 16 - 1) break;
    }
    return bins::of(Largest) == bins::count - 1;
}
template <class Size, Size Largest>
constexpr bool every_size_has_a_bin(std::uint64_t first) {
    return has_bins<Size, Largest, false>(first) && has_bins<Size, Largest, true>(first);
}
/// Sizes of one bin differ by less than a part of the smallest one. Small sizes have a bin of their own.
template <bool Fine>
constexpr bool differ_by_less_than(std::uint32_t part, std::uint32_t exact) {
    using bins = allot::detail::size_bins<std::uint32_t, std::uint16_t, 0xFFFF, 0xFFFF'FFFFU, Fine>;
    std::uint32_t first = 1;
    for (std::uint32_t size = 1; size != 3000; ++size) {
        if (bins::of(size) == bins::of(first) && (size - first) * part >= first && size != first) return false;
        if (bins::of(size) != bins::of(first)) {
            if (size < exact && size != first + 1) return false;
            first = size;
        }
        if (bins::is_exact(bins::of(size)) != (size < exact)) return false;
    }
    return true;
}
template <class Size, Size... Largest>
constexpr bool every_size_has_a_bin(std::uint64_t first, std::integer_sequence<Size, Largest...>) {
    return (every_size_has_a_bin<Size, Largest>(first) && ...);
}

template <class Size>
constexpr Size most = std::numeric_limits<Size>::max();
static_assert(
    every_size_has_a_bin(1, std::integer_sequence<std::uint8_t, 1, 2, 31, 32, 63, 64, 65, 127, 128, 254, 255>{}));
static_assert(every_size_has_a_bin(
    1,
    std::integer_sequence<std::uint16_t, 1, 62, 63, 64, 1000, 1023, 1024, 4095, 32767, 32768, most<std::uint16_t>>{}));

}  // namespace

TEST_CASE("size_bins: every size up to the largest has a bin") {
    std::uint64_t first = 1;
    CHECK(every_size_has_a_bin(first, std::integer_sequence<std::uint32_t, 1, 62, 12'345, 100'000, (1U << 31) - 1,
                                                            1U << 31, most<std::uint32_t> - 1, most<std::uint32_t>>{}));
    CHECK(every_size_has_a_bin(
        first, std::integer_sequence<std::uint64_t, 1, 62, 63, 64, 71, 72, 1000, 100'001, 12'345'678'901,
                                     std::uint64_t{1} << 40, most<std::uint64_t> / 16, most<std::uint64_t>>{}));
}

TEST_CASE("size_bins: sizes of one bin differ by less than a part of the smallest one") {
    std::uint32_t part = 8;
    CHECK(differ_by_less_than<false>(part, 64));
    part = 16;
    CHECK(differ_by_less_than<true>(part, 32));
}
