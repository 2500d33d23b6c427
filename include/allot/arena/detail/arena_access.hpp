// SPDX-License-Identifier: BSL-1.0
// arena_access: the access of `ordered` and of `boost_allocator` to the strategy of an arena, and that of
// `discard_holes` to its freed bytes.
//
// Internal. All functions are O(1), or have the cost of the arena's function that they call.
#pragma once

#include <allot/arena/arena.hpp>
#include <allot/core/detail/compiler.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Functions of an arena that are not for its users.
struct arena_access {
    /// Returns the strategy, to be changed.
    template <class Arena>
    [[nodiscard]] ALLOT_INLINE static auto& strategy(Arena& of) noexcept {
        return of.regions_.strategy();
    }
    /// Allocates from the regions that are held now, by `from(strategy, layout)`.
    template <class Arena, class From>
    [[nodiscard]] ALLOT_INLINE static auto allocate_held(Arena& of, layout wanted, From from) noexcept {
        return of.admit(of.regions_.allocate_held(wanted, from));
    }
    /// The same, and returns the strategy's allocation, which `admit` makes a block.
    template <class Arena, class From>
    [[nodiscard]] ALLOT_INLINE static auto find_held(Arena& of, layout wanted, From from) noexcept {
        return of.regions_.allocate_held(wanted, from);
    }
    /// Returns true if the arena would acquire more memory for a valid request that no bytes of its regions serve.
    template <class Arena>
    [[nodiscard]] static bool can_grow_for(const Arena& of, layout wanted) noexcept {
        return of.regions_.can_grow_for(wanted);
    }
    /// Returns the block of an allocation, or of a part of one.
    template <class Arena, class Allocation>
    [[nodiscard]] ALLOT_INLINE static auto admit(Arena& of, Allocation given) noexcept {
        return of.admit(given);
    }
    /// Returns the strategy's allocation of a block.
    template <class Arena>
    [[nodiscard]] ALLOT_INLINE static auto allocation(const Arena& of,
                                                      const typename Arena::block_type& held) noexcept {
        return of.regions_.space().allocation_for(of.bare(held));
    }
    /// Checks the freed bytes of an arena with `hardening::debug`, and forgets them, because their values change.
    template <class Arena>
    static void forget_freed(Arena& of) noexcept {
        if constexpr (Arena::overwrites) of.live_.forget_freed();
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
