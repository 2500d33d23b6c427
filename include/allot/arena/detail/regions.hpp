// SPDX-License-Identifier: BSL-1.0
// arena_regions: the regions of an arena, and the strategy over them: acquired when they are needed, grown in place or one
// by one, given back by a trim.
//
//     a request that does not fit ─► a spare region, or a larger one, or a new one ─► the strategy is asked again
//
// How regions lie in the strategy's offsets, offset_space.hpp says; arena.hpp makes blocks of it.
//
// Complexity: O(regions) where a device is asked, nothing else. Memory: 24 bytes a region. Not synchronised.
#pragma once

#include <allot/arena/detail/offset_space.hpp>
#include <allot/arena/detail/requirements.hpp>
#include <allot/core/diagnosis.hpp>

#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// The device, and the regions that it has handed out.
template <class Device, class Strategy, class Growth>
struct regions_kept {
    static_assert(arena_requirements<Device, Strategy, Growth>());
    using space_type = offset_space<Device, Strategy, Growth>;

    regions_kept() noexcept
        requires std::default_initializable<Device>
    = default;
    explicit regions_kept(Device device, space_type space = {}) noexcept : space_{space}, device_{std::move(device)} {}
    [[nodiscard]] const Device& device() const noexcept { return device_; }

    // A device may hold its memory, which comes last: what lies in front of it is within reach of short instructions.
    space_type space_{};
    [[no_unique_address]] Device device_{};
};
/// A device whose one region the compiler knows, and nobody can refuse.
template <class Device, class Strategy, class Growth>
struct regions_embedded {
    static_assert(arena_requirements<Device, Strategy, Growth>());
    using space_type = offset_space<Device, Strategy, Growth, true>;
    [[nodiscard]] const Device& device() const noexcept { return space_.regions.device; }

    space_type space_{};
};
/// Those of a device that wants them back.
template <class Device, class Strategy, class Growth>
struct regions_given_back : regions_kept<Device, Strategy, Growth> {
    using regions_kept<Device, Strategy, Growth>::regions_kept;
    ~regions_given_back() {
        for (const auto& held : this->space_.regions) {
            if (held) this->device_.release(held);
        }
    }
};
template <class Device, class Growth, std::size_t Align>
consteval bool is_embedded() {
    if constexpr (embedded_device<Device> && growth_policy<Growth>)
        return Growth::regions == 1 && !Growth::in_place && Device::address_model::absolute && Align <= Device::min_align;
    return false;  // what makes no arena is refused by what follows
}
template <class Device, class Strategy, class Growth, std::size_t Align>
using regions_kept_by =
    std::conditional_t<is_embedded<Device, Growth, Align>(), regions_embedded<Device, Strategy, Growth>,
                       std::conditional_t<self_contained_device<Device>, regions_kept<Device, Strategy, Growth>,
                                          regions_given_back<Device, Strategy, Growth>>>;

/// In front of the regions, too.
template <class Strategy>
struct strategy_kept {
    Strategy strategy_{};
};

/// `Align` is what every base is asked to be aligned to, at least.
template <class Device, class Strategy, class Growth, std::size_t Align>
class arena_regions : strategy_kept<Strategy>, regions_kept_by<Device, Strategy, Growth, Align> {
    using kept = regions_kept_by<Device, Strategy, Growth, Align>;
    using kept::space_, strategy_kept<Strategy>::strategy_;
    using model = typename Device::address_model;
    using offset = typename Strategy::offset_type;
    using allocation = allocation_of<Strategy>;

    struct nothing {};
    struct growth_state {
        std::size_t base_align = 0;             // of every base, where only the device knows it
        std::size_t current = Growth::regions;  // the region in use, where they are used one by one
        layout refused{};                       // what the device refused last, while `refused_with_` says so
    };

public:
    using typename kept::space_type;
    using region_type = typename space_type::region_type;
    static constexpr bool one_region = space_type::order == region_order::one_region;
    static constexpr bool one_by_one = space_type::order == region_order::one_by_one;
    static constexpr bool in_place = Growth::in_place;
    static constexpr bool grows = !one_region || in_place;
    static constexpr bool can_trim = in_place || one_by_one || (!one_region && removable<Strategy>);

    static constexpr bool embedded = is_embedded<Device, Growth, Align>();

