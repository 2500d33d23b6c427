// SPDX-License-Identifier: BSL-1.0
// device: the concept of a source of memory, which acquires and releases regions and states their properties.
//
// A device is a small object. It acquires and releases large regions, which is rare. An arena divides a region into
// blocks. Each device states every trait; no trait has a default. If a trait is missing, compilation fails and
// `device_requirements` names the trait.
//
//     struct my_memory {
//         using address_model = allot::raw_pointer;
//         using error = int;                                            // the type of error codes
//         static constexpr bool host_accessible = true;                 // can the host read and write the bytes?
//         static constexpr auto offsets = allot::offset_use::arithmetic;
//         static constexpr std::size_t min_align = 64;                  // alignment of every region
//         static constexpr std::size_t granularity = 4096;              // regions are multiples of it
//         static constexpr auto dl_device = allot::dl_device_type::cpu;  // device type in DLPack
//         allot::acquired<my_memory> acquire(allot::layout) noexcept;   // a region or an error
//         void release(allot::region<void*>) noexcept;                  // an acquired region, unchanged
//     };
//
// Contract of `acquire`: it returns a region of at least the requested size whose base has at least the requested
// alignment, or an error. `align` of the region states the actual alignment, and an arena that uses the region again
// relies on it. A debug build (without NDEBUG) ends with a message if a device breaks this contract.
//
// When to use: to write a device for memory that allot does not support, or to constrain templates.
// When not to use: to allocate. Combine a device with a strategy in an `arena`, or use `naive`.
//
// Complexity: that of the device; usually a call of an operating system or a driver.
// Memory: that of the device object.
// Thread safety: that of the device. Most devices require external synchronization.
#pragma once

#include <allot/core/address_model.hpp>
#include <allot/core/result.hpp>

