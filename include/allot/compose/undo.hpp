// undo: takes back a partial allocation, so that a composition allocates all of its blocks or none.
//
// A block of an allocator that reclaims any block is deallocated. The others return to a mark, since neither order of
// deallocation leaves them as they were: a bump takes nothing back, and a ring only its oldest block. An arena that grew
// meanwhile is trimmed.
#pragma once

#include <allot/core/allocator.hpp>

namespace allot::inline v1::detail {

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

    explicit undo_point(Allocator& of) noexcept : mark_{mark_of(of)}, size_{size_of(of)} {}

    /// Takes back one block that was allocated since.
    void take_back(Allocator& to, block_type held) const noexcept {
        if constexpr (!by_mark) to.deallocate(held);
    }
    /// The allocator is as it was. Precondition: `take_back` had every block.
    void finish(Allocator& of) const noexcept {
        if constexpr (by_mark) of.rollback(mark_);
        if constexpr (grows) {
            if (of.size() > size_) of.trim();
        }
    }

private:
    static constexpr bool grows = requires(Allocator& of) { of.size(), of.trim(); };

    [[nodiscard]] static auto mark_of([[maybe_unused]] Allocator& of) noexcept {
        if constexpr (by_mark && possible) return of.mark();
        else return false;
    }
    [[nodiscard]] static std::size_t size_of([[maybe_unused]] Allocator& of) noexcept {
        if constexpr (grows) return of.size();
        else return 0;
    }

    decltype(mark_of(std::declval<Allocator&>())) mark_;
    std::size_t size_;
};

}  // namespace allot::inline v1::detail
