// SPDX-License-Identifier: BSL-1.0
// undo: takes back a partial allocation, so that a composition allocates all of its blocks or none.
//
// A block of an allocator that reclaims any block is deallocated. The others return to a mark, since neither order of
// deallocation leaves them as they were: a bump takes nothing back, and a ring only its oldest block. An arena gives
// back the regions that it acquired meanwhile, and no other.
#pragma once

#include <allot/core/allocator.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The order in which two allocators together reclaim. No order suits a stack and a ring.
[[nodiscard]] constexpr reclaim reclaim_of_both(reclaim a, reclaim b) {
    if (a == reclaim::any) return b;
    return b == reclaim::any || a == b ? a : reclaim::never;
}

/// Where an allocator stood. `fallback` has a specialisation.
template <class Allocator>
class undo_point {
    using block_type = block_of<Allocator>;
    static constexpr bool by_mark = Allocator::reclaims != reclaim::any;

public:
    static constexpr bool possible = !by_mark || markable_allocator<Allocator>;

    explicit undo_point(Allocator& of) noexcept : mark_{mark_of(of)}, held_{held_by(of)} {}

    /// Takes back one block that was allocated since.
    void take_back(Allocator& to, block_type held) const noexcept {
        if constexpr (!by_mark) to.deallocate(held);
    }
    /// The allocator is as it was. Precondition: `take_back` had every block.
    void finish(Allocator& of) const noexcept {
        if constexpr (by_mark) of.rollback(mark_);
        if constexpr (grows) of.shrink_to(held_);
    }

private:
    static constexpr bool grows = requires(Allocator& of) { of.shrink_to(of.held()); };

    [[nodiscard]] static auto mark_of([[maybe_unused]] Allocator& of) noexcept {
        if constexpr (by_mark && possible) return of.mark();
        else return false;
    }
    [[nodiscard]] static auto held_by([[maybe_unused]] Allocator& of) noexcept {
        if constexpr (grows) return of.held();
        else return false;
    }

    decltype(mark_of(std::declval<Allocator&>())) mark_;
    decltype(held_by(std::declval<Allocator&>())) held_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
