// The arenas and strategies that files with different flags share: the same types and therefore the same functions.
#pragma once

#include <allot/arena/arena.hpp>
#include <allot/host/buffer.hpp>
#include <allot/host/static_storage.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/bump.hpp>
#include <allot/strategy/deferred.hpp>
#include <allot/strategy/pool.hpp>
#include <allot/strategy/ring.hpp>
#include <allot/strategy/stack.hpp>

#include <tuple>
#include <vector>

namespace mixed {

inline constexpr std::size_t bytes = 20'007;

/// Arena over static storage: the compiler knows the region.
template <class Strategy>
struct embedded {
    allot::arena<allot::host::static_storage<bytes, 4096>, Strategy> memory;
    std::vector<typename decltype(memory)::block_type> live;
    [[nodiscard]] const void* base() const { return memory.regions()[0].base; }
};

struct alignas(4096) block_of_bytes {
    std::byte at[bytes];
};
/// Arena over a buffer: the arena has a record of the region.
template <class Strategy>
struct buffered {
    block_of_bytes storage;
    allot::arena<allot::host::buffer, Strategy> memory{allot::host::buffer{storage.at}};
    std::vector<typename decltype(memory)::block_type> live;
    [[nodiscard]] const void* base() const { return storage.at; }
};

/// Strategy without an arena.
template <class Strategy>
struct alone {
    Strategy memory;
    std::vector<allot::allocation_of<Strategy>> live;
    alone() { static_cast<void>(memory.insert({3, bytes})); }
    [[nodiscard]] const void* base() const { return nullptr; }
};

using allot::best_fit_options;
using allot::node_store;

using subjects =
    std::tuple<embedded<allot::best_fit<>>, buffered<allot::best_fit<best_fit_options{.candidates = 1, .probes = 7}>>,
               embedded<allot::best_fit<best_fit_options{.records = 40, .granule = 8, .large = 300}>>,
               alone<allot::best_fit<best_fit_options{.candidates = 3, .large = 123}, std::uint32_t>>,
               embedded<allot::best_fit<best_fit_options{.prefer_size = true}>>,
               embedded<allot::deferred<allot::best_fit<>>>, embedded<allot::bump<>>,
               buffered<allot::bump<allot::bump_options{.direction = allot::direction::up}>>
#if defined(ALL_SUBJECTS)
               ,
               buffered<allot::best_fit<best_fit_options{.store = node_store::side_table}>>,
               embedded<allot::best_fit<best_fit_options{.large = 400}>>,
               alone<allot::best_fit<best_fit_options{.records = 50, .granule = 4}, std::uint16_t>>,
               buffered<allot::deferred<allot::best_fit<>, allot::deferred_options{.largest = 96}>>,
               alone<allot::bump<allot::bump_options{}, std::uint32_t>>,
               alone<allot::bump<allot::bump_options{.prefer_size = true}, std::uint32_t>>,
               embedded<allot::pool<allot::pool_options{.slot = 120}>>,
               buffered<allot::pool<allot::pool_options{.slot = 72, .count = 100, .store = allot::pool_store::bitmap}>>,
               embedded<allot::stack<>>, buffered<allot::ring<>>
#endif
               >;

}  // namespace mixed
