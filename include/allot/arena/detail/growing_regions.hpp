// SPDX-License-Identifier: BSL-1.0
// growing_regions: how an arena acquires regions from its device, extends them, and releases them.
//
//     a request that does not fit ─► a spare region, or a larger one, or a new one
//
// Internal. regions.hpp allocates blocks from the regions. A region is acquired with the strategy's least size for the
// request, or with the larger size that the growth prefers. If the device refuses that, with a half, a quarter and an
// eighth of it, and then with the least size.
//
// Complexity: O(regions) for a call that reaches the device.
//
// Memory: 24 bytes for every region.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/arena/detail/annotated_members.hpp>
#include <allot/arena/detail/region_members.hpp>
#include <allot/arena/detail/region_sizes.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/core/diagnosis.hpp>

#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// The members of an arena's regions. `Annotated` is true if a memory checker learns which bytes are free.
template <class Device, class Strategy, class Growth, std::size_t Align, bool Annotated>
using arena_members =
    std::conditional_t<Annotated,
                       annotated_members<region_members<Device, Strategy, Growth, Align>, host_written_device<Device>>,
                       region_members<Device, Strategy, Growth, Align>>;

/// The members of an arena and its calls of the device. `Align` is the least alignment of every region's base.
template <class Device, class Strategy, class Growth, std::size_t Align, bool Annotated>
class growing_regions : protected arena_members<Device, Strategy, Growth, Align, Annotated> {
    using members = arena_members<Device, Strategy, Growth, Align, Annotated>;

protected:
    using members::space_, members::strategy_;
    using model = typename Device::address_model;
    using offset = typename Strategy::offset_type;

private:
    struct nothing {};
    struct growth_state {
        std::size_t base_align = 0;             // alignment of every base, where offsets are not addresses
        std::size_t current = Growth::regions;  // index of the region in use, where regions are used one by one
        layout refused{};                       // the last failed request to the device, while `refused_with_` is not 0
    };

public:
    using typename members::space_type;
    using sizes = region_sizes<Device, Strategy, space_type>;
    using region_type = typename space_type::region_type;
    static constexpr bool one_region = space_type::order == region_order::one_region;
    static constexpr bool one_by_one = space_type::order == region_order::one_by_one;
    static constexpr bool in_place = Growth::in_place;
    static constexpr bool grows = !one_region || in_place;
    static constexpr bool embedded = is_embedded<Device, Growth, Align>();

    growing_regions() noexcept
        requires std::default_initializable<Device>
    = default;
    explicit growing_regions(Device from) noexcept : members{std::move(from)} {}
    growing_regions(growing_regions&& other) noexcept
        requires std::move_constructible<Device>
        : members{std::exchange(other.strategy_, Strategy{}), std::exchange(other.space_, {}),
                  std::move(other.device_)},
          refused_with_{std::exchange(other.refused_with_, {})},
          growth_{std::exchange(other.growth_, {})} {
        if constexpr (Annotated) this->note_move(other);
    }
    growing_regions& operator=(growing_regions&&) = delete;

    using members::device;

    /// Acquires the whole window of a device that has one.
    void acquire_window() noexcept {
        static_assert(window_requirements<Device, Growth>());
        if constexpr (embedded) use_embedded();
        else if constexpr (one_region && !in_place) static_cast<void>(acquire({1, Align}));
    }

    /// Acquires a first region of at least `size` bytes, within the limit of the growth. If the arena grows, acquires
    /// none for 0 bytes: a refusal would count for every request. Where offsets are addresses, the base has the
    /// strategy's extent alignment, so that the usable size does not depend on the address.
    void acquire_first(std::size_t size) noexcept {
        if (grows && size == 0) return;
        constexpr std::size_t align = model::absolute ? extent_align<Strategy>() : 1;
        if (size <= align_down(Growth::limit, Device::granularity))
            static_cast<void>(acquire({size, align < Align ? Align : align}));
    }

