// SPDX-License-Identifier: BSL-1.0
// allot's arenas over static storage, as on a board.
#pragma once

#include <allot/arena/arena.hpp>
#include <allot/host/static_storage.hpp>
#include <allot/plan/planned.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/bump.hpp>
#include <allot/strategy/deferred.hpp>
#include <allot/strategy/pool.hpp>
#include <allot/strategy/ring.hpp>
#include <allot/strategy/stack.hpp>

namespace of_allot {

inline constexpr std::size_t capacity = 1024, slot = 32;
using storage = allot::host::static_storage<capacity>;

/// Returns the address of a block, and keeps its metadata for the next deallocation.
template <class Strategy>
struct in_arena {
    allot::arena<storage, Strategy> arena;
    [[no_unique_address]] typename decltype(arena)::metadata_type metadata;

    void* allocate(std::size_t size, std::size_t align) {
        const auto given = arena.allocate({size, align});
        metadata = given.metadata;
        return given.address;
    }
    void deallocate(void* block, std::size_t size) {
        if constexpr (decltype(arena)::reclaims == allot::reclaim::never) arena.reset();
        else arena.deallocate({block, size, metadata});
    }
    int diagnose(std::size_t size, std::size_t align) { return static_cast<int>(arena.diagnose({size, align}).reason); }
    bool resize(void* block, std::size_t size, std::size_t to)
        requires allot::resizable<typename decltype(arena)::strategy_type>
    {
        typename decltype(arena)::block_type held{block, size, metadata};
        return arena.resize(held, to);
    }
};

using bump = in_arena<allot::bump<>>;
using stack = in_arena<allot::stack<>>;
using ring = in_arena<allot::ring<>>;
template <allot::pool_store Store>
using slots = in_arena<allot::pool<allot::pool_options{.slot = slot, .count = capacity / slot, .store = Store}>>;
using pool = in_arena<allot::pool<allot::pool_options{.slot = slot}>>;
using pool_bitmap = slots<allot::pool_store::bitmap>;
using pool_index_stack = slots<allot::pool_store::index_stack>;
using best_fit = in_arena<allot::best_fit<>>;
using best_fit_side_table = in_arena<allot::best_fit<allot::best_fit_options{.records = 32, .granule = 8}>>;
using deferred = in_arena<allot::deferred<allot::best_fit<>>>;

/// All requests are for a whole slot, which the compiler knows.
struct pool_one_size : pool {
    void* allocate(std::size_t, std::size_t) { return arena.allocate({slot, alignof(std::max_align_t)}).address; }
    void deallocate(void* block, std::size_t) { arena.deallocate({block, slot}); }
};

struct planned {
    static constexpr allot::plan_place places[] = {{0, 256}, {256, 768}};
    struct plan_type {
        std::span<const allot::plan_place> places;
        std::uint64_t peak, align;
    };
    static constexpr plan_type plan{places, capacity, 8};
    allot::arena<storage, allot::planned<plan>> arena;
    void* allocate(std::size_t, std::size_t) { return arena.at<1>().address; }
    void deallocate(void*, std::size_t) {}
    int diagnose(std::size_t, std::size_t) { return static_cast<int>(arena.diagnose().reason); }
};

}  // namespace of_allot
