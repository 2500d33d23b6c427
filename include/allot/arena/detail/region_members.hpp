// SPDX-License-Identifier: BSL-1.0
// region_members: the data members of an arena's regions.
//
//     strategy │ regions │ device
//
// Internal. The members are a base class of arena_regions, because three kinds of devices need different members:
//
//     stored_regions     the device contains its memory: nothing is released, and the destructor stays trivial
//     released_regions   the destructor releases every region; before clang 16, a class cannot have both destructors
//     embedded_regions   the region is a constant of the device and is not stored
//
// The device is the last member because it may contain its memory. Short instructions then reach the other members.
#pragma once

#include <allot/arena/detail/offset_space.hpp>
#include <allot/arena/detail/requirements.hpp>
#include <allot/core/detail/compiler.hpp>

#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Members with a record of each region.
template <class Device, class Strategy, class Growth>
struct stored_regions {
    static_assert(sizeof(Strategy) != 0);  // a strategy with invalid options reports its own sentence first
    static_assert(arena_requirements<Device, Strategy, Growth>());
    using space_type = offset_space<Device, Strategy, Growth>;

    stored_regions() noexcept
        requires std::default_initializable<Device>
    = default;
    explicit stored_regions(Device device) noexcept : device_{std::move(device)} {}
    stored_regions(Strategy&& strategy, space_type space, Device&& device) noexcept
        : strategy_{std::move(strategy)}, space_{space}, device_{std::move(device)} {}
    [[nodiscard]] const Device& device() const noexcept { return device_; }

    Strategy strategy_{};
    space_type space_{};
    ALLOT_NO_UNIQUE_ADDRESS Device device_{};
};

/// Members whose regions the destructor releases.
template <class Device, class Strategy, class Growth>
struct released_regions : stored_regions<Device, Strategy, Growth> {
    using stored_regions<Device, Strategy, Growth>::stored_regions;
    ~released_regions() {
        for (const auto& held : this->space_.regions) {
            if (held) this->device_.release(held);
        }
    }
};

/// Members for a device whose region is a constant that needs no request.
template <class Device, class Strategy, class Growth>
struct embedded_regions {
    static_assert(sizeof(Strategy) != 0);  // a strategy with invalid options reports its own sentence first
    static_assert(arena_requirements<Device, Strategy, Growth>());
    using space_type = offset_space<Device, Strategy, Growth, true>;
    [[nodiscard]] const Device& device() const noexcept { return space_.regions.device; }

    Strategy strategy_{};
    space_type space_{};
};

template <class Device, class Growth, std::size_t Align>
consteval bool is_embedded() {
    if constexpr (embedded_device<Device> && growth_policy<Growth>)
        return Growth::regions == 1 && !Growth::in_place && Device::address_model::absolute &&
               Align <= Device::min_align;
    return false;  // policies that do not make an arena are rejected later
}

/// The members for a device.
template <class Device, class Strategy, class Growth, std::size_t Align>
using region_members =
    std::conditional_t<is_embedded<Device, Growth, Align>(), embedded_regions<Device, Strategy, Growth>,
                       std::conditional_t<self_contained_device<Device>, stored_regions<Device, Strategy, Growth>,
                                          released_regions<Device, Strategy, Growth>>>;

}  // namespace detail
}  // namespace v1
}  // namespace allot
