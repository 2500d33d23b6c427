// SPDX-License-Identifier: BSL-1.0
// regions: the regions of an arena and the strategy that divides them.
//
//     a request that does not fit ─► growing_regions.hpp ─► the strategy is asked again
//
// Internal. Regions are acquired when a request needs them, one by one or by growth in place, and released by `trim`.
// offset_space.hpp maps regions to the strategy's offsets. arena.hpp makes blocks of allocations.
//
// Complexity: O(regions) for a call that reaches the device; otherwise that of the strategy.
//
// Memory: 24 bytes for every region.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/arena/detail/growing_regions.hpp>
#include <allot/core/detail/compiler.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The regions and the strategy of an arena. `Align` is the least alignment of every region's base. `Behind` is the
/// number of bytes after each block that the arena keeps for itself: requests are larger, and usable bytes fewer.
template <class Device, class Strategy, class Growth, std::size_t Align, bool Annotated = false, std::size_t Behind = 0>
class arena_regions : growing_regions<Device, Strategy, Growth, Align, Annotated> {
    using base = growing_regions<Device, Strategy, Growth, Align, Annotated>;
    using base::space_, base::strategy_, base::growth_, base::refused_with_;
    using typename base::model, typename base::offset;
    using allocation = allocation_of<Strategy>;

public:
    using typename base::space_type, typename base::region_type;
    using block_type = typename space_type::block_type;
    using base::one_region, base::one_by_one, base::in_place, base::grows, base::embedded;
    static constexpr bool can_trim = in_place || one_by_one || (!one_region && removable<Strategy>);

    using base::acquire_window, base::acquire_first, base::current_region, base::device;
    using base::base;
    [[nodiscard]] Strategy& strategy() noexcept { return strategy_; }
    [[nodiscard]] const Strategy& strategy() const noexcept { return strategy_; }
    [[nodiscard]] const space_type& space() const noexcept { return space_; }

    /// Returns the size of a request with the arena's own bytes. 0, and sizes that no region has, stay as they are.
    [[nodiscard]] static constexpr std::size_t with_own(std::size_t size) noexcept {
        const std::size_t all = size + Behind;
        return all > Behind ? all : size;  // a sum that wraps is smaller
    }

    /// Allocates from the strategy. If that fails, grows by a region or in place and tries again.
    [[nodiscard]] allocation allocate(layout wanted) noexcept {
        if constexpr (Behind != 0) {
            wanted.size += Behind;
            if (wanted.size <= Behind) return {};  // no size, or a sum that wraps
        }
        if (!is_honoured(wanted.align)) return {};
        allocation given = ask(wanted);
        if constexpr (grows) {
            if (!given) {
                const std::size_t slot = space_.free_region();
                const bool grown = this->grow_for(wanted);
                if (grown) given = ask(wanted);
                if constexpr (base::sizes::may_miss)
                    if (grown && !given) given = claim_in(slot, wanted);
            }
        }
        return given;
    }

    /// Allocates from the regions that are held now, by `from(strategy, layout)`.
    template <class From>
    [[nodiscard]] ALLOT_INLINE allocation allocate_held(layout wanted, From from) noexcept {
        wanted.size = with_own(wanted.size);
        if (!is_honoured(wanted.align)) return {};
        if constexpr (sizeof(offset) < sizeof(std::size_t)) {
            if (wanted.size > space_type::last_offset) return {};
        }
        return from(strategy_,
                    layout_for<Strategy>{static_cast<offset>(wanted.size), static_cast<offset>(wanted.align)});
    }

    /// Returns the block of a fresh allocation.
    [[nodiscard]] block_type block_for(allocation given) noexcept {
        given.where.size = static_cast<offset>(given.where.size - Behind);
        const block_type fresh = space_.block_for(given, current_region());
        if constexpr (Annotated) {
            if (fresh) this->note_block(fresh);
        }
        return fresh;
    }

    /// Whether the strategy checks its records in band.
    static constexpr bool checks_records =
        requires(const Strategy strategy, allocation given) { strategy.is_sound(given, given.where); };
    /// Returns true if the records in band around an allocation are intact. Precondition: it is inside a region.
    [[nodiscard]] bool is_sound(allocation given) const noexcept
        requires checks_records
    {
        if constexpr (one_region) return strategy_.is_sound(given, space_.extent(0));
        for (std::size_t i = 0; i != space_type::capacity; ++i)
            if (const auto inside = space_.extent(i); inside.contains(given.where))
                return strategy_.is_sound(given, inside);
        return false;
    }

    /// Calls `f(address, size)` for every hole. Regions that are used one by one and wait for their use are holes.
    template <class Function>
    void for_each_hole(Function& f) const noexcept {
        walk([&](std::size_t i, auto in_region) { strategy_.for_each_hole(space_.extent(i), in_region); }, f);
        if constexpr (one_by_one)
            for_each_spare(
                [&](std::size_t i, const Strategy& whole) { whole.for_each_hole(space_.extent(i), in_region(i, f)); });
    }
    /// Calls `f(address, size)` for every block with its usable size.
    template <class Function>
    void for_each_block(Function& f) const noexcept {
        walk([&](std::size_t i, auto in_region) { strategy_.for_each_block(space_.extent(i), in_region); }, f);
    }

