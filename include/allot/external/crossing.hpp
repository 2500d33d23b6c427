// SPDX-License-Identifier: BSL-1.0
// crossing: the concepts of devices whose memory crosses drivers, and the way from one to another.
//
//     template <allot::external::exportable From> …                  // dma::heap, vulkan::exported_memory, …
//     template <allot::external::importable To> …     // dma::imported_memory, opencl::imported_memory, …
//
//     auto shared = allot::external::share<to>(memory.device(), memory.regions()[0]);   // fails to compile if `to` has
//     to other{…, std::move(*shared)};                                                 // no kind of handle in common
//     auto there = allot::external::counterpart<from, to>(block.address, here, there_region);
//
//     exporter's region  │ base …… block │           the offset of a byte from the base is the same on both sides
//     importer's region  │ base …… block │
//
// An exportable device states the trait `exports` and has `export_memory`. An importable device states `imports`, is
// constructed from an `external::memory`, and its only region is all of that memory. Both may be used with every
// strategy. The bytes live until the last of the two sides releases them, in any order. No side orders its work against
// the other: the page docs/crossing-drivers.md lists what each driver demands.
//
// When to use: to write code for any two drivers.
// When not to use: for one given pair. Call `export_memory` of one device and construct the other.
// Complexity: that of the drivers' calls.
// Memory: none.
// Thread safety: that of the devices.
#pragma once

#include <allot/core/device.hpp>
#include <allot/external/memory.hpp>

namespace allot {
inline namespace v1 {
namespace external {

/// A device whose regions other drivers can import. `export_memory` returns a new handle with each call.
template <class Device>
concept exportable = device<Device> && requires(const Device device, region_of<Device> held) {
    requires std::same_as<decltype(Device::exports), const handle_kinds>;
    { device.export_memory(held) } noexcept -> std::same_as<result<memory, typename Device::error>>;
};

/// A device whose only region is memory of another driver. `source` is that memory, which the device keeps.
template <class Device>
concept importable = bounded_device<Device> && requires(const Device device) {
    requires std::same_as<decltype(Device::imports), const handle_kinds>;
    { device.source() } noexcept -> std::same_as<const memory&>;
};

/// Exports a region for a device of type `To`. Does not compile if the two have no kind of handle in common. Fails with
/// the exporter's error.
template <importable To, exportable From>
[[nodiscard]] result<memory, typename From::error> share(const From& device, region_of<From> held) noexcept {
    constexpr handle_kinds out = From::exports, in = To::imports;
    static_assert(
        (out.dma_buf && in.dma_buf) || (out.opaque_fd && in.opaque_fd),
        "allot: these devices have no kind of handle in common: export DMA buffers, which most drivers import, "
        "or copy");
    return device.export_memory(held);
}

/// Returns the address of a byte on the other side. `from` and `to` are the regions of the same memory on the two
/// sides.
template <device From, device To>
[[nodiscard]] auto counterpart(typename From::address_model::address at, const region_of<From>& from,
                               const region_of<To>& to) noexcept {
    using here = typename From::address_model;
    return To::address_model::locate(to.base, here::position(at) - here::position(from.base));
}

}  // namespace external
}  // namespace v1
}  // namespace allot
