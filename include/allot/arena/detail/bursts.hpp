// SPDX-License-Identifier: BSL-1.0
// bursts: blocks of one size that are cut from one hole of an arena, and freed together as far as they are adjacent.
//
//     hole      │                          free                          │
//     cut       │ h │ block │ h │ block │ h │ block │ h │ block │  free  │  each block has a record: it is freed alone
//     joined    │ h │ block │ h │  one block of two  │ h │ block │  free  │    one call frees both
//
// Internal: used by boost_allocator.hpp and heap_shard.hpp. A record in front of each block (in_band.hpp) is all that
// makes it one, so that no search and no change of a list is necessary for the blocks after the first.
//
// Complexity: that of one call of the arena for a hole or a run of adjacent blocks, and about ten instructions a block.
// Memory: as many bytes as single blocks.
// Thread safety: that of the arena.
#pragma once

#include <allot/arena/detail/arena_access.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/deferred.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Whether a strategy has records in front of its blocks, at addresses, and places all sizes by one rule.
template <class Strategy>
inline constexpr bool has_records_at_addresses = false;
template <best_fit_options Options, class Offset>
inline constexpr bool has_records_at_addresses<best_fit<Options, Offset, addressed_memory>> =
    best_fit<Options, Offset, addressed_memory>::in_band && Options.large == 0;
template <class Strategy, deferred_options Options>
inline constexpr bool has_records_at_addresses<deferred<Strategy, Options>> = has_records_at_addresses<Strategy>;

/// Whether the owner of a block can read its size without a lock (`best_fit_options::unlocked_capacity`).
template <class Strategy>
inline constexpr bool has_unlocked_capacity = false;
template <best_fit_options Options, class Offset, class Memory>
inline constexpr bool has_unlocked_capacity<best_fit<Options, Offset, Memory>> = Options.unlocked_capacity;
template <class Strategy, deferred_options Options>
inline constexpr bool has_unlocked_capacity<deferred<Strategy, Options>> = has_unlocked_capacity<Strategy>;

/// Whether `burst` serves an allocator: an arena without hardening, which has a record of each block.
template <class Allocator>
inline constexpr bool has_bursts = false;
template <class Device, class Strategy, class Growth, arena_options Options, class OnMisuse>
inline constexpr bool has_bursts<arena<Device, Strategy, Growth, Options, OnMisuse>> =
    Options.hardening == hardening::none &&
    has_records_at_addresses<typename arena<Device, Strategy, Growth, Options, OnMisuse>::strategy_type>;

/// Functions for blocks of one layout in an arena.
template <class Arena>
class burst {
    using offset = typename Arena::strategy_type::offset_type;
    using nodes_type = in_band_nodes<offset, addressed_memory, has_unlocked_capacity<typename Arena::strategy_type>>;
    static constexpr offset largest = nodes_type::largest_node(std::numeric_limits<offset>::max());

public:
    /// Calls `use(address)` with `count` blocks of layout `each`, in ascending order. Returns false, without a call, if
    /// the arena holds no memory for all of them in one place.
    template <class Use>
    [[nodiscard]] static bool allocate(Arena& from, layout each, std::size_t count, Use use) noexcept {
        if (count < 2 || each.align > nodes_type::granule || each.size > std::numeric_limits<offset>::max())
            return false;
        const offset size = nodes_type::template node_size<largest>(static_cast<offset>(each.size));
        std::size_t bytes = 0;
        if (size == 0 || !checked_multiply(count, static_cast<std::size_t>(size), bytes)) return false;
        const auto whole =
            arena_access::find_held(from, {bytes - nodes_type::header, each.align},
                                    [](auto& strategy, auto wanted) { return strategy.allocate(wanted); });
        if (!whole) return false;
        nodes_type nodes;
        auto node = nodes.find(whole);
        for (offset left = nodes.size(node); count != 0; --count, node += size, left -= size) {
            if (count != 1) static_cast<void>(nodes.split(node, size));
            nodes.mark_used(node, count != 1 ? size : left);
            const auto at = static_cast<offset>(node + nodes_type::header);
            use(arena_access::admit(
                    from,
                    allocation_of<typename Arena::strategy_type>{{at, static_cast<offset>(each.size)}, whole.metadata})
                    .address);
        }
        return true;
    }

    /// Allocates one block, and more from the hole that follows it, together at most `count`. Calls `use(address)` with
    /// each of them, in ascending order. Returns their number, or 0 on failure. A block goes where a single call places
    /// it.
    template <class Use>
    [[nodiscard]] static std::size_t allocate_some(Arena& from, layout each, std::size_t count, Use use) noexcept {
        auto whole = from.allocate(each);
        if (!whole) return 0;
        nodes_type nodes;
        auto node = static_cast<offset>(raw_pointer::position(whole.address) - nodes_type::header);
        const offset size = nodes.size(node);
        std::size_t some = 1;
        if (const auto hole = nodes.hole_after(node); hole != nodes_type::none && count != 1) {
            const std::size_t room = 1 + nodes.size(hole) / size, wanted = room < count ? room : count;
            if (wanted != 1 && from.resize(whole, wanted * size - nodes_type::header)) some = wanted;
        }
        offset left = nodes.size(node);
        for (std::size_t i = 1; i != some; ++i, node += size, left -= size) {
            static_cast<void>(nodes.split(node, size));
            nodes.mark_used(node, size);
            use(addressed_memory::at(node + nodes_type::header));
        }
        nodes.mark_used(node, left);
        use(addressed_memory::at(node + nodes_type::header));
        return some;
    }

    /// Frees blocks, each a result of `next()` until that returns nullptr. Blocks of which one follows the other, in
    /// ascending or descending order, are freed by one call.
    template <class Next>
    static void deallocate(Arena& to, Next next) noexcept {
        nodes_type nodes;
        offset first = 0, size = 0, single = 0;
        const auto free_run = [&] {
            if (size == 0) return;
            if (size != single) nodes.mark_used(first, size);
            to.deallocate({addressed_memory::at(first + nodes_type::header), size - nodes_type::header, {}});
        };
        while (void* const address = next()) {
            const auto node = static_cast<offset>(raw_pointer::position(address) - nodes_type::header);
            const offset own = nodes.size(node);
            if (size != 0 && first + size == node) {
                size += own;
            } else if (size != 0 && node + own == first) {
                first = node;
                size += own;
            } else {
                free_run();
                first = node;
                size = single = own;
            }
        }
        free_run();
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