    arena_regions() noexcept
        requires std::default_initializable<Device>
    = default;
    explicit arena_regions(Device from) noexcept : kept{std::move(from)} {}
    arena_regions(arena_regions&& other) noexcept
        requires std::move_constructible<Device>
        : strategy_kept<Strategy>{std::exchange(other.strategy_, Strategy{})},
          kept{std::move(other.device_), std::exchange(other.space_, {})},
          refused_with_{other.refused_with_},
          growth_{std::exchange(other.growth_, {})} {}
    arena_regions& operator=(arena_regions&&) = delete;

    using kept::device;
    [[nodiscard]] Strategy& strategy() noexcept { return strategy_; }
    [[nodiscard]] const Strategy& strategy() const noexcept { return strategy_; }
    [[nodiscard]] const space_type& space() const noexcept { return space_; }

    /// A device with a window gives all of it at once.
    void acquire_window() noexcept {
        static_assert(!one_region || in_place || bounded_device<Device>,
                      "allot: this device has no fixed capacity: make the arena with a device and a size in bytes");
        if constexpr (embedded)
            use_embedded();
        else if constexpr (one_region && !in_place)
            static_cast<void>(acquire({1, Align}));
    }

    /// A region of at least `size` bytes; when there is none, `diagnose` knows why. Where offsets are addresses, as aligned as
    /// the strategy counts: how much of it can be used is then the same wherever it lies.
    void acquire_first(std::size_t size) noexcept {
        constexpr std::size_t align = model::absolute ? extent_align<Strategy>() : 1;
        static_cast<void>(acquire({size, align < Align ? Align : align}));
    }

    /// What the strategy gives, from one more region or a larger one where it has to be.
    [[nodiscard]] allocation allocate(layout wanted) noexcept {
        if (!is_honoured(wanted.align)) return {};
        allocation given = ask(wanted);
        if constexpr (grows) {
            if (!given) {
                const std::size_t slot = space_.free_region();
                const bool grown = grow_for(wanted);
                if (grown) given = ask(wanted);
                if constexpr (may_miss)
                    if (grown && !given) given = claim_in(slot, wanted);
            }
        }
        return given;
    }

    /// Changes an allocation's size where it stands. The last block's region grows with it, where it grows in place.
    [[nodiscard]] bool resize(allocation given, offset size) noexcept
        requires resizable<Strategy>
    {
        if (strategy_.resize(given, size)) return true;
        if constexpr (in_place) {
            const step more = extension_to(strategy_.size_for(space_.extent(0), given, size));
            return more.least != 0 && take(more) && strategy_.resize(given, size);
        }
        return false;
    }

    /// Why `allocate` would refuse. Only the device knows whether an arena can grow: what it refused, it is taken to refuse
    /// again, and all that is larger and as aligned, until it gives as much, or `trim` gives something back.
    [[nodiscard]] diagnosis diagnose(layout wanted) const noexcept {
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason};
        if (one_region && !in_place && !space_.regions[0]) {
            const long code = static_cast<long>(refused_with_);  // 0 when the region was too small to be cut at all
            return {code != 0 ? refusal::device_refused : refusal::exhausted, 0, code};
        }
        if (!is_honoured(wanted.align)) return {refusal::misaligned};
        if (wanted.size > space_type::last_offset) return {refusal::over_limit};
        diagnosis answer = why_not(wanted);
        if constexpr (grows) {
            if (answer.reason != refusal::none) why_not_grown(wanted, answer);
        }
        return answer;
    }

    /// Gives the device back every region in which nothing is live, or the end of the one region that grows in place. A
    /// device that keeps regions (cached) gives back all that it keeps, too. Returns how many bytes.
    std::size_t trim() noexcept
        requires can_trim
    {
        std::size_t released = 0;
        if constexpr (requires { this->device_.size(), this->device_.trim(); }) {
            released = this->device_.size();
            released += release_all_unused();
            this->device_.trim();
        } else {
            released = release_all_unused();
        }
        if (released != 0) refused_with_ = {};
        return released;
    }

    /// Gives the device back those regions that were not held `before`, or as much of the end of the one that grows in place.
    /// Precondition: nothing lives there, and no region was given up in between.
    void shrink_to(const space_type& before) noexcept {
        if constexpr (in_place) {
            trim_end(before.regions[0].size);
        } else {
            release_unused([&](const region_type& held) { return before.holds(held); });
            if constexpr (one_by_one) space_ = before;  // in the order that they had
        }
    }

    /// The region in use, where they are used one by one.
    [[nodiscard]] std::size_t current_region() const noexcept {
        if constexpr (one_by_one) return growth_.current;
        return 0;
    }

    /// Goes on in a region, from its start; with an index behind the last, in none until the next request.
    void use_region(std::size_t index) noexcept {
        growth_.current = index;
        strategy_ = Strategy{};
        if (index < Growth::regions && space_.regions[index])
            static_cast<void>(strategy_.insert(space_.extent(index), {}));
    }

