// SPDX-License-Identifier: BSL-1.0
// arena_requirements: compile-time checks of the device, the strategy and the growth of an arena.
//
//     static_assert(allot::arena_requirements<Device, Strategy, Growth>());      // every arena does this
//
// If the three do not make an arena, the program does not compile, and one assertion describes the necessary change.
// `region_traits` describes the properties of an arena's memory that its strategy may rely on.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/arena/growth.hpp>
#include <allot/core/device.hpp>
#include <allot/core/strategy.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

struct arena_access;  // arena_access.hpp

/// Returns true. Does not compile if the device and the strategy, or the strategy and the growth, are swapped.
template <class Device, class Strategy>
consteval bool arena_order() {
    static_assert(
        !requires { Strategy::granularity; } && !requires { Device::several_extents; },
        "allot: an arena takes the device first and the strategy second: arena<Device, Strategy>");
    static_assert(!growth_policy<Strategy>,
                  "allot: an arena takes the strategy before the growth: arena<Device, Strategy, Growth>, "
                  "use<Strategy, Growth>");
    return true;
}

/// Compiles only if an arena can be made with a device.
template <class Device>
consteval bool moves_into_arena() {
    static_assert(
        std::move_constructible<Device>,
        "allot: this device contains its memory and cannot be moved: write the type of the arena, which makes "
        "the device: arena<host::static_storage<64_KiB>, best_fit<>> memory");
    return true;
}

/// Does not compile: an arena was made with `{}` in the place of a device that has no default.
template <class Device>
consteval void refuse_empty_braces() {
    static_assert(!sizeof(Device),
                  "allot: this arena's device needs arguments: arena{device}, such as "
                  "arena{host::virtual_memory{64_GiB}}");
}

/// Compiles only if an arena can acquire its region, or regions, without a size.
template <class Device, class Growth>
consteval bool window_requirements() {
    static_assert(Growth::regions > 1 || Growth::in_place || bounded_device<Device>,
                  "allot: this device has no fixed capacity: make the arena with a device and a size in bytes");
    return true;
}

/// Returns true if these policies make an arena. Otherwise does not compile: one assertion describes the necessary
/// change.
template <class Device, class Strategy, class Growth>
consteval bool arena_requirements() {
    if constexpr (!growth_policy<Growth>) {
        static_assert(!sizeof(Growth),
                      "allot: the third parameter of an arena is a growth: growth::none<>, growth::fixed<> "
                      "or growth::geometric<>");
    } else if constexpr (device_requirements<Device>() && strategy_requirements<Strategy>()) {
        constexpr bool grows = Growth::regions > 1;
        static_assert(Device::offsets != offset_use::none,
                      "allot: consumers of this memory take no offset, so that an arena cannot divide it: use "
                      "naive<Device>, which acquires one region for every block");
        static_assert(!Strategy::in_band || Device::host_accessible,
                      "allot: records in band need memory that the host can access: use node_store::side_table or "
                      "node_store::automatic with this device");
        static_assert(!Strategy::in_band || std::same_as<typename Device::address_model, raw_pointer>,
                      "allot: records in band need memory with pointers: use node_store::side_table or "
                      "node_store::automatic with this device");
        static_assert(
            !grows || Strategy::several_extents || Strategy::reclaims == reclaim::never,
            "allot: this strategy manages one extent: use growth::none<>, or best_fit, which manages several");
        static_assert(!grows || !bounded_device<Device>,
                      "allot: this device has one window, which an arena acquires as a whole: use growth::none<>");
        static_assert(!Growth::in_place || extensible_device<Device>,
                      "allot: growth::contiguous needs a device whose regions grow in place, such as "
                      "host::virtual_memory");
        static_assert(
            !Growth::in_place || extendable<Strategy>,
            "allot: growth::contiguous moves the end of a strategy's extent: use best_fit<>, or an upward bump: "
            "bump<bump_options{.direction = direction::up}>");
        static_assert(!Device::address_model::absolute || sizeof(typename Strategy::offset_type) >= sizeof(std::size_t),
                      "allot: offsets in this memory are addresses: use an offset type as wide as std::size_t");
    }
    return true;
}

/// Returns the properties that a strategy may rely on, if regions are requested with an alignment of `align`. The
/// result has default values if the policies do not make an arena.
template <class Device, class Growth>
consteval memory_traits region_traits(std::size_t align) {
    memory_traits memory;
    if constexpr (!device<Device> || !growth_policy<Growth>) {
        return memory;
    } else if constexpr (linear_address_model<typename Device::address_model> && is_alignment(Device::min_align)) {
        using model = typename Device::address_model;
        memory.host_pointers = Device::host_accessible && std::same_as<model, raw_pointer>;
        memory.grows = Growth::regions > 1;
        memory.extends = Growth::in_place;
        // Where offsets are not addresses, they count from the base and the first offset is 0.
        memory.base_align = !model::absolute            ? ~(~std::size_t{0} >> 1)
                            : Device::min_align < align ? align
                                                        : Device::min_align;
        memory.end_align = Device::granularity < memory.base_align ? Device::granularity : memory.base_align;
        memory.largest = Growth::limit;
        if constexpr (requires { typename std::bool_constant<(Device::capacity() > 0)>; }) {
            if (Device::capacity() < memory.largest) memory.largest = Device::capacity();
        }
    }
    return memory;
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