    /// Returns the index of the region in use; 0 unless regions are used one by one.
    [[nodiscard]] std::size_t current_region() const noexcept {
        if constexpr (one_by_one) return growth_.current;
        return 0;
    }

    /// Continues at the start of a region. With `Growth::regions`, no region is in use until the next request.
    void use_region(std::size_t index) noexcept {
        growth_.current = index;
        strategy_ = Strategy{};
        if (index < Growth::regions && space_.regions[index])
            static_cast<void>(strategy_.insert(space_.extent(index), {}));
    }

protected:
    /// Releases all unused memory for `trim`. Returns the number of released bytes.
    [[nodiscard]] std::size_t release_all_unused() noexcept {
        if constexpr (in_place) return trim_end(0);
        else return release_unused([](const region_type&) { return false; });
    }
    /// Releases regions without a live block, except those for which `keep` returns true.
    template <class Keep>
    std::size_t release_unused(Keep keep) noexcept {
        std::size_t released = 0;
        for (std::size_t i = 0; i != Growth::regions; ++i) {
            region_type& held = space_.regions[i];
            if (!held || keep(held) || !give_up(i)) continue;
            released += held.size;
            give_to_device(held);
        }
        if (space_.size() == 0) growth_.base_align = 0;  // the next base sets it again
        return released;
    }

    void give_to_device(region_type& held) noexcept {
        if constexpr (Annotated) this->note_release(held);
        this->device_.release(std::exchange(held, {}));
    }

    [[nodiscard]] diagnosis why_not(layout wanted) const noexcept {
        return strategy_.diagnose({static_cast<offset>(wanted.size), static_cast<offset>(wanted.align)});
    }

    /// Returns true if the strategy has no records for more memory, so that growth would not help.
    [[nodiscard]] bool is_out_of_records(layout wanted) const noexcept {
        if constexpr (in_place && Strategy::several_extents) {
            const layout_for<Strategy> asked{static_cast<offset>(wanted.size), static_cast<offset>(wanted.align)};
            if (space_.regions[0] ? !strategy_.can_extend(space_.extent(0), asked) : !strategy_.can_insert())
                return true;
        } else if constexpr (Strategy::several_extents) {
            if (!strategy_.can_insert()) return true;
        }
        return why_not(wanted).reason == refusal::out_of_records;
    }

    /// `acquire` for a region that is a constant: the device is not called. If the region is too small for a block, the
    /// strategy has no extent.
    void use_embedded() noexcept {
        const std::size_t at = model::position(device().base());
        constexpr std::size_t size = Device::capacity();
        if (at > space_type::last_offset - size || at % Device::min_align != 0) ALLOT_UNREACHABLE();  // an object
        static_cast<void>(strategy_.insert({static_cast<offset>(at), static_cast<offset>(size)}, {}));
        if constexpr (Annotated) this->note_region(space_.regions[0]);
    }

    // ── acquiring ────────────────────────────────────────────────────────────────────────────────────────────────

    /// Returns the base alignment for a request: at least that of the device and of the earlier regions.
    [[nodiscard]] std::size_t base_align_for(std::size_t align) const noexcept {
        if (align < Device::min_align) align = Device::min_align;
        if constexpr (grows) {
            if (align < growth_.base_align) align = growth_.base_align;
        }
        return align;
    }

    /// Acquires a region and adds it to the strategy. Returns false and changes nothing on failure.
    [[nodiscard]] bool acquire(layout wanted) noexcept {
        const std::size_t slot = space_.free_region();
        if (slot == Growth::regions) return false;
        wanted.align = base_align_for(wanted.align);
        if (!checked_align_up(wanted.size, Device::granularity, wanted.size)) return false;
        const acquired<Device> answer = this->device_.acquire(wanted);
        if (!answer) {
            note_refusal(wanted, answer.error());
            return false;
        }
        check_region<Device>(*answer, wanted);
        note_allocation(wanted);
        space_.regions[slot] = *answer;
        if (!start_using(slot)) {
            this->device_.release(std::exchange(space_.regions[slot], {}));
            return false;
        }
        if constexpr (Annotated) this->note_region(*answer);
        if constexpr (!one_region && !model::absolute) {
            if (growth_.base_align == 0) growth_.base_align = answer->align;
        }
        return true;
    }

