// SPDX-License-Identifier: BSL-1.0
// ordered_ends: bump, stack and ring whose free bytes remember their pending uses, for `ordered`.
//
//     stack     │ live │ live │► queue 0 │ queue 1 │    free             the next block is always at the arrow
//     ring      │ queue 0 │ queue 1 │ live │ live │► free                 later at the start: the oldest bytes first
//
// Internal. The strategy alone chooses the bytes of a request, because its blocks are adjacent. If they have a pending
// use, the request waits for it, or fails: no other bytes would keep the order of the strategy.
//
// `deallocate` notes the use of a block also if the strategy does not free the block: bump, and a stack or a ring out
// of order. `reset` and `rollback` free the bytes with these uses and with that of `give_back`.
//
// Complexity: that of pending_ranges.hpp. `collect` and `settle` visit all ranges.
// Memory: 40 bytes for each range of bytes of the same queues, on the heap.
// Thread safety: not synchronized.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/strategy/bump.hpp>
#include <allot/strategy/detail/pending_ranges.hpp>
#include <allot/strategy/ring.hpp>
#include <allot/strategy/stack.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// A strategy of adjacent blocks whose requests name a queue.
template <class Strategy, unsigned Queues>
class ordered_ends : public ordered_requests<Queues> {
    using base = ordered_requests<Queues>;
    using base::taken_, base::given_back_;

public:
    using offset_type = typename Strategy::offset_type;
    using metadata_type = typename Strategy::metadata_type;
    using memory_type = no_memory;
    using layout_type = basic_layout<offset_type>;
    using extent_type = basic_extent<offset_type>;
    using allocation_type = basic_allocation<offset_type, metadata_type>;
    using mark_type = typename Strategy::mark_type;
    static constexpr bool in_band = false;
    static constexpr reclaim reclaims = Strategy::reclaims;
    static constexpr bool exact = false;
    static constexpr bool several_extents = false;
    static constexpr std::size_t extent_align = allot::extent_align<Strategy>();

    // ── pending uses ─────────────────────────────────────────────────────────────────────────────────────────────

    /// Adds queues that use a live block.
    constexpr void use(allocation_type allocation, queue_set queues) noexcept {
        add(allocation.where.offset, allocation.where.end(), {ranges_type::until_freed, queues});
    }
    /// Returns true if `use` added a queue to a live block.
    [[nodiscard]] constexpr bool is_used(allocation_type allocation) const noexcept {
        return !ranges_.all_of(allocation.where.offset, allocation.where.end(),
                               [](const pending_use&) { return false; });
    }
    /// Forgets pending uses that are known to be done.
    constexpr void settle(const epoch* known) noexcept {
        ranges_.erase_if([&](const pending_use& use) { return use.unknown(known) == 0; });
    }
    /// Takes all uses that are not known to `by`, for `taken`. The bytes keep them.
    constexpr void collect(const knowledge<Queues>& by) noexcept {
        base::ask(by);
        taken_.clear_taken();
        ranges_.erase_if([&](const pending_use& use) {
            if (use.epoch != ranges_type::until_freed) taken_.take(use);
            return false;
        });
    }
    /// Returns `pending` if the place of the strategy needs other waits than these, otherwise `none`.
    [[nodiscard]] constexpr refusal lacks_place(layout_type wanted, const knowledge<Queues>& by,
                                                queue_set waitable) const noexcept {
        const mark_type before = strategy_.mark();
        const allocation_type given = strategy_.allocate(wanted);
        const bool has = given && ranges_.all_of(given.where.offset, given.where.end(), [&](const pending_use& use) {
            return (use.unknown(by.until.data()) & ~waitable) == 0;
        });
        if (given) strategy_.rollback(before);
        return has ? refusal::none : refusal::pending;
    }

    // ── the interface of a strategy ──────────────────────────────────────────────────────────────────────────────

