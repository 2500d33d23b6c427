// SPDX-License-Identifier: BSL-1.0
// arena_requirements: which devices, strategies and growths make an arena, and the sentence for those that do not.
//
//     static_assert(allot::arena_requirements<Device, Strategy, Growth>());      // as every arena does
//
// `region_traits` says what a strategy may rely on there. Everything here happens in the compiler.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/arena/growth.hpp>
#include <allot/core/device.hpp>
#include <allot/core/strategy.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// True unless device and strategy change places.
template <class Device, class Strategy>
consteval bool arena_order() {
    static_assert(!requires { Strategy::granularity; } && !requires { Device::several_extents; },
                  "allot: an arena takes the device first and the strategy second: arena<Device, Strategy>");
    return true;
}

/// True when these policies make an arena. Otherwise it does not compile, and one sentence says what to change.
template <class Device, class Strategy, class Growth>
consteval bool arena_requirements() {
    if constexpr (!growth_policy<Growth>) {
        static_assert(!sizeof(Growth), "allot: the third parameter of an arena is a growth: growth::none, growth::fixed<> "
                                       "or growth::geometric<>");
    } else if constexpr (device_requirements<Device>() && strategy_requirements<Strategy>()) {
        constexpr bool grows = Growth::regions > 1;
        static_assert(Device::offsets != offset_use::none,
                      "allot: consumers of this memory take no offset, so that an arena cannot cut it: acquire one "
                      "region for each block from the device");
        static_assert(!Strategy::in_band || Device::host_accessible,
                      "allot: records in band need memory that the host can touch: use node_store::side_table, or "
                      "automatic, on this device");
        static_assert(!Strategy::in_band || std::same_as<typename Device::address_model, raw_pointer>,
                      "allot: records in band need memory with pointers: use node_store::side_table, or automatic, on "
                      "this device");
        static_assert(!grows || Strategy::several_extents || Strategy::reclaims == reclaim::never,
                      "allot: this strategy manages one extent: use growth::none, or best_fit, which manages several");
        static_assert(!grows || !bounded_device<Device>,
                      "allot: this device has one window, which an arena takes whole: use growth::none");
        static_assert(!Growth::in_place || extensible_device<Device>,
                      "allot: growth::contiguous needs a device whose regions grow in place, such as "
                      "host::virtual_memory");
        static_assert(!Growth::in_place || extendable<Strategy>,
                      "allot: growth::contiguous moves the end of a strategy's extent: use best_fit, or an upward bump");
        static_assert(!Device::address_model::absolute ||
                          sizeof(typename Strategy::offset_type) >= sizeof(std::size_t),
                      "allot: offsets in this memory are addresses: use an offset type as wide as std::size_t");
    }
    return true;
}

/// What a strategy may rely on in regions that are asked to be aligned to `align`. Nothing, for policies that do not make an
/// arena.
template <class Device, class Growth>
consteval memory_traits region_traits(std::size_t align) {
    memory_traits memory;
    if constexpr (!device<Device> || !growth_policy<Growth>) {
        return memory;
    } else if constexpr (linear_address_model<typename Device::address_model>) {
        using model = typename Device::address_model;
        memory.host_pointers = Device::host_accessible && std::same_as<model, raw_pointer>;
        memory.grows = Growth::regions > 1;
        memory.extends = Growth::in_place;
        // Offsets that are no addresses count from the base: the first is 0.
        memory.base_align = !model::absolute           ? ~(~std::size_t{0} >> 1)
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
