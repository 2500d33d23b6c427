// SPDX-License-Identifier: BSL-1.0
// The device concept: where regions come from, and what they are.
//
// A device is a small object that acquires and releases regions, rarely; an arena cuts them. Every trait is stated by
// every device, never defaulted: a trait that is forgotten does not compile, and `device_requirements` says which.
//
//     struct my_memory {
//         using address_model = allot::raw_pointer;
//         using error = int;                                            // the device's own error code
//         static constexpr bool host_accessible = true;                 // may the host read and write the bytes?
//         static constexpr auto offsets = allot::offset_use::arithmetic;
//         static constexpr std::size_t min_align = 64;                  // every region's base has it
//         static constexpr std::size_t granularity = 4096;              // regions are whole multiples of it
//         static constexpr auto dl_device = allot::dl_device_type::cpu;  // what DLPack calls it
//         allot::acquired<my_memory> acquire(allot::layout) noexcept;   // a region, or the device's own error
//         void release(allot::region<void*>) noexcept;                  // a region as it was acquired
//     };
//
// Contract of `acquire`: the region is at least as large and its base at least as aligned as asked, or there is none.
// The region's `align` says how aligned it is: an arena relies on that where it uses the region again.
#pragma once

#include <allot/core/address_model.hpp>
#include <allot/core/result.hpp>