    /// Frees a block in the strategy, unless it is not live, which is reported.
    void deallocate(const block_type& held) noexcept
        requires Annotated
    {
        const allocation given = space_.allocation_for(held);
        if (!this->is_live(held)) return;
        if (is_taken_back(given)) this->note_freed(held, static_cast<std::size_t>(strategy_.capacity(given)));
        strategy_.deallocate(given);
    }

    /// Returns the usable bytes of a block.
    [[nodiscard]] std::size_t capacity(const block_type& held) const noexcept {
        const auto room = static_cast<std::size_t>(strategy_.capacity(space_.allocation_for(held))) - Behind;
        if constexpr (Annotated) this->note_capacity(held, room);
        return room;
    }

    /// Resizes a block in place.
    [[nodiscard]] bool resize(const block_type& held, std::size_t size) noexcept
        requires resizable<Strategy>
    {
        const allocation given = space_.allocation_for(held);
        if constexpr (Annotated) {
            const auto room = static_cast<std::size_t>(strategy_.capacity(given));
            if (!this->is_live(held) || !resize(given, static_cast<offset>(with_own(size)))) return false;
            this->note_resized(held, room, size);
            return true;
        }
        return resize(given, static_cast<offset>(with_own(size)));
    }

    /// Frees every block and keeps the regions.
    void reset() noexcept
        requires resettable<Strategy>
    {
        if constexpr (one_by_one) this->use_region(Growth::regions);  // the next request starts with the first region
        else strategy_.reset();
        if constexpr (Annotated) this->note_unused(0);
    }

    /// Frees every block that was allocated since the mark of the strategy in region `region`.
    template <class Mark>
    void rollback(const Mark& mark, [[maybe_unused]] std::size_t region) noexcept {
        if constexpr (one_by_one) {
            if (region != current_region()) this->use_region(region);
        }
        if (in_place && region != model::position(space_.regions[0].base)) {
            strategy_.reset();  // the arena had no region, or the marked region had no block and was released
        } else {
            strategy_.rollback(mark);
        }
        if constexpr (Annotated) {
            if constexpr (one_by_one) this->note_unused(region == Growth::regions ? 0 : region + 1);
            if (!one_by_one || region != Growth::regions) this->note_holes(current_region());
        }
    }

    /// Returns the reason for which `allocate(wanted)` would fail. Does not call the device: after a failed request to
    /// the device, every request of at least that size and alignment counts as failing, until the device provides as
    /// much memory or `trim` releases some.
    [[nodiscard]] diagnosis diagnose(layout wanted) const noexcept {
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason};
        if (one_region && !in_place && !space_.regions[0]) {
            const long code = static_cast<long>(refused_with_);  // 0: the region was too small for a block
            return {code != 0 ? refusal::device_refused : refusal::exhausted, 0, code};
        }
        if (!is_honoured(wanted.align)) return {refusal::misaligned};
        wanted.size = with_own(wanted.size);
        if (wanted.size > space_type::last_offset) return {refusal::over_limit};
        diagnosis answer = this->why_not(wanted);
        if constexpr (grows) {
            if (answer.reason != refusal::none) why_not_grown(wanted, answer);
        }
        if constexpr (one_by_one)
            for_each_spare([&](std::size_t, const Strategy& whole) {
                const std::uint64_t hole = whole.diagnose({1, 1}).largest_hole;
                if (answer.largest_hole < hole) answer.largest_hole = hole;
            });
        if constexpr (Behind != 0) answer.largest_hole -= answer.largest_hole < Behind ? answer.largest_hole : Behind;
        return answer;
    }

    /// Returns true if `allocate(wanted)` would acquire more memory for a valid request that no bytes of the regions
    /// serve.
    [[nodiscard]] bool can_grow_for([[maybe_unused]] layout wanted) const noexcept {
        if constexpr (grows) {
            wanted.size = with_own(wanted.size);
            diagnosis answer{refusal::exhausted};
            why_not_grown(wanted, answer);
            return answer.reason == refusal::none;
        }
        return false;
    }

    /// Releases every region without a live block, or the free end of the region that grows in place. A device that
    /// keeps regions (cached) releases all of them as well. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires can_trim
    {
        std::size_t released = 0;
        if constexpr (requires { this->device_.size(), this->device_.trim(); }) {
            released = this->device_.size();
            released += this->release_all_unused();
            this->device_.trim();
        } else {
            released = this->release_all_unused();
        }
        if (released != 0) refused_with_ = {};
        return released;
    }

    /// Releases the regions that were acquired since `before`, or that part of a region that grows in place.
    /// Precondition: the memory has no live block, and no region was released since.
    void shrink_to(const space_type& before) noexcept {
        if constexpr (in_place) {
            this->trim_end(before.regions[0].size);
        } else {
            this->release_unused([&](const region_type& held) { return before.holds(held); });
            if constexpr (one_by_one) space_ = before;  // restores the order of the regions
        }
    }