    [[nodiscard]] bool start_using(std::size_t slot) noexcept {
        if constexpr (one_by_one) {
            use_next(slot);
            return true;
        } else {
            return strategy_.insert(space_.extent(slot), {});
        }
    }

    /// Returns the sizes to acquire or to extend the region to, so that the request fits; 0 if a limit forbids that.
    [[nodiscard]] region_step growth_for(layout wanted) const noexcept {
        if constexpr (in_place) {
            if (space_.regions[0])
                return extension_to(strategy_.size_for(
                    space_.extent(0), {static_cast<offset>(wanted.size), static_cast<offset>(wanted.align)}));
        }
        layout least = sizes::region_for(wanted);
        if (least.size == 0 || space_.free_region() == Growth::regions) return {};
        if constexpr (in_place && model::absolute) {
            // The device aligns to its pages. Skipped bytes provide a larger alignment.
            if (least.align > Device::min_align) {
                if (!checked_add(least.size, least.align, least.size)) return {};
                least.align = Device::min_align;
            }
        }
        const std::size_t held = space_.size(), next = Growth::next(held);
        region_step more = sizes::within(least.size, held < Growth::limit ? Growth::limit - held : 0,
                                         next < space_type::largest_extent ? next : space_type::largest_extent);
        more.align = least.align < Align ? Align : least.align;
        return more;
    }

    [[nodiscard]] bool grow_for(layout wanted) noexcept {
        if (wanted.size > space_type::last_offset || is_out_of_records(wanted)) return false;  // growth would not help
        if constexpr (one_by_one) {
            if (const std::size_t spare = spare_region_for(wanted); spare != Growth::regions) {
                use_next(spare);
                return true;
            }
        }
        const region_step more = growth_for(wanted);
        return more.least != 0 && take(more);
    }

    /// Requests the preferred size from the device, then a half, a quarter and an eighth of it, and finally the least
    /// size.
    [[nodiscard]] bool take(region_step more) noexcept {
        const std::size_t held = in_place ? space_.regions[0].size : 0, least = more.least - held;
        std::size_t size = more.best - held;
        for (unsigned halves = 3;; --halves) {
            bool taken = false;
            if constexpr (in_place) taken = held != 0 ? extend(held + size) : acquire({size, more.align});
            else taken = acquire({size, more.align});
            if (taken || size == least) return taken;
            size = halves == 0 ? 0 : align_down(size / 2, Device::granularity);
            if (size < least) size = least;
        }
    }

    void note_refusal([[maybe_unused]] layout asked, typename Device::error reason) noexcept {
        refused_with_ = reason;
        if constexpr (grows) growth_.refused = asked;
    }
    void note_allocation([[maybe_unused]] layout asked) noexcept {
        if constexpr (grows) {
            if (asked.size < growth_.refused.size || asked.align < growth_.refused.align) return;
        }
        refused_with_ = {};
    }
    [[nodiscard]] bool was_refused(const region_step& more) const noexcept
        requires grows
    {
        const std::size_t align = base_align_for(more.align);
        return static_cast<long>(refused_with_) != 0 && more.least >= growth_.refused.size &&
               align >= growth_.refused.align;
    }

    // ── one region that grows in place ───────────────────────────────────────────────────────────────────────────