namespace allot {
inline namespace v1 {

/// What a consumer of this memory may be given beside a base.
enum class offset_use : unsigned char {
    arithmetic,  // an address is an address: the offset is added to it
    carried,     // the handle stays as it is and the byte offset travels beside it
    none,        // consumers take a base and nothing else: one region per tensor
};

/// What DLPack calls a kind of memory, in DLPack's numbers: a tensor in it is exported as that.
enum class dl_device_type : std::int32_t {
    cpu = 1,
    cuda = 2,
    cuda_host = 3,  // pinned
    opencl = 4,
    vulkan = 7,
    metal = 8,
    rocm = 10,
    rocm_host = 11,  // pinned
    ext_dev = 12,    // whatever has no number of its own
    cuda_managed = 13,
    one_api = 14,
    web_gpu = 15,
    hexagon = 16,
};

/// The region type of a device.
template <class Device>
using region_of = region<typename Device::address_model::address>;

/// What `acquire` returns: a region or the device's own error.
template <class Device>
using acquired = result<region_of<Device>, typename Device::error>;

/// The error type of a device that cannot refuse.
struct no_error {
    [[nodiscard]] constexpr explicit operator long() const noexcept { return 0; }
};

template <class Device>
concept device = address_model<typename Device::address_model> && requires(Device device, layout wanted,
                                                                          region_of<Device> held) {
    static_cast<long>(typename Device::error{});
    requires std::same_as<decltype(Device::host_accessible), const bool>;
    requires std::same_as<decltype(Device::offsets), const offset_use>;
    requires std::same_as<decltype(Device::min_align), const std::size_t>;
    requires std::same_as<decltype(Device::granularity), const std::size_t>;
    requires std::same_as<decltype(Device::dl_device), const dl_device_type>;
    { device.acquire(wanted) } noexcept -> std::same_as<acquired<Device>>;
    { device.release(held) } noexcept;
};

/// Refinement: a device with one window of memory that is there from the start. However little is asked for, `acquire`
/// gives all of it, from its first byte that is aligned as asked.
template <class Device>
concept bounded_device = device<Device> && requires(const Device device) {
    { device.capacity() } noexcept -> std::same_as<std::size_t>;
};

/// Refinement: a region changes its size where it stands, at its end. What stays keeps its address and its bytes.
/// `resize` gives the region with its new size, a multiple of the granularity and not 0, or the device's own error.
template <class Device>
concept extensible_device = device<Device> && requires(Device device, region_of<Device> held, std::size_t size) {
    { device.resize(held, size) } noexcept -> std::same_as<acquired<Device>>;
};

/// Refinement: what `acquire` and `release` change is in the device object alone, so that a region that is held when the
/// object ends need not be released. An arena over it has no destructor: as a global, nothing is registered with atexit.
template <class Device>
concept self_contained_device = device<Device> && requires { requires Device::self_contained; };

/// Refinement: the one window lies inside the object, or in one that its type names, from `base()` on. It is `capacity()`
/// bytes, aligned to `min_align`, and whoever has the device has it alone.
template <class Device>
concept embedded_device =
    self_contained_device<Device> && bounded_device<Device> && requires(const Device device) {
        { device.base() } noexcept -> std::same_as<typename Device::address_model::base>;
        typename std::bool_constant<(Device::capacity() > 0)>;
    };

/// The traits of another device, for one that passes memory on: `struct counting : allot::traits_of<Device>`.
template <class Device>
struct traits_of {
    using address_model = typename Device::address_model;
    static constexpr bool host_accessible = Device::host_accessible;
    static constexpr offset_use offsets = Device::offsets;
    static constexpr std::size_t min_align = Device::min_align;
    static constexpr std::size_t granularity = Device::granularity;
    static constexpr dl_device_type dl_device = Device::dl_device;
};

/// Names the first requirement that a would-be device misses. True for a device; otherwise it does not compile.
template <class Device>
consteval bool device_requirements() {
    if constexpr (!requires { requires linear_address_model<typename Device::address_model>; }) {
        static_assert(!sizeof(Device), "allot: a device states its address_model, a linear one: "
                                       "using address_model = allot::raw_pointer or allot::handle_offset<Handle>");
    } else if constexpr (!requires { static_cast<long>(typename Device::error{}); }) {
        static_assert(!sizeof(Device), "allot: a device states the type of its own error code, convertible to long: "
                                       "using error = int");
    } else if constexpr (!requires { requires std::same_as<decltype(Device::host_accessible), const bool>; }) {
        static_assert(!sizeof(Device), "allot: a device states whether the host may touch its bytes: "
                                       "static constexpr bool host_accessible");
    } else if constexpr (!requires { requires std::same_as<decltype(Device::offsets), const offset_use>; }) {
        static_assert(!sizeof(Device), "allot: a device states what consumers may be given beside a base: "
                                       "static constexpr allot::offset_use offsets");
    } else if constexpr (!requires { requires std::same_as<decltype(Device::min_align), const std::size_t>; }) {
        static_assert(!sizeof(Device), "allot: a device states the alignment that every region has: "
                                       "static constexpr std::size_t min_align");
    } else if constexpr (!requires { requires is_alignment(Device::min_align); }) {
        static_assert(!sizeof(Device), "allot: a device's min_align is a power of two");
    } else if constexpr (!requires { requires std::same_as<decltype(Device::granularity), const std::size_t>; }) {
        static_assert(!sizeof(Device), "allot: a device states what its region sizes are multiples of: "
                                       "static constexpr std::size_t granularity");
    } else if constexpr (!requires { requires is_alignment(Device::granularity); }) {
        static_assert(!sizeof(Device), "allot: a device's granularity is a power of two");
    } else if constexpr (!requires { requires std::same_as<decltype(Device::dl_device), const dl_device_type>; }) {
        static_assert(!sizeof(Device), "allot: a device states what DLPack calls it: static constexpr auto dl_device = "
                                       "allot::dl_device_type::cpu, or ext_dev for what has no number of its own");
    } else if constexpr (!requires(Device device, layout wanted) {
                             { device.acquire(wanted) } noexcept -> std::same_as<acquired<Device>>;
                         }) {
        static_assert(!sizeof(Device), "allot: a device gives regions: allot::acquired<Device> acquire(allot::layout) "
                                       "noexcept");
    } else if constexpr (!requires(Device device, region_of<Device> held) {
                             { device.release(held) } noexcept;
                         }) {
        static_assert(!sizeof(Device), "allot: a device takes regions back: void release(allot::region<address>) "
                                       "noexcept");
    }
    return true;
}

}  // namespace v1
}  // namespace allot