    constexpr bool insert(extent_type where, no_memory = {}) noexcept {
        return ranges_.prepare() && strategy_.insert(where);
    }
    /// Allocates a block, if only this queue used the bytes. Otherwise returns an empty allocation.
    ALLOT_INLINE constexpr allocation_type allocate_own(layout_type wanted) noexcept {
        return allocate_if(wanted, [&](const pending_use& use) { return (use.queues & ~taken_.by->own) == 0; });
    }
    /// Allocates a block without a wait.
    constexpr allocation_type allocate(layout_type wanted) noexcept {
        return allocate_if(wanted, [&](const pending_use& use) { return use.unknown(taken_.by->until.data()) == 0; });
    }
    /// `allocate`: there is no other place.
    constexpr allocation_type allocate_tight(layout_type wanted, queue_set, bool) noexcept {
        taken_.clear_taken();
        return allocate(wanted);
    }
    /// Searches a place behind a wait for `waitable`. Returns false if there is no place. Otherwise its uses are
    /// `taken`. The bytes keep them and are not allocated.
    constexpr bool seek_behind(layout_type wanted, queue_set waitable) noexcept {
        taken_.clear_taken();
        const mark_type before = strategy_.mark();
        const allocation_type given = strategy_.allocate(wanted);
        if (!given) return false;
        strategy_.rollback(before);
        return ranges_.all_of(given.where.offset, given.where.end(), [&](const pending_use& use) {
            if ((use.unknown(taken_.by->until.data()) & ~waitable) != 0) return false;
            taken_.take(use);
            return true;
        });
    }
    /// Frees a block, or notes its use if the strategy keeps it.
    constexpr void deallocate(allocation_type allocation) noexcept {
        add(allocation.where.offset, allocation.where.end(), given_back_);
        strategy_.deallocate(allocation);
    }
    [[nodiscard]] constexpr bool takes_back(allocation_type allocation) const noexcept
        requires(reclaims != reclaim::never)
    {
        return strategy_.takes_back(allocation);
    }
    /// Frees every block.
    constexpr void reset() noexcept {
        free_by([&] { strategy_.reset(); });
    }
    [[nodiscard]] constexpr mark_type mark() const noexcept { return strategy_.mark(); }
    /// Frees every block that was allocated since `mark`.
    constexpr void rollback(mark_type mark) noexcept {
        free_by([&] { strategy_.rollback(mark); });
    }
    [[nodiscard]] constexpr offset_type capacity(allocation_type allocation) const noexcept {
        return strategy_.capacity(allocation);
    }
    /// Returns the reason for which `allocate(wanted)` would fail if all waits were permitted.
    [[nodiscard]] constexpr diagnosis diagnose(layout_type wanted) const noexcept { return strategy_.diagnose(wanted); }
    template <class Function>
    constexpr void for_each_hole(extent_type inserted, Function f) const noexcept {
        strategy_.for_each_hole(inserted, f);
    }
    [[nodiscard]] static constexpr offset_type bytes_for(offset_type count, layout_type each) noexcept {
        return Strategy::bytes_for(count, each);
    }

private:
    using ranges_type = pending_ranges<offset_type>;

    constexpr void add(offset_type low, offset_type high, const pending_use& use) noexcept {
        if (use.queues != 0 || !ranges_.empty()) ranges_.add(low, high, use);
    }
    template <class Condition>
    ALLOT_INLINE constexpr allocation_type allocate_if(layout_type wanted, Condition is_permitted) noexcept {
        if (ranges_.empty()) return strategy_.allocate(wanted);
        const mark_type before = strategy_.mark();
        const allocation_type given = strategy_.allocate(wanted);
        if (!given) return given;
        if (!ranges_.all_of(given.where.offset, given.where.end(), is_permitted)) {
            strategy_.rollback(before);
            return {};
        }
        queue_set earlier = 0;
        ranges_.take(given.where.offset, given.where.end(), [&](const pending_use& use) {
            taken_.take(use);
            earlier |= use.queues;
        });
        use(given, taken_.users_after(earlier));
        return given;
    }
    /// Frees bytes by `change`, with the use of `give_back`: those that are in a hole after it, but in none before.
    template <class Change>
    constexpr void free_by(Change change) noexcept {
        extent_type before[2];  // a ring has two holes
        unsigned count = 0;
        strategy_.for_each_hole({}, [&](extent_type hole) { before[count++] = hole; });
        change();
        strategy_.for_each_hole({}, [&](extent_type hole) {
            offset_type from = hole.offset;
            for (unsigned i = 0; i != count; ++i) {  // in ascending order
                if (before[i].end() <= from || before[i].offset >= hole.end()) continue;
                if (before[i].offset > from) add(from, before[i].offset, given_back_);
                from = before[i].end();
            }
            if (from < hole.end()) add(from, hole.end(), given_back_);
        });
    }

    mutable Strategy strategy_;  // `lacks_place` allocates and rolls back
    ranges_type ranges_;
};

}  // namespace detail

/// Selects the strategy of an ordered_ends in an arena.
template <class Strategy, unsigned Queues, memory_traits Where>
struct strategy_in<detail::ordered_ends<Strategy, Queues>, Where> {
    /// The strategy with the selected options.
    using type = detail::ordered_ends<typename strategy_in<Strategy, Where>::type, Queues>;
};

}  // namespace v1
}  // namespace allot
