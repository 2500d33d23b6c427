// SPDX-License-Identifier: BSL-1.0
// separate: a device whose consumers take no offset, so that every tensor has a region of its own.
//
//     using buffers = allot::naive<allot::separate<allot::opencl::buffer>>;
//     buffers memory{allot::separate{allot::opencl::buffer{context, device}}};
//     auto data = *allot::alloc_storage(memory, 8192, 64);         // a budget of 8192 bytes, without a buffer
//     auto a = *allot::alloc_tensor(data, 0, {4, 64}, allot::int32);        // a cl_mem of its own, offset 0
//
//     Device             │ a │ b │ c │      one region; kernels take a handle and an offset
//     separate<Device>   │ a │  │ b │  │ c │      three regions; kernels take a handle
//
// The type is `Device` with the trait `offsets = offset_use::none`. It keeps all members of the device, for example
// `access`, `bind_buffer` and `budget`. A storage over it acquires no memory and counts the bytes of its tensors. Views
// that begin after the first byte, and slices of rows, are refused (`no_offsets`). An arena rejects the device, because
// an arena divides regions: use `naive`, or `naive` over `cached` to keep released regions.
//
// When to use: for kernels, operators and drivers that accept a whole buffer only.
// When not to use: if consumers take an offset, or a pointer. One region for many tensors costs fewer driver calls.
// Complexity: one `acquire` and one `release` of the device for each tensor, or each row of a discontiguous one.
// Memory: no overhead.
// Thread safety: that of the device.
#pragma once

#include <allot/core/device.hpp>

#include <type_traits>
#include <utility>

namespace allot {
inline namespace v1 {

/// `Device`, whose consumers take no offset.
template <class Device>
class separate : public Device {
    static_assert(device_requirements<Device>());
    static_assert(
        !bounded_device<Device>,
        "allot: separate needs a device that returns many regions: a window has one region, so that one tensor "
        "would take all of it");
    static_assert(Device::offsets != offset_use::none,
                  "allot: consumers of this device take no offset already: use it "
                  "without separate");

public:
    static constexpr offset_use offsets = offset_use::none;  ///< Consumers take a base only.

    /// Constructs the device from its own arguments.
    using Device::Device;
    /// Constructs a default device.
    separate() noexcept(std::is_nothrow_default_constructible_v<Device>)
        requires std::default_initializable<Device>
    = default;
    /// Moves a device in.
    explicit separate(Device device) noexcept : Device{std::move(device)} {}
};

/// Deduces the type of the device.
template <class Device>
separate(Device) -> separate<Device>;

}  // namespace v1
}  // namespace allot
