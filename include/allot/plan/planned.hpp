// SPDX-License-Identifier: BSL-1.0
// planned: the strategy of an arena whose every block was placed before anything ran. Nothing is searched, recorded or
// given back: a block is its plan's offset away from the base.
//
//     static constexpr allot::plan_buffer buffers[] = {{.size = 1000, .live = {0, 2}},
//                                                      {.size = 500, .live = {1, 3}, .align = 64}};
//     static constexpr auto layout = allot::plan<buffers>();                             // the compiler plans
//     allot::arena<allot::host::static_storage<layout.peak, layout.align>, allot::planned<layout>> memory;
//     auto input = memory.at<0>();                                                // 1000 bytes at layout.places[0]
//
//     plan     │ place 0: offset, size │ place 1 │ …          named by the buffer's number; blocks may share bytes when
//     region   │   at<0>   │  at<1>  │                        the plan says that they never live at once
//
// With a plan that is made at run time: `arena<Device, planned<>> memory{device, plan}`, which outlives the arena. The
// device is asked once, for `peak` bytes; where it refuses, every block is empty and `diagnose` has its code. A device
// whose size the compiler knows, and that is too small, does not compile: `plan_shortfall<N>` in the message says by
// how many bytes.
//
// `in_program_order` hands the blocks out one by one, for code that allocates.
//
// Complexity: O(1). Memory: the region, and a view of a plan made at run time. Thread safety: none is needed to read.
#pragma once

#include <allot/arena/arena.hpp>

#include <span>

