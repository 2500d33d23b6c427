// SPDX-License-Identifier: BSL-1.0
// Blocks in an arena that grows by regions of one page: 10, 100 and 1,000 regions. Each case must cost the same.
#include "instructions.hpp"

#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/pool.hpp>

namespace {

using namespace counting;

inline constexpr std::size_t page = 4096, block_size[] = {1024}, in_a_page = 3;  // blocks of one page, beside records
alignas(page) std::byte pages[1024][page];

/// Pages one after the other.
struct page_device : allot::traits_of<storage> {
    using error = int;
    std::size_t given = 0;

    allot::acquired<page_device> acquire(allot::layout) noexcept {
        if (given == std::size(pages)) return allot::acquired<page_device>::failure(1);
        return allot::region<void*>{pages[given++], page, page};
    }
    void release(allot::region<void*>) noexcept {}
};
/// The same without access by the host, so that records are in a side table.
struct remote_pages : page_device {
    static constexpr bool host_accessible = false;
    allot::acquired<remote_pages> acquire(allot::layout wanted) noexcept {
        const auto found = page_device::acquire(wanted);
        return found ? allot::acquired<remote_pages>{*found} : allot::acquired<remote_pages>::failure(found.error());
    }
};

using by_pages = allot::growth::fixed<allot::growth_options{.step = page, .regions = 1024}>;

template <class Device, class Strategy, std::size_t Regions>
struct growing {
    using arena_type = allot::arena<Device, Strategy, by_pages>;
    using block_type = allot::block_of<arena_type>;
    arena_type arena;
    block_type blocks[Regions * in_a_page];
    std::size_t free[Regions * in_a_page], free_count = std::size(free);

    /// Acquires the regions, so that no counted operation does.
    growing() {
        for (std::size_t i = 0; i != free_count; ++i) free[i] = i;
        while (free_count != 0) allocate(block_size[0]);
        for (block_type& each : blocks) deallocate(&each, block_size[0]);
    }
    void* allocate(std::size_t size) {
        block_type* const at = blocks + free[--free_count];
        *at = arena.allocate({size, 16});
        return at;
    }
    void deallocate(void* at, std::size_t) {
        arena.deallocate(*static_cast<block_type*>(at));
        free[free_count++] = static_cast<std::size_t>(static_cast<block_type*>(at) - blocks);
    }
};

using in_band = allot::best_fit<>;
using in_granules = allot::best_fit<allot::best_fit_options{.granule = 16}>;
using slots_of_1_KiB = allot::pool<allot::pool_options{.slot = 1024, .align = 16}>;

template <class Device, class Strategy, std::size_t Regions>
constexpr auto blocks_in = churn<growing<Device, Strategy, Regions>, Regions * in_a_page, block_size>;

}  // namespace

std::vector<instructions_case> regions_cases() {
    return {
        {"regions_best_fit/allot_10", blocks_in<page_device, in_band, 10>},
        {"regions_best_fit/allot_100", blocks_in<page_device, in_band, 100>},
        {"regions_best_fit/allot_1000", blocks_in<page_device, in_band, 1000>},
        {"regions_side_table/allot_10", blocks_in<remote_pages, in_granules, 10>},
        {"regions_side_table/allot_1000", blocks_in<remote_pages, in_granules, 1000>},
        {"regions_pool/allot_10", blocks_in<page_device, slots_of_1_KiB, 10>},
        {"regions_pool/allot_100", blocks_in<page_device, slots_of_1_KiB, 100>},
        {"regions_pool/allot_1000", blocks_in<page_device, slots_of_1_KiB, 1000>},
    };
}