namespace allot {
inline namespace v1 {

/// How a consumer of memory refers to a byte that is not at the base of a region.
enum class offset_use : unsigned char {
    arithmetic,  ///< Addresses are pointers; the offset is added to the address.
    carried,     ///< The consumer takes an unchanged handle and a byte offset.
    none,        ///< Consumers take only a base, so each tensor needs its own region.
};

/// The device type of memory in DLPack, with DLPack's numbers. Tensors are exported with this type.
enum class dl_device_type : std::int32_t {
    cpu = 1,            ///< Host memory.
    cuda = 2,           ///< CUDA device memory.
    cuda_host = 3,      ///< Host memory that is pinned by CUDA.
    opencl = 4,         ///< OpenCL memory.
    vulkan = 7,         ///< Vulkan memory.
    metal = 8,          ///< Metal memory.
    rocm = 10,          ///< ROCm (HIP) device memory.
    rocm_host = 11,     ///< Host memory that is pinned by ROCm.
    ext_dev = 12,       ///< Memory for which DLPack has no number.
    cuda_managed = 13,  ///< CUDA managed memory.
    one_api = 14,       ///< oneAPI memory.
    web_gpu = 15,       ///< WebGPU memory.
    hexagon = 16,       ///< Memory of a Hexagon DSP.
};

/// The region type of a device.
template <class Device>
using region_of = region<typename Device::address_model::address>;

/// The result of `acquire`: a region, or an error of the device.
template <class Device>
using acquired = result<region_of<Device>, typename Device::error>;

namespace detail {

[[noreturn]] ALLOT_COLD ALLOT_NOINLINE inline void broken_region() noexcept {
#if __STDC_HOSTED__ && !defined(NDEBUG)
    assert(false && "allot: acquire of the device returned a region that is smaller or less aligned than requested");
#endif
    stop_program();
}

/// Ends a debug build whose device breaks the contract of `acquire`.
template <class Device>
void check_region([[maybe_unused]] const region_of<Device>& held, [[maybe_unused]] layout wanted) noexcept {
    if constexpr (checks_results) {
        if (held.size < wanted.size || held.align < wanted.align ||
            Device::address_model::position(held.base) % wanted.align != 0)
            broken_region();
    }
}

}  // namespace detail

/// The error type of a device without error codes.
struct no_error {
    /// Returns 0.
    [[nodiscard]] constexpr explicit operator long() const noexcept { return 0; }
};

/// A source of regions that states all traits of a device.
template <class Device>
concept device =
    address_model<typename Device::address_model> && requires(Device device, layout wanted, region_of<Device> held) {
        static_cast<long>(typename Device::error{});
        requires std::same_as<decltype(Device::host_accessible), const bool>;
        requires std::same_as<decltype(Device::offsets), const offset_use>;
        requires std::same_as<decltype(Device::min_align), const std::size_t>;
        requires std::same_as<decltype(Device::granularity), const std::size_t>;
        requires std::same_as<decltype(Device::dl_device), const dl_device_type>;
        { device.acquire(wanted) } noexcept -> std::same_as<acquired<Device>>;
        { device.release(held) } noexcept;
    };

/// A device with one fixed window of memory. For any requested size, `acquire` returns the whole window from its first
/// byte with the requested alignment. `capacity()` is the size of the window in bytes.
template <class Device>
concept bounded_device = device<Device> && requires(const Device device) {
    { device.capacity() } noexcept -> std::same_as<std::size_t>;
};

/// A device whose regions grow and shrink in place, at the end. The remaining bytes keep their addresses and contents.
/// `resize` returns the region with its new size, or an error. The size is a multiple of the granularity and not 0.
template <class Device>
concept extensible_device = device<Device> && requires(Device device, region_of<Device> held, std::size_t size) {
    { device.resize(held, size) } noexcept -> std::same_as<acquired<Device>>;
};

/// A device in which `acquire` and `release` change only the device object, so that a region need not be released
/// before the object is destroyed. The destructor of an arena over such a device releases no regions, so a global arena
/// need not register a function with atexit.
template <class Device>
concept self_contained_device = device<Device> && requires { requires Device::self_contained; };

/// A device whose window is inside the device object, or inside an object that the device's type names. The window
/// starts at `base()`, has `capacity()` bytes, is aligned to `min_align`, and is used by one device object only.
template <class Device>
concept embedded_device = self_contained_device<Device> && bounded_device<Device> && requires(const Device device) {
    { device.base() } noexcept -> std::same_as<typename Device::address_model::base>;
    typename std::bool_constant<(Device::capacity() > 0)>;
};

/// The memory of a device as its driver reports it. Other code and other programs change both values at any time.
struct memory_budget {
    std::uint64_t used = 0;  ///< Bytes in use: by this process if the driver distinguishes processes, otherwise by all.
    std::uint64_t limit = 0;  ///< Bytes that can be in use before allocations fail or become slow, as far as known.
    /// Returns the bytes that are left, or 0 if more is in use than the limit.
    [[nodiscard]] constexpr std::uint64_t available() const noexcept { return used < limit ? limit - used : 0; }
    /// Compares both values.
    friend constexpr bool operator==(const memory_budget&, const memory_budget&) = default;
};

/// A device whose driver reports how much memory is in use. `budget()` asks the driver.
template <class Device>
concept budgeted_device = device<Device> && requires(const Device device) {
    { device.budget() } noexcept -> std::same_as<result<memory_budget, typename Device::error>>;
};

/// A device of host memory that only instructions of this program write. The memory of any other device may receive
/// values from a processor, a driver or another process, so that memory checkers treat the bytes of a new block as
/// defined.
template <class Device>
concept host_written_device = device<Device> && requires { requires Device::host_written; };

/// The traits of another device, as a base class for devices that wrap it: `struct counting :
/// allot::traits_of<Device>`.
template <class Device>
struct traits_of {
    using address_model = typename Device::address_model;             ///< How bytes are named.
    static constexpr bool host_accessible = Device::host_accessible;  ///< Whether the host can access the bytes.
    static constexpr offset_use offsets = Device::offsets;            ///< How consumers use offsets.
    static constexpr std::size_t min_align = Device::min_align;       ///< The alignment of every region, in bytes.
    static constexpr std::size_t granularity = Device::granularity;   ///< The unit of region sizes, in bytes.
    static constexpr dl_device_type dl_device = Device::dl_device;    ///< The device type in DLPack.
};

/// Returns true for a device. For any other type it does not compile, and a `static_assert` names the first missing
/// requirement.
template <class Device>
consteval bool device_requirements() {
    if constexpr (requires { typename Device::block_type; } && !requires { typename Device::error; }) {
        static_assert(!sizeof(Device),
                      "allot: this is an allocator in the place of a device: write the device inside, such as "
                      "naive<cached<host::heap>> or arena<host::heap, best_fit<>>");
    } else if constexpr (!requires { requires linear_address_model<typename Device::address_model>; }) {
        static_assert(!sizeof(Device),
                      "allot: a device states its address_model, a linear one: "
                      "using address_model = allot::raw_pointer or allot::handle_offset<Handle>");
    } else if constexpr (!requires { static_cast<long>(typename Device::error{}); }) {
        static_assert(!sizeof(Device),
                      "allot: a device states the type of its error codes, convertible to long: "
                      "using error = int");
    } else if constexpr (!requires { requires std::same_as<decltype(Device::host_accessible), const bool>; }) {
        static_assert(!sizeof(Device),
                      "allot: a device states whether the host can access its bytes: "
                      "static constexpr bool host_accessible");
    } else if constexpr (!requires { requires std::same_as<decltype(Device::offsets), const offset_use>; }) {
        static_assert(!sizeof(Device),
                      "allot: a device states how consumers use offsets: "
                      "static constexpr allot::offset_use offsets");
    } else if constexpr (!requires { requires std::same_as<decltype(Device::min_align), const std::size_t>; }) {
        static_assert(!sizeof(Device),
                      "allot: a device states the alignment of every region: "
                      "static constexpr std::size_t min_align");
    } else if constexpr (!requires { requires is_alignment(Device::min_align); }) {
        static_assert(!sizeof(Device), "allot: a device's min_align is a power of two");
    } else if constexpr (!requires { requires std::same_as<decltype(Device::granularity), const std::size_t>; }) {
        static_assert(!sizeof(Device),
                      "allot: a device states the granularity of its region sizes: "
                      "static constexpr std::size_t granularity");
    } else if constexpr (!requires { requires is_alignment(Device::granularity); }) {
        static_assert(!sizeof(Device), "allot: a device's granularity is a power of two");
    } else if constexpr (!requires { requires std::same_as<decltype(Device::dl_device), const dl_device_type>; }) {
        static_assert(!sizeof(Device),
                      "allot: a device states its device type in DLPack: "
                      "static constexpr auto dl_device = allot::dl_device_type::cpu, "
                      "or ext_dev for memory without a number in DLPack");
    } else if constexpr (!requires(Device device, layout wanted) {
                             { device.acquire(wanted) } noexcept -> std::same_as<acquired<Device>>;
                         }) {
        static_assert(!sizeof(Device),
                      "allot: a device returns regions: "
                      "allot::acquired<Device> acquire(allot::layout) noexcept");
    } else if constexpr (!requires(Device device, region_of<Device> held) {
                             { device.release(held) } noexcept;
                         }) {
        static_assert(!sizeof(Device),
                      "allot: a device releases regions: void release(allot::region<address>) "
                      "noexcept");
    }
    return true;
}

}  // namespace v1
}  // namespace allot