namespace allot {
inline namespace v1 {

/// Where a plan puts a buffer.
struct plan_place {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    friend constexpr bool operator==(plan_place, plan_place) = default;
};

/// Places, the bytes that they need in all, and what their base has to be a multiple of.
template <class Plan>
concept plan_of_places = requires(const Plan& plan) {
    { std::span<const plan_place>{plan.places} };
    { plan.peak } -> std::convertible_to<std::uint64_t>;
    { plan.align } -> std::convertible_to<std::uint64_t>;
};

namespace detail {
struct made_at_run_time {};
inline constexpr made_at_run_time no_plan_yet{};
}  // namespace detail

/// Blocks lie where `Plan` says, an object with static storage duration; by default, a plan made at run time.
template <const auto& Plan = detail::no_plan_yet>
struct planned {};

/// Does not compile for a device, or a capacity, that has `Bytes` too few.
template <std::uint64_t Bytes>
struct plan_shortfall {
    static_assert(Bytes == 0,
                  "allot: the plan does not fit the memory: plan_shortfall<N> says how many bytes are missing");
    static constexpr bool none = true;
};

namespace detail {
/// Whether the device cannot refuse the plan, as far as the compiler knows; where it would, this does not compile.
template <class Device, const auto& Plan>
consteval bool always_fits() {
    if constexpr (requires { typename std::bool_constant<(Device::capacity() > 0)>; }) {
        constexpr std::uint64_t has = Device::capacity();
        static_assert(plan_shortfall<(Plan.peak > has ? Plan.peak - has : 0)>::none);
        static_assert(
            Plan.align <= Device::min_align,
            "allot: the plan's buffers want more alignment than this device has: raise the device's to plan.align");
        return true;
    } else {
        return false;
    }
}
}  // namespace detail

/// The region of a planned arena, and what is the same for every plan.
template <class Device>
class planned_region : public traits_of<Device> {
    static_assert(device_requirements<Device>());
    static_assert(Device::offsets != offset_use::none,
                  "allot: consumers of this memory take no offset, so that no plan can cut it");
    using model = typename Device::address_model;

public:
    using block_type = block<typename model::address, no_metadata<planned<>>>;

    planned_region(planned_region&& other) noexcept
        requires std::is_nothrow_move_constructible_v<Device>
        : device_{std::move(other.device_)}, held_{std::exchange(other.held_, {})}, refused_{other.refused_} {}
    planned_region& operator=(planned_region&&) = delete;

    /// None, or why there is no memory.
    [[nodiscard]] diagnosis diagnose() const noexcept { return refused_; }
    /// Bytes held from the device.
    [[nodiscard]] std::size_t size() const noexcept { return held_.size; }
    [[nodiscard]] const Device& device() const noexcept { return device_; }

protected:
    planned_region(Device device, std::uint64_t peak, std::uint64_t align) noexcept : device_{std::move(device)} {
        acquire(peak, align);
    }
    planned_region(std::uint64_t peak, std::uint64_t align) noexcept
        requires std::default_initializable<Device>
    {
        acquire(peak, align);
    }
    ~planned_region() {
        if (held_) device_.release(held_);
    }

    [[nodiscard]] const region_of<Device>& held() const noexcept { return held_; }
    /// Precondition: the region is held.
    [[nodiscard]] block_type block_at(plan_place place) const noexcept {
        if (place.size == 0) return {};
        return {model::locate(held_.base, static_cast<std::size_t>(place.offset)),
                static_cast<std::size_t>(place.size),
                {}};
    }

private:
    void acquire(std::uint64_t peak, std::uint64_t align) noexcept {
        constexpr std::uint64_t most = std::numeric_limits<std::size_t>::max();
        if (peak == 0) return;
        if (peak > most || align > most) {
            refused_ = {refusal::over_limit};
            return;
        }
        const auto answer = device_.acquire({static_cast<std::size_t>(peak), static_cast<std::size_t>(align)});
        if (answer) held_ = *answer;
        else refused_ = {refusal::device_refused, 0, static_cast<long>(answer.error())};
    }

    Device device_{};
    region_of<Device> held_{};
    diagnosis refused_{};
};

/// The same where the device object has the memory, or its type: nothing is acquired, kept or refused, and a block's address
/// is known to the linker.
template <embedded_device Device>
class embedded_planned_region : public traits_of<Device> {
    static_assert(device_requirements<Device>());
    using model = typename Device::address_model;

public:
    using block_type = block<typename model::address, no_metadata<planned<>>>;

    embedded_planned_region(embedded_planned_region&&) = delete;
    embedded_planned_region& operator=(embedded_planned_region&&) = delete;

    [[nodiscard]] static constexpr diagnosis diagnose() noexcept { return {}; }
    [[nodiscard]] static constexpr std::size_t size() noexcept { return Device::capacity(); }
    [[nodiscard]] const Device& device() const noexcept { return device_; }

protected:
    constexpr embedded_planned_region(std::uint64_t, std::uint64_t) noexcept {}

    [[nodiscard]] static constexpr bool held() noexcept { return true; }
    [[nodiscard]] block_type block_at(plan_place place) const noexcept {
        if (place.size == 0) return {};
        return {model::locate(device_.base(), static_cast<std::size_t>(place.offset)),
                static_cast<std::size_t>(place.size),
                {}};
    }

private:
    Device device_{};
};

namespace detail {
template <class Device>
struct region_of_plan {
    using type = planned_region<Device>;
};
template <embedded_device Device>
struct region_of_plan<Device> {
    using type = embedded_planned_region<Device>;
};
}  // namespace detail

/// An arena by a plan that the compiler knows.
template <class Device, const auto& Plan>
    requires plan_of_places<std::remove_cvref_t<decltype(Plan)>>
class arena<Device, planned<Plan>, growth::none, arena_options{}, abort_on_misuse>
    : public detail::region_of_plan<Device>::type {
    using region_type = typename detail::region_of_plan<Device>::type;
    static constexpr std::span<const plan_place> places{Plan.places};
    static constexpr bool is_always_there = detail::always_fits<Device, Plan>();

public:
    using typename region_type::block_type;

    constexpr arena() noexcept
        requires std::default_initializable<Device>
        : region_type{Plan.peak, Plan.align} {}
    explicit arena(Device device) noexcept : region_type{std::move(device), Plan.peak, Plan.align} {}

    /// The block of a buffer. Empty where the device has refused, and for a buffer of no bytes.
    template <std::size_t Id>
    [[nodiscard]] block_type at() const noexcept {
        static_assert(Id < places.size(), "allot: the plan has no buffer of this number");
        if constexpr (!is_always_there) {
            if (!this->held()) return {};
        }
        return this->block_at(places[Id]);
    }
    /// The same for a number that is known at run time; empty for one that the plan has not.
    [[nodiscard]] block_type at(std::size_t id) const noexcept {
        return id < places.size() && this->held() ? this->block_at(places[id]) : block_type{};
    }
    /// How many buffers the plan has.
    [[nodiscard]] static constexpr std::size_t count() noexcept { return places.size(); }

};

/// An arena by a plan that is made at run time.
template <class Device>
class arena<Device, planned<>, growth::none, arena_options{}, abort_on_misuse> : public planned_region<Device> {
public:
    using typename planned_region<Device>::block_type;

    /// The plan outlives the arena.
    template <plan_of_places Plan>
    arena(Device device, const Plan& plan) noexcept
        : planned_region<Device>{std::move(device), plan.peak, plan.align}, places_{plan.places} {}

    /// The block of a buffer. Empty for one that the plan has not, for one of no bytes, and where the device has
    /// refused.
    [[nodiscard]] block_type at(std::size_t id) const noexcept {
        return id < places_.size() && this->held() ? this->block_at(places_[id]) : block_type{};
    }
    /// How many buffers the plan has.
    [[nodiscard]] std::size_t count() const noexcept { return places_.size(); }

private:
    std::span<const plan_place> places_;
};

/// With a growth, options or a handler, there is nothing that they would do.
template <class Device, const auto& Plan, class Growth, arena_options Options, class OnMisuse>
class arena<Device, planned<Plan>, Growth, Options, OnMisuse> {
    static_assert(!sizeof(Device), "allot: a planned arena neither grows nor takes blocks back, so that it has no growth and "
                                   "no hardening: write arena<Device, planned<Plan>>");
};

/// Hands a planned arena's blocks out in the order of their numbers: an allocator for programs that ask in that order.
/// It takes nothing back, because the plan knows when each is done with.
template <class Arena>
class in_program_order {
    using model = typename Arena::address_model;

public:
    using address_model = model;
    using block_type = typename Arena::block_type;
    static constexpr bool host_accessible = Arena::host_accessible;
    static constexpr offset_use offsets = Arena::offsets;
    static constexpr dl_device_type dl_device = Arena::dl_device;
    static constexpr reclaim reclaims = reclaim::never;

    /// The arena outlives it.
    explicit in_program_order(const Arena& arena) noexcept : arena_{&arena} {}

    /// The next block, when it is as large and as aligned as asked; otherwise none, and it is still the next.
    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        block_type given = next_that_has_bytes();
        if (why_not(given, wanted).reason != refusal::none) return {};
        ++next_;
        given.size = wanted.size;
        return given;
    }
    void deallocate(block_type) noexcept {}
    /// Begins again with the first.
    void reset() noexcept { next_ = 0; }

    /// Why `allocate` would refuse: `exhausted` behind the last block, `over_limit` for more than was planned.
    [[nodiscard]] diagnosis diagnose(layout wanted) const noexcept {
        in_program_order trial = *this;
        return trial.why_not(trial.next_that_has_bytes(), wanted);
    }

private:
    [[nodiscard]] block_type next_that_has_bytes() noexcept {
        while (next_ != arena_->count() && !arena_->at(next_) && arena_->diagnose().reason == refusal::none) ++next_;
        return arena_->at(next_);
    }
    [[nodiscard]] diagnosis why_not(const block_type& given, layout wanted) const noexcept {
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason};
        if (arena_->diagnose().reason != refusal::none) return arena_->diagnose();
        if (!given) return {refusal::exhausted};
        if (wanted.size > given.size) return {refusal::over_limit, given.size};
        const bool aligned = (model::position(given.address) & (wanted.align - 1)) == 0;
        return {aligned ? refusal::none : refusal::misaligned, given.size};
    }

    const Arena* arena_;
    std::size_t next_ = 0;
};

}  // namespace v1
}  // namespace allot
