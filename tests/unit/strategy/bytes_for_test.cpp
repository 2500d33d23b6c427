// The smallest extents of all strategies, compared to every extent of a small offset space.
#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

using allot::best_fit_options;
using allot::node_store;
using allot::pool_options;
using allot::pool_store;

alignas(64) std::byte bytes[600];

struct bytes_memory {
    static std::byte* at(std::uint16_t offset) noexcept { return bytes + offset; }
};

template <best_fit_options Options>
using narrow_fit = allot::best_fit<Options, std::uint8_t>;
template <best_fit_options Options>
using fit_in_band = allot::best_fit<Options, std::uint16_t, bytes_memory>;
template <pool_options Options>
using narrow_pool = allot::pool<Options, std::uint8_t>;

template <class Strategy>
unsigned served_by(std::size_t size, allot::layout_for<Strategy> each) {
    using offset = typename Strategy::offset_type;
    Strategy strategy;
    if (!strategy.insert({0, static_cast<offset>(size)}, {})) return 0;
    unsigned count = 0;
    while (strategy.allocate(each)) ++count;
    return count;
}

}  // namespace

TEST_CASE_TEMPLATE(
    "bytes_for: the result is the smallest of all extents that serve the blocks, and 0 if none does", Strategy,
    narrow_fit<best_fit_options{}>, narrow_fit<best_fit_options{.granule = 8, .large = 30}>,
    narrow_fit<best_fit_options{.records = 1}>, narrow_fit<best_fit_options{.records = 12}>,
    narrow_fit<best_fit_options{.records = 12, .granule = 4, .large = 10}>,
    narrow_fit<best_fit_options{.records = 12, .largest_extent = 100}>,
    narrow_fit<best_fit_options{.records = 255, .prefer_size = true}>,
    narrow_fit<best_fit_options{.offset_index = true}>,
    narrow_fit<best_fit_options{.records = 2, .offset_index = true}>,
    narrow_fit<best_fit_options{.records = 12, .offset_index = true}>,
    narrow_fit<best_fit_options{.records = 13, .granule = 4, .large = 10, .offset_index = true, .prefer_size = true}>,
    fit_in_band<best_fit_options{.store = node_store::in_band}>,
    fit_in_band<best_fit_options{.store = node_store::in_band, .large = 40, .prefer_size = true}>,
    fit_in_band<best_fit_options{.store = node_store::in_band, .largest_extent = 200}>,
    allot::deferred<fit_in_band<best_fit_options{.store = node_store::in_band}>>,
    allot::bump<allot::bump_options{.direction = allot::direction::up, .limit_align = 8}, std::uint8_t>,
    allot::bump<allot::bump_options{.direction = allot::direction::down}, std::uint8_t>,
    allot::stack<allot::stack_options{}, std::uint8_t>, allot::stack<allot::stack_options{.large = 10}, std::uint8_t>,
    allot::ring<allot::ring_options{}, std::uint8_t>,
    narrow_pool<pool_options{.slot = 10, .count = 12, .align = 4, .store = pool_store::bitmap}>,
    narrow_pool<pool_options{.slot = 1, .count = 300, .align = 1, .store = pool_store::index_stack}>,
    narrow_pool<pool_options{.slot = 3, .count = 70, .align = 1, .store = pool_store::atomic_bitmap}>,
    allot::page_tree<allot::page_tree_options{.page = 4, .count = 20, .largest_order = 2}, std::uint8_t>,
    allot::page_tree<allot::page_tree_options{.page = 1, .count = 255, .largest_order = 6}, std::uint8_t>) {
    using offset = typename Strategy::offset_type;
    constexpr std::size_t largest = std::min<std::size_t>(std::numeric_limits<offset>::max(), sizeof bytes);
    for (const unsigned size : {1U, 3U, 7U, 8U, 20U, 33U, 64U, 100U, 200U}) {
        for (unsigned align = 1; align <= 128; align *= 2) {
            const allot::layout_for<Strategy> each{static_cast<offset>(size), static_cast<offset>(align)};
            std::vector<std::size_t> smallest(256, 0);  // by the number of blocks
            std::size_t most = 0;
            for (std::size_t extent = 1; extent <= largest; ++extent)
                for (const unsigned served = served_by<Strategy>(extent, each); most < served;)
                    smallest[++most] = extent;
            for (std::size_t count = 0; count != smallest.size(); ++count) {
                const std::size_t found = Strategy::bytes_for(static_cast<offset>(count), each);
                // Larger extents than `largest` are possible with wider offsets.
                if (smallest[count] == 0 && found > largest) continue;
                CAPTURE(size);
                CAPTURE(align);
                CAPTURE(count);
                CHECK(found == smallest[count]);
            }
        }
    }
}

