// SPDX-License-Identifier: BSL-1.0
// planned: an arena strategy whose blocks all have offsets from a plan. It does not search, record or reclaim anything.
//
//     static constexpr allot::plan_buffer buffers[] = {{.size = 1000, .live = {0, 2}},
//                                                      {.size = 500, .live = {1, 3}, .align = 64}};
//     static constexpr auto layout = allot::plan<buffers>();                      // computed in a constant expression
//     allot::arena<allot::host::static_storage<layout.peak, layout.align>, allot::planned<layout>> memory;
//     auto input = memory.at<0>();                                                // 1000 bytes at layout.places[0]
//
//     plan     │ place 0: offset, size │ place 1 │ …          Blocks are named by the index of their buffer. Blocks may
//     region   │   at<0>   │  at<1>  │                        share bytes if their lifetimes do not overlap.
//
// For a plan that is computed at run time: `arena<Device, planned<>> memory{device, plan}`. The plan must outlive the
// arena. The arena acquires one region of `peak` bytes. If the device refuses, all blocks are empty, and `diagnose`
// reports the device's error code. If the device's size is a constant and too small, the program does not compile:
// `plan_shortfall<N>` in the compiler's message is the number of missing bytes.
//
// The adapter `in_program_order` returns the blocks one after the other, for code that allocates.
//
// When to use: a plan for all buffers exists. Access is as cheap as an addition, or a constant in static storage.
// When not to use: sizes or lifetimes depend on data. Use another strategy, such as `best_fit`.
//
// Complexity: O(1).
// Memory: one region of `peak` bytes, and a view of a plan from run time. No bytes for each block.
// Thread safety: concurrent calls of const member functions need no synchronization. `in_program_order` needs external
// synchronization.
#pragma once

#include <allot/arena/arena.hpp>
#include <allot/plan/summary.hpp>

#include <span>

