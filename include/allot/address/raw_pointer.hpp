// SPDX-License-Identifier: BSL-1.0
// raw_pointer: the address model of memory that is named by pointers, whether or not the host can dereference them.
//
//     int numbers[4]{};
//     void* third = allot::raw_pointer::locate(numbers, 2 * sizeof(int));
//
// When to use: as the address model of host memory, CUDA and HIP memory, and mapped windows.
// When not to use: for memory that a driver names by a handle. Use `handle_offset`.
//
// Complexity: O(1).
// Memory: one pointer for each address.
// Thread safety: pure functions.
#pragma once

#include <allot/core/device.hpp>

namespace allot {
inline namespace v1 {

/// Names bytes by pointers.
struct raw_pointer {
    using address = void*;                  ///< The name of a byte.
    using base = address;                   ///< The name of the first byte.
    static constexpr bool absolute = true;  ///< Positions are addresses, so they show the alignment.

    /// Returns the byte `n` after `from`. Precondition: it is in the same region, or one past the end of that region.
    [[nodiscard]] static void* locate(void* from, std::size_t n) noexcept { return static_cast<std::byte*>(from) + n; }
    /// Returns the address as an integer. If it is a multiple of `n`, the byte is aligned to `n`.
    [[nodiscard]] static std::size_t position(const void* address) noexcept {
        return reinterpret_cast<std::uintptr_t>(address);
    }
};

static_assert(linear_address_model<raw_pointer>);

/// The traits of memory that is addressed by pointers, as a base class of `Device`. The device adds `error`,
/// `min_align` and `granularity`. Each device has a separate base class, so that an empty device takes no space next to
/// another.
template <class Device, bool HostAccessible = true>
struct pointer_memory_traits {
    using address_model = raw_pointer;                             ///< Addresses are pointers.
    static constexpr bool host_accessible = HostAccessible;        ///< Whether the host may read and write the bytes.
    static constexpr offset_use offsets = offset_use::arithmetic;  ///< A byte offset is added to the address.
    /// The DLPack device type: `ext_dev` for memory that the host may not access directly.
    static constexpr dl_device_type dl_device = HostAccessible ? dl_device_type::cpu : dl_device_type::ext_dev;
};

}  // namespace v1
}  // namespace allot
