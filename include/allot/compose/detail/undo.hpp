// SPDX-License-Identifier: BSL-1.0
// undo: reverts a partial allocation, so that a composition allocates all of its blocks or none.
//
// Internal. If an allocator reclaims any block, its blocks are deallocated. Other allocators return to a mark, because
// deallocation does not restore their state: a bump reclaims no block, and a ring only its oldest. An arena also
// releases the regions that it acquired since the undo point, and no others.
#pragma once

#include <allot/core/allocator.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Returns the order in which two allocators together reclaim. No order suits a stack and a ring.
[[nodiscard]] constexpr reclaim reclaim_of_both(reclaim a, reclaim b) {
    if (a == reclaim::any) return b;
    return b == reclaim::any || a == b ? a : reclaim::never;
}

/// Returns the order in which several allocators together reclaim. Those that reclaim nothing are left out.
template <class... Orders>
[[nodiscard]] constexpr reclaim reclaim_of_parts(Orders... orders) {
    reclaim all = reclaim::never;
    bool none = true;
    const auto add = [&](reclaim each) {
        if (each == reclaim::never) return;
        all = none ? each : reclaim_of_both(all, each);
        none = false;
    };
    (add(orders), ...);
    return all;
}

/// The state of an allocator before an operation. `fallback` has a specialization.
template <class Allocator>
class undo_point {
    using block_type = block_of<Allocator>;
    static constexpr bool by_mark = Allocator::reclaims != reclaim::any;

public:
    static constexpr bool possible = !by_mark || markable_allocator<Allocator>;

    explicit undo_point(Allocator& of) noexcept : mark_{mark_of(of)}, held_{held_by(of)} {}

    /// Reverts the allocation of one block that was allocated after the undo point.
    void take_back(Allocator& to, block_type held) const noexcept {
        if constexpr (!by_mark) to.deallocate(held);
    }
    /// Restores the state. Precondition: `take_back` was called for every block that was allocated after the undo
    /// point.
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