TEST_CASE_TEMPLATE(
    "bytes_for: with limited probes, the result serves the blocks", Strategy,
    narrow_fit<best_fit_options{.candidates = 1, .probes = 1}>, narrow_fit<best_fit_options{.probes = 2}>,
    narrow_fit<best_fit_options{.granule = 4, .candidates = 1, .probes = 1, .large = 30}>,
    narrow_fit<best_fit_options{.records = 12, .candidates = 1, .probes = 1}>,
    narrow_fit<best_fit_options{.records = 13, .candidates = 1, .probes = 1, .offset_index = true}>,
    allot::best_fit<best_fit_options{.candidates = 1, .probes = 1}, std::uint32_t>,
    allot::best_fit<best_fit_options{.granule = 8, .candidates = 1, .probes = 1, .prefer_size = true}, std::uint32_t>,
    allot::best_fit<best_fit_options{.candidates = 1, .probes = 1, .large = 300}, std::uint32_t>,
    allot::best_fit<best_fit_options{.candidates = 1, .probes = 1, .largest_extent = 250'000}, std::uint32_t>,
    fit_in_band<best_fit_options{.store = node_store::in_band, .candidates = 1, .probes = 1}>,
    fit_in_band<best_fit_options{.store = node_store::in_band, .candidates = 1, .probes = 1, .large = 40}>) {
    using offset = typename Strategy::offset_type;
    constexpr std::size_t largest = Strategy::in_band    ? sizeof bytes
                                    : sizeof(offset) < 4 ? std::numeric_limits<offset>::max()
                                                         : 200'000;
    std::size_t judged = 0;
    for (unsigned size = 1; size <= 700; size += 1 + size / 9) {
        for (unsigned align = 1; align <= 256; align *= 2) {
            if (align > std::numeric_limits<offset>::max()) break;
            const allot::layout_for<Strategy> each{static_cast<offset>(size), static_cast<offset>(align)};
            for (unsigned count = 1; count <= 60; count += 1 + count / 4) {
                const std::size_t found = Strategy::bytes_for(static_cast<offset>(count), each);
                if (found == 0 || found > largest) break;
                CAPTURE(size);
                CAPTURE(align);
                CAPTURE(count);
                for (const std::size_t more : {0U, 1U, 7U, 16U})
                    if (found + more <= largest) CHECK(served_by<Strategy>(found + more, each) >= count);
                ++judged;
            }
        }
    }
    CHECK(judged > 100);
}

TEST_CASE("bytes_for: no extent serves more blocks than a table on the heap can record") {
    using beside = allot::best_fit<best_fit_options{.store = node_store::side_table}, std::uint64_t>;
    using indexed = allot::best_fit<best_fit_options{.offset_index = true}, std::uint64_t>;
    // Of 2^31 - 1 records, the first table reserves one, and each extent takes one.
    constexpr std::uint64_t all = (std::uint64_t{1} << 31) - 1;
    CHECK(beside::bytes_for(all - 2, {8, 8}) == (all - 2) * 8);
    CHECK(beside::bytes_for(all - 1, {8, 8}) == 0);
    CHECK(indexed::bytes_for(all - 1, {8, 8}) == (all - 1) * 8);
    CHECK(indexed::bytes_for(all, {8, 8}) == 0);
    CHECK(indexed::bytes_for(all / 2, {4, 8}) == 8 * (all / 2) - 4);  // a hole takes a record as well
    CHECK(indexed::bytes_for(all / 2 + 1, {4, 8}) == 0);
    CHECK(beside::bytes_for(~std::uint64_t{0}, {1, 1}) == 0);
}