private:
    /// Whether the strategy may overlook a hole that fits.
    static constexpr bool may_miss = !Strategy::exact && Strategy::several_extents;

    /// In a region that is new: the strategy looked elsewhere.
    [[nodiscard]] allocation claim_in([[maybe_unused]] std::size_t slot, [[maybe_unused]] layout wanted) noexcept {
        allocation given{};
        if constexpr (positional<Strategy> && !in_place) {
            const auto inside = space_.extent(slot);
            const auto size = static_cast<offset>(wanted.size), align = static_cast<offset>(wanted.align);
            offset at = 0;
            if (!checked_align_up(inside.offset, align, at)) return {};
            given = strategy_.allocate_at({at, size});  // in band, a header is in front
            if (!given && checked_add(at, align, at)) given = strategy_.allocate_at({at, size});
        }
        return given;
    }

    /// What `trim` gives the device.
    [[nodiscard]] std::size_t release_all_unused() noexcept {
        if constexpr (in_place) return trim_end(0);
        else return release_unused([](const region_type&) { return false; });
    }
    /// Gives the device regions in which nothing is live, but those that are to be kept.
    template <class Keep>
    std::size_t release_unused(Keep keep) noexcept {
        std::size_t released = 0;
        for (std::size_t i = 0; i != Growth::regions; ++i) {
            region_type& held = space_.regions[i];
            if (!held || keep(held) || !give_up(i)) continue;
            released += held.size;
            this->device_.release(std::exchange(held, {}));
        }
        if (space_.size() == 0) growth_.base_align = 0;  // the next first base decides again
        return released;
    }

    [[nodiscard]] allocation ask(layout wanted) noexcept {
        if constexpr (sizeof(offset) < sizeof(std::size_t)) {
            if (wanted.size > space_type::last_offset) return {};
        }
        return strategy_.allocate({static_cast<offset>(wanted.size), static_cast<offset>(wanted.align)});
    }

    [[nodiscard]] diagnosis why_not(layout wanted) const noexcept {
        return strategy_.diagnose({static_cast<offset>(wanted.size), static_cast<offset>(wanted.align)});
    }

    /// Why the arena would not grow for a request that has no room; `none` when it would.
    void why_not_grown(layout wanted, diagnosis& answer) const noexcept {
        if constexpr (one_by_one) {
            if (spare_region_for(wanted) != Growth::regions) {
                answer.reason = refusal::none;
                return;
            }
        }
        const step more = growth_for(wanted);
        if (is_out_of_records(wanted)) {
            answer.reason = refusal::out_of_records;
        } else if (more.least == 0) {
            if (answer.reason != refusal::misaligned) answer.reason = refusal::over_limit;
        } else if (was_refused(more)) {
            answer.reason = refusal::device_refused;
            answer.device_error = static_cast<long>(refused_with_);
        } else {
            answer.reason = refusal::none;
        }
    }

    /// True when more memory would not help, because the strategy could not keep records of it.
    [[nodiscard]] bool is_out_of_records(layout wanted) const noexcept {
        if constexpr (in_place && Strategy::several_extents) {
            const layout_for<Strategy> asked{static_cast<offset>(wanted.size), static_cast<offset>(wanted.align)};
            if (space_.regions[0] ? !strategy_.can_extend(space_.extent(0), asked) : !strategy_.can_insert()) return true;
        } else if constexpr (Strategy::several_extents) {
            if (!strategy_.can_insert()) return true;
        }
        return why_not(wanted).reason == refusal::out_of_records;
    }

    /// The one place where an alignment that the base cannot honour is refused. Where positions are addresses, any can
    /// be: the strategy skips to it. Offsets have to tell it, and in a segment half of them do.
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

    /// What `acquire` comes to where the compiler knows the region: nothing is asked. Where it is too small to be cut, the
    /// strategy has nothing.
    void use_embedded() noexcept {
        const std::size_t at = model::position(device().base());
        constexpr std::size_t size = Device::capacity();
        if (at > space_type::last_offset - size || at % Device::min_align != 0) __builtin_unreachable();  // it is an object
        static_cast<void>(strategy_.insert({static_cast<offset>(at), static_cast<offset>(size)}, {}));
    }

    // ── acquiring ────────────────────────────────────────────────────────────────────────────────────────────────

    /// How aligned a region's base has to be for such a request, and as aligned as those before.
    [[nodiscard]] std::size_t base_align_for(std::size_t align) const noexcept {
        if (align < Device::min_align) align = Device::min_align;
        if constexpr (grows) {
            if (align < growth_.base_align) align = growth_.base_align;
        }
        return align;
    }

    /// A region for the strategy in a free slot; false, and nothing changed, when there is none to be had.
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
        note_allocation(wanted);
        space_.regions[slot] = *answer;
        if (!start_using(slot)) {
            this->device_.release(std::exchange(space_.regions[slot], {}));
            return false;
        }
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

    /// Sizes of a region to ask for: the least that serves the request, and the growth's preferred one. 0 for none.
    struct step {
        std::size_t least = 0, best = 0, align = 1;
    };

    /// A region that the request is sure to fit; size 0 when there is none.
    [[nodiscard]] static constexpr layout region_for(layout wanted) noexcept {
        // The base as aligned as `bytes_for` has it. Offsets that are no addresses begin at 0, which is.
        constexpr std::size_t align = extent_align<Strategy>();
        if (!wanted.is_valid() || wanted.size > space_type::last_offset) return {0, 1};
        if (model::absolute && wanted.align < align) wanted.align = align;
        const auto bytes_for = [](std::size_t size, std::size_t aligned) {
            return static_cast<std::size_t>(Strategy::bytes_for(1, {static_cast<offset>(size), static_cast<offset>(aligned)}));
        };
        std::size_t need = bytes_for(wanted.size, wanted.align);
        if constexpr (may_miss) {
            // A hole that not every other is compared with has to be larger to be found, but for slots, which are alike.
            std::size_t sure = 0;
            if (checked_add(wanted.size, wanted.align + 2 * align + 64, sure) && checked_add(sure, sure / 8 + align, sure) &&
                sure <= space_type::last_offset && bytes_for(sure, wanted.align) != 0)
                need = bytes_for(sure, wanted.align);
        }
        return {need <= space_type::largest_extent ? need : 0, wanted.align};
    }

    /// What to acquire, or to extend the region to, so that the request fits; nothing when a limit forbids it.
    [[nodiscard]] step growth_for(layout wanted) const noexcept {
        if constexpr (in_place) {
            if (space_.regions[0])
                return extension_to(strategy_.size_for(
                    space_.extent(0), {static_cast<offset>(wanted.size), static_cast<offset>(wanted.align)}));
        }
        layout least = region_for(wanted);
        if (least.size == 0 || space_.free_region() == Growth::regions) return {};
        if constexpr (in_place && model::absolute) {
            // The device maps where its pages are: an alignment beyond is reached by skipping.
            if (least.align > Device::min_align) {
                if (!checked_add(least.size, least.align, least.size)) return {};
                least.align = Device::min_align;
            }
        }
        const std::size_t held = space_.size(), next = Growth::next(held);
        step more = within(least.size, held < Growth::limit ? Growth::limit - held : 0,
                           next < space_type::largest_extent ? next : space_type::largest_extent);
        more.align = least.align < Align ? Align : least.align;
        return more;
    }

    /// A size of at least `least` bytes and `next` where there is no reason against it, as the device and a limit have it.
    [[nodiscard]] static constexpr step within(std::size_t least, std::size_t limit, std::size_t next) noexcept {
        const std::size_t most = align_down(limit, Device::granularity);
        if (least == 0 || !checked_align_up(least, Device::granularity, least) || least > most) return {};
        if (next > most || !checked_align_up(next, Device::granularity, next)) next = most;
        return {least, next < least ? least : next, 1};
    }

    [[nodiscard]] bool grow_for(layout wanted) noexcept {
        if (wanted.size > space_type::last_offset || is_out_of_records(wanted)) return false;  // more would not help
        if constexpr (one_by_one) {
            if (const std::size_t spare = spare_region_for(wanted); spare != Growth::regions) {
                use_next(spare);
                return true;
            }
        }
        const step more = growth_for(wanted);
        return more.least != 0 && take(more);
    }

    /// Asks the device for the best, then for a half, a quarter and an eighth of it, and at last for the least.
    [[nodiscard]] bool take(step more) noexcept {
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
    [[nodiscard]] bool was_refused(const step& more) const noexcept
        requires grows
    {
        const std::size_t align = base_align_for(more.align);
        return static_cast<long>(refused_with_) != 0 && more.least >= growth_.refused.size && align >= growth_.refused.align;
    }

    // ── one region that grows in place ───────────────────────────────────────────────────────────────────────────

    /// How far to extend the region for `least` bytes of its extent, which are 0 when no size would do.
    [[nodiscard]] step extension_to(std::size_t least) const noexcept {
        constexpr std::size_t reach = space_type::largest_region;
        const std::size_t held = space_.regions[0].size;
        const step to = within(least, Growth::limit < reach ? Growth::limit : reach, held + Growth::next(held));
        return to.least > held ? to : step{};
    }

    /// Moves the region's end up; false, and nothing changed, when the device or the strategy refuses.
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
        if (strategy_.resize_extent(had, space_.extent(0).size)) return true;
        if (const acquired<Device> undone = this->device_.resize(held, before.size)) held = *undone;
        return false;
    }

    /// Moves the region's end down to the last block, or gives up a region without one; but keeps so many bytes. Returns how
    /// many it gave.
    std::size_t trim_end(std::size_t at_least) noexcept {
        region_type& held = space_.regions[0];
        if (!held) return 0;
        const auto had = space_.extent(0);
        auto least = align_up(static_cast<std::size_t>(strategy_.least_size(had)), Device::granularity);
        const region_type before = held;
        if (least < at_least) least = at_least;
        if (least == 0) {
            strategy_ = Strategy{};
            this->device_.release(std::exchange(held, {}));
            return before.size;
        }
        // What is left of a hole may be too small to be kept: then a little more stays.
        while (least < held.size && !strategy_.resize_extent(had, static_cast<offset>(least))) least += Device::granularity;
        if (least >= held.size) return 0;
        const acquired<Device> answer = this->device_.resize(held, least);
        if (!answer) {
            held.size = least;  // as the strategy has it, until it grows again
            static_cast<void>(strategy_.resize_extent(space_.extent(0), static_cast<offset>(before.size)));
            held = before;
            return 0;
        }
        held = *answer;
        return before.size - held.size;
    }

    // ── one region after the other ───────────────────────────────────────────────────────────────────────────────

    /// A region after the one in use that the request fits, left from before a reset or rollback.
    [[nodiscard]] std::size_t spare_region_for(layout wanted) const noexcept {
        const layout needed = region_for(wanted);
        std::size_t spare = needed.size == 0 ? Growth::regions : next_region();
        while (spare != Growth::regions &&
               (space_.regions[spare].size < needed.size || space_.regions[spare].align < needed.align))
            ++spare;
        return spare;
    }

    [[nodiscard]] std::size_t next_region() const noexcept {
        return growth_.current == Growth::regions ? 0 : growth_.current + 1;
    }

    /// Goes on in a spare region. Those that it overtakes stay behind it, spare still.
    void use_next(std::size_t spare) noexcept {
        const std::size_t next = next_region();
        std::swap(space_.regions[spare], space_.regions[next]);
        use_region(next);
    }

    /// Takes a region out of use; false when something in it is live.
    [[nodiscard]] bool give_up(std::size_t index) noexcept {
        if constexpr (one_by_one) {
            return growth_.current == Growth::regions || index > growth_.current;
        } else {
            return strategy_.remove(space_.extent(index));
        }
    }

    [[no_unique_address]] std::conditional_t<embedded, no_error, typename Device::error> refused_with_{};
    [[no_unique_address]] std::conditional_t<grows, growth_state, nothing> growth_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