namespace allot {
inline namespace v1 {

/// A type with the members of a plan: `places`, the number of bytes `peak`, and the alignment of the base `align`.
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

/// Strategy tag of an arena whose blocks have the places of `Plan`, an object with static storage duration.
///
/// `planned<>` represents a plan that is computed at run time and passed to the arena's constructor.
template <const auto& Plan = detail::no_plan_yet>
struct planned {};

/// Reports a shortfall: fails to compile unless `Bytes`, the number of missing bytes, is 0.
template <std::uint64_t Bytes>
struct plan_shortfall {
    static_assert(Bytes == 0, "allot: the plan does not fit the memory: add the N missing bytes of plan_shortfall<N>");
    static constexpr bool none = true;  ///< Forces the instantiation of the template.
};

namespace detail {
/// Returns whether the device is known to fit the plan. Fails to compile if the device is known to be too small.
template <class Device, const auto& Plan>
consteval bool always_fits() {
    if constexpr (requires { typename std::bool_constant<(Device::capacity() > 0)>; }) {
        constexpr std::uint64_t has = Device::capacity();
        static_assert(plan_shortfall<(Plan.peak > has ? Plan.peak - has : 0)>::none);
        static_assert(
            Plan.align <= Device::min_align,
            "allot: the plan needs more alignment than this device has: raise the device's alignment to plan.align");
        return true;
    } else {
        return false;
    }
}

/// Base class of planned arenas: owns the region and implements the members that do not depend on the plan.
template <class Device>
class planned_region : public traits_of<Device> {
    static_assert(device_requirements<Device>());
    static_assert(Device::offsets != offset_use::none,
                  "allot: consumers of this memory take no offset: a planned arena needs offsets for its blocks");
    using model = typename Device::address_model;

public:
    using block_type = block<typename model::address, no_metadata<planned<>>>;  ///< Type of the blocks.

    /// Moves the device and the region. Afterwards, `other` holds no region.
    planned_region(planned_region&& other) noexcept
        requires std::is_nothrow_move_constructible_v<Device>
        : device_{std::move(other.device_)}, held_{std::exchange(other.held_, {})}, refused_{other.refused_} {}
    planned_region& operator=(planned_region&&) = delete;

    /// Returns the reason why the arena holds no memory, or a diagnosis with the reason `none`.
    [[nodiscard]] diagnosis diagnose() const noexcept { return refused_; }
    /// Returns the size of the acquired region in bytes.
    [[nodiscard]] std::size_t size() const noexcept { return held_.size; }
    /// Returns the device.
    [[nodiscard]] const Device& device() const noexcept { return device_; }

protected:
    /// Moves the device in and acquires the memory of a plan.
    planned_region(Device device, std::uint64_t peak, std::uint64_t align) noexcept : device_{std::move(device)} {
        acquire(peak, align);
    }
    /// Constructs the device and acquires the memory of a plan.
    planned_region(std::uint64_t peak, std::uint64_t align) noexcept
        requires std::default_initializable<Device>
    {
        acquire(peak, align);
    }
    ~planned_region() {
        if (held_) device_.release(held_);
    }

    /// Returns the region, which is empty if the device refused.
    [[nodiscard]] const region_of<Device>& held() const noexcept { return held_; }
    /// Returns the block at `place`. Precondition: the arena holds its region.
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

/// Base class of planned arenas for devices that contain their memory, in the object or as a static member.
///
/// Nothing is acquired, and nothing can fail. For a device with static memory, the linker knows the address of a block.
template <embedded_device Device>
class embedded_planned_region : public traits_of<Device> {
    static_assert(device_requirements<Device>());
    using model = typename Device::address_model;

public:
    using block_type = block<typename model::address, no_metadata<planned<>>>;  ///< Type of the blocks.

    embedded_planned_region(embedded_planned_region&&) = delete;
    embedded_planned_region& operator=(embedded_planned_region&&) = delete;

    /// Returns a diagnosis with the reason `none`: the memory always exists.
    [[nodiscard]] static constexpr diagnosis diagnose() noexcept { return {}; }
    /// Returns the size of the device's memory in bytes.
    [[nodiscard]] static constexpr std::size_t size() noexcept { return Device::capacity(); }
    /// Returns the device.
    [[nodiscard]] const Device& device() const noexcept { return device_; }

protected:
    /// Constructs the device, which contains its memory. The arguments are not used.
    constexpr embedded_planned_region(std::uint64_t, std::uint64_t) noexcept {}

    /// Returns true: the memory always exists.
    [[nodiscard]] static constexpr bool held() noexcept { return true; }
    /// Returns the block at a place of the plan; an empty block for an empty place.
    [[nodiscard]] block_type block_at(plan_place place) const noexcept {
        if (place.size == 0) return {};
        return {model::locate(device_.base(), static_cast<std::size_t>(place.offset)),
                static_cast<std::size_t>(place.size),
                {}};
    }

private:
    Device device_{};
};

template <class Device>
struct region_of_plan {
    using type = planned_region<Device>;
};
template <embedded_device Device>
struct region_of_plan<Device> {
    using type = embedded_planned_region<Device>;
};
}  // namespace detail

/// An arena for a plan that is a constant. `diagnose()` returns the reason why it holds no memory, `size()` the bytes
/// of its region, and `device()` the device.
template <class Device, const auto& Plan>
    requires plan_of_places<std::remove_cvref_t<decltype(Plan)>>
class arena<Device, planned<Plan>, growth::none<>, arena_options{}, abort_on_misuse>
    : public detail::region_of_plan<Device>::type {
    using region_type = typename detail::region_of_plan<Device>::type;
    static constexpr std::span<const plan_place> places{Plan.places};
    static constexpr bool is_always_there = detail::always_fits<Device, Plan>();

public:
    using typename region_type::block_type;

    /// Acquires the region from a default-constructed device.
    constexpr arena() noexcept
        requires std::default_initializable<Device>
        : region_type{Plan.peak, Plan.align} {}
    /// Acquires the region from `device`.
    explicit arena(Device device) noexcept : region_type{std::move(device), Plan.peak, Plan.align} {}

    /// Returns the block of buffer `Id`. The block is empty if the buffer has no bytes or the device refused.
    template <std::size_t Id>
    [[nodiscard]] block_type at() const noexcept {
        static_assert(Id < places.size(), "allot: the plan has no buffer with this index");
        if constexpr (!is_always_there) {
            if (!this->held()) return {};
        }
        return this->block_at(places[Id]);
    }
    /// Returns the block of buffer `id`. The block is empty if the plan has no such buffer, the buffer has no bytes, or
    /// the device refused.
    [[nodiscard]] block_type at(std::size_t id) const noexcept {
        return id < places.size() && this->held() ? this->block_at(places[id]) : block_type{};
    }
    /// Returns the number of buffers of the plan.
    [[nodiscard]] static constexpr std::size_t count() noexcept { return places.size(); }
};

/// An arena for a plan that is computed at run time. It has `diagnose()`, `size()` and `device()` as well.
template <class Device>
class arena<Device, planned<>, growth::none<>, arena_options{}, abort_on_misuse>
    : public detail::planned_region<Device> {
    using base = detail::planned_region<Device>;

public:
    using typename base::block_type;

    /// Acquires the region from `device`. Precondition: `made` outlives the arena.
    template <plan_of_places Plan>
    arena(Device device, const Plan& made) noexcept
        : base{std::move(device), made.peak, made.align}, places_{made.places} {}
    /// A plan that ends with the expression does not compile.
    template <plan_of_places Plan>
    arena(Device, const Plan&&) = delete;  // give the plan a name: the arena refers to it
    /// A size in the place of the plan does not compile.
    template <std::integral Size>
    arena(Device device, Size) noexcept : base{std::move(device), 0, 1} {
        static_assert(!sizeof(Size),
                      "allot: an arena over planned<> takes a plan, which has the size: arena{device, plan}");
    }

    /// Returns the block of buffer `id`. The block is empty if the plan has no such buffer, the buffer has no bytes, or
    /// the device refused.
    [[nodiscard]] block_type at(std::size_t id) const noexcept {
        return id < places_.size() && this->held() ? this->block_at(places_[id]) : block_type{};
    }
    /// Returns the block at `place`, such as a page of a mixed plan. The block is empty if the place has no bytes or
    /// the device refused. Precondition: the place ends within the plan's `peak`.
    [[nodiscard]] block_type at(plan_place place) const noexcept {
        return this->held() ? this->block_at(place) : block_type{};
    }
    /// Returns the number of buffers of the plan.
    [[nodiscard]] std::size_t count() const noexcept { return places_.size(); }

private:
    std::span<const plan_place> places_;
};

/// Rejects a growth, options or a misuse handler: they would have no effect.
template <class Device, const auto& Plan, class Growth, arena_options Options, class OnMisuse>
class arena<Device, planned<Plan>, Growth, Options, OnMisuse> {
    static_assert(!sizeof(Device),
                  "allot: a planned arena neither grows nor takes blocks back: write "
                  "arena<Device, planned<Plan>> without growth, options and handler");
};

/// An allocator that returns the blocks of a planned arena in the order of their indices.
///
/// Use it for programs that allocate in the order of the plan. `deallocate` does nothing, because the plan defines all
/// lifetimes.
template <class Arena>
class in_program_order {
    using model = typename Arena::address_model;

public:
    using address_model = model;                                     ///< Address model of the arena.
    using block_type = typename Arena::block_type;                   ///< Type of the blocks.
    static constexpr bool host_accessible = Arena::host_accessible;  ///< Whether the host can access the memory.
    static constexpr offset_use offsets = Arena::offsets;            ///< How consumers of the memory use offsets.
    static constexpr dl_device_type dl_device = Arena::dl_device;    ///< DLPack device type of the memory.
    static constexpr reclaim reclaims = reclaim::never;              ///< `deallocate` never reclaims a block.

    /// Begins with the first block. Precondition: `arena` outlives the allocator.
    explicit in_program_order(const Arena& arena) noexcept : arena_{&arena} {}

    /// Returns the next block with `wanted.size` bytes. Returns an empty block, and does not advance, if the next block
    /// is too small or misaligned, or if there is no next block.
    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        block_type given = next_that_has_bytes();
        if (why_not(given, wanted).reason != refusal::none) return {};
        ++next_;
        given.size = wanted.size;
        return given;
    }
    /// Does nothing.
    void deallocate(block_type) noexcept {}
    /// Begins again with the first block.
    void reset() noexcept { next_ = 0; }

    /// Returns the reason why `allocate` would fail: `exhausted` after the last block, `over_limit` if `wanted` exceeds
    /// the planned size, `misaligned`, or the diagnosis of the arena.
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
