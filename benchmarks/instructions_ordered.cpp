// SPDX-License-Identifier: BSL-1.0
// Blocks that one queue frees and allocates again, in an ordered with room for one queue and for eight, beside the
// best_fit that it contains.
#include "instructions.hpp"

#include <allot/compose/ordered.hpp>

namespace {

using namespace counting;

/// Queues whose points have always passed.
struct idle_queues {
    using queue_type = int;
    using error_type = int;
    struct point_type {};
    static int record(int, point_type&) noexcept { return 0; }
    static int wait(int, const point_type&) noexcept { return 0; }
    static int barrier(int) noexcept { return 0; }
    static int wait_on_host(const point_type&) noexcept { return 0; }
    static bool in_order(int) noexcept { return true; }
    static allot::point_state state(const point_type&) noexcept { return allot::point_state::passed; }
    static void release(point_type&) noexcept {}
};

template <std::size_t Granule>
using arena_of =
    allot::arena<storage, allot::best_fit<allot::best_fit_options{
                              .store = allot::node_store::side_table, .records = 4096, .granule = Granule}>>;
using metadata = arena_of<1>::metadata_type;

template <std::size_t Granule>
struct unordered {
    arena_of<Granule> arena;
    auto allocate(std::size_t size) {
        const auto given = arena.allocate({size, 16});
        return block<metadata>{given.address, given.metadata};
    }
    void deallocate(block<metadata> held, std::size_t size) { arena.deallocate({held.pointer, size, held.metadata}); }
};

template <unsigned Queues>
struct one_queue_of {
    allot::ordered<arena_of<1>, idle_queues, allot::ordered_options{.queues = Queues}> memory{idle_queues{}};
    allot::queue_id queue = memory.attach(1);
    auto allocate(std::size_t size) {
        const auto given = memory.allocate({size, 16}, queue);
        return block<metadata>{given.address, given.metadata};
    }
    void deallocate(block<metadata> held, std::size_t size) {
        memory.deallocate({held.pointer, size, held.metadata}, queue);
    }
};

}  // namespace

std::vector<instructions_case> ordered_cases() {
    return {
        {"ordered/allot_best_fit", churn<unordered<1>, 1024, any_size>},
        {"ordered/allot_best_fit_granules", churn<unordered<16>, 1024, any_size>},
        {"ordered/allot_1_queue", churn<one_queue_of<1>, 1024, any_size>},
        {"ordered/allot_8_queues", churn<one_queue_of<8>, 1024, any_size>},
        {"ordered_exact/allot_best_fit", churn<unordered<1>, 1024, one_size>},
        {"ordered_exact/allot_best_fit_granules", churn<unordered<16>, 1024, one_size>},
        {"ordered_exact/allot_1_queue", churn<one_queue_of<1>, 1024, one_size>},
        {"ordered_exact/allot_8_queues", churn<one_queue_of<8>, 1024, one_size>},
    };
}