private:
    /// Calls `extents(i, in_region)` for each region in use, where `in_region(extent)` calls `f(address, size)`.
    template <class Extents, class Function>
    void walk(Extents extents, Function& f) const noexcept {
        for (std::size_t i = 0; i != Growth::regions; ++i) {
            if (!space_.regions[i] || (one_by_one && i != current_region())) continue;
            extents(i, in_region(i, f));
        }
    }
    /// Returns a function of an extent in region `i` that calls `f(address, size)`.
    template <class Function>
    [[nodiscard]] auto in_region(std::size_t i, Function& f) const noexcept {
        return [this, i, &f](extent_of<Strategy> where) {
            const auto held = space_.block_for({where, {}}, i);
            f(held.address, held.size - Behind);
        };
    }
    /// Calls `f(i, strategy)` for each region that waits for its use, with a strategy that manages it.
    template <class Function>
    void for_each_spare(Function f) const noexcept {
        for (std::size_t i = this->next_region(); i != Growth::regions; ++i) {
            Strategy whole{};
            if (space_.regions[i] && whole.insert(space_.extent(i), {})) f(i, whole);
        }
    }

    /// Returns true if `deallocate` frees the block now: a stack and a ring keep a block that is out of order.
    [[nodiscard]] bool is_taken_back([[maybe_unused]] allocation given) const noexcept {
        if constexpr (requires { strategy_.takes_back(given); }) return strategy_.takes_back(given);
        else return true;
    }

    /// Resizes an allocation. A region that grows in place is extended for its last block.
    [[nodiscard]] bool resize(allocation given, offset size) noexcept
        requires resizable<Strategy>
    {
        if (strategy_.resize(given, size)) return true;
        if constexpr (in_place) {
            const region_step more = this->extension_to(strategy_.size_for(space_.extent(0), given, size));
            return more.least != 0 && this->take(more) && strategy_.resize(given, size);
        }
        return false;
    }

    /// Allocates from a new region that the strategy did not search.
    [[nodiscard]] allocation claim_in([[maybe_unused]] std::size_t slot, [[maybe_unused]] layout wanted) noexcept {
        allocation given{};
        if constexpr (positional<Strategy> && !in_place) {
            const auto inside = space_.extent(slot);
            const auto size = static_cast<offset>(wanted.size), align = static_cast<offset>(wanted.align);
            offset at = 0;
            if (!checked_align_up(inside.offset, align, at)) return {};
            given = strategy_.allocate_at({at, size});  // in band, a header precedes the block
            if (!given && checked_add(at, align, at)) given = strategy_.allocate_at({at, size});
        }
        return given;
    }

    [[nodiscard]] allocation ask(layout wanted) noexcept {
        if constexpr (sizeof(offset) < sizeof(std::size_t)) {
            if (wanted.size > space_type::last_offset) return {};
        }
        return strategy_.allocate({static_cast<offset>(wanted.size), static_cast<offset>(wanted.align)});
    }

    /// Sets the reason for which the arena would not grow for a request that does not fit; `none` if it would grow.
    void why_not_grown(layout wanted, diagnosis& answer) const noexcept {
        if constexpr (one_by_one) {
            if (this->spare_region_for(wanted) != Growth::regions) {
                answer.reason = refusal::none;
                return;
            }
        }
        const region_step more = this->growth_for(wanted);
        if (this->is_out_of_records(wanted)) {
            answer.reason = refusal::out_of_records;
        } else if (more.least == 0) {
            if (answer.reason != refusal::misaligned) answer.reason = refusal::over_limit;
        } else if (this->was_refused(more)) {
            answer.reason = refusal::device_refused;
            answer.device_error = static_cast<long>(refused_with_);
        } else {
            answer.reason = refusal::none;
        }
    }

    /// Returns false for an alignment that the base does not support. No other function checks this. Where positions
    /// are addresses, every alignment is supported, because the strategy skips to it. The alignment must also fit the
    /// offsets, and in a segment half of their range.
    [[nodiscard]] bool is_honoured(std::size_t align) const noexcept {
        if constexpr (space_type::order == region_order::segments) {
            if (align - 1 > space_type::largest_region) return false;
        } else if constexpr (sizeof(offset) < sizeof(std::size_t)) {
            if (align > space_type::last_offset) return false;
        }
        if constexpr (model::absolute) {
            return true;
        } else if constexpr (one_region) {
            return align <= Device::min_align || align <= space_.regions[0].align || (in_place && !space_.regions[0]);
        } else {
            return align <= Device::min_align || growth_.base_align == 0 || align <= growth_.base_align;
        }
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