    /// Returns the sizes to extend the region to for an extent of `least` bytes; 0 if no size suffices.
    [[nodiscard]] region_step extension_to(std::size_t least) const noexcept {
        constexpr std::size_t reach = space_type::largest_region;
        const std::size_t held = space_.regions[0].size;
        const region_step to =
            sizes::within(least, Growth::limit < reach ? Growth::limit : reach, held + Growth::next(held));
        return to.least > held ? to : region_step{};
    }

    /// Moves the region's end up. Returns false and changes nothing if the device or the strategy fails.
    [[nodiscard]] bool extend(std::size_t to) noexcept {
        region_type& held = space_.regions[0];
        const auto had = space_.extent(0);
        const acquired<Device> answer = this->device_.resize(held, to);
        if (!answer) {
            note_refusal({to, Device::min_align}, answer.error());
            return false;
        }
        note_allocation({to, Device::min_align});
        const region_type before = std::exchange(held, *answer);
        if (strategy_.resize_extent(had, space_.extent(0).size)) {
            if constexpr (Annotated) this->note_extension(held, before.size);
            return true;
        }
        if (const acquired<Device> undone = this->device_.resize(held, before.size)) held = *undone;
        return false;
    }

    /// Moves the region's end down to the last block, or releases a region without a block, but keeps `at_least` bytes.
    /// Returns the number of released bytes.
    std::size_t trim_end(std::size_t at_least) noexcept {
        region_type& held = space_.regions[0];
        if (!held) return 0;
        const auto had = space_.extent(0);
        auto least = align_up(static_cast<std::size_t>(strategy_.least_size(had)), Device::granularity);
        const region_type before = held;
        if (least < at_least) least = at_least;
        if (least == 0) {
            strategy_ = Strategy{};
            give_to_device(held);
            return before.size;
        }
        // If the rest of a hole is too small to be recorded, keeps the next larger size.
        while (least < held.size && !strategy_.resize_extent(had, static_cast<offset>(least)))
            least += Device::granularity;
        if (least >= held.size) return 0;
        if constexpr (Annotated) this->note_release(before, least);
        const acquired<Device> answer = this->device_.resize(held, least);
        if (!answer) {
            if constexpr (Annotated) this->note_extension(before, least);
            held.size = least;  // the strategy's size, for the extent in the next line
            static_cast<void>(strategy_.resize_extent(space_.extent(0), static_cast<offset>(before.size)));
            held = before;
            return 0;
        }
        held = *answer;
        return before.size - held.size;
    }

    // ── one region after the other ───────────────────────────────────────────────────────────────────────────────

    /// Returns the index of a region after the one in use in which the request fits. Such regions remain after a reset
    /// or a rollback. Returns `Growth::regions` if no region is suitable.
    [[nodiscard]] std::size_t spare_region_for(layout wanted) const noexcept {
        const layout needed = sizes::region_for(wanted);
        std::size_t spare = needed.size == 0 ? Growth::regions : next_region();
        while (spare != Growth::regions &&
               (space_.regions[spare].size < needed.size || space_.regions[spare].align < needed.align))
            ++spare;
        return spare;
    }

    [[nodiscard]] std::size_t next_region() const noexcept {
        return growth_.current == Growth::regions ? 0 : growth_.current + 1;
    }

    /// Continues in a spare region. Skipped spare regions stay spare, after it.
    void use_next(std::size_t spare) noexcept {
        const std::size_t next = next_region();
        std::swap(space_.regions[spare], space_.regions[next]);
        use_region(next);
    }

    /// Removes a region from the strategy. Returns false if the region has a live block.
    [[nodiscard]] bool give_up(std::size_t index) noexcept {
        if constexpr (one_by_one) {
            return growth_.current == Growth::regions || index > growth_.current;
        } else {
            return strategy_.remove(space_.extent(index));
        }
    }

    ALLOT_NO_UNIQUE_ADDRESS std::conditional_t<embedded, no_error, typename Device::error> refused_with_{};
    ALLOT_NO_UNIQUE_ADDRESS std::conditional_t<grows, growth_state, nothing> growth_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
