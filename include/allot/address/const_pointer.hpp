// SPDX-License-Identifier: BSL-1.0
// const_pointer: the address model of host memory that is read-only, such as files of constants and read-only mappings.
//
//     const void* second = allot::const_pointer::locate("ab", 1);
//
// The address of a block is a `const void*`, so code that writes does not compile. No strategy keeps records in such
// memory.
//
// When to use: as the address model of a device for read-only memory.
// When not to use: for memory that the host or a device writes. Use `raw_pointer`.
//
// Complexity: O(1).
// Memory: one pointer for each address.
// Thread safety: pure functions.
#pragma once

#include <allot/core/address_model.hpp>

namespace allot {
inline namespace v1 {

/// Names bytes by pointers to constant memory.
struct const_pointer {
    using address = const void*;            ///< The name of a byte.
    using base = address;                   ///< The name of the first byte.
    static constexpr bool absolute = true;  ///< Positions are addresses, so they show the alignment.

    /// Returns the byte `n` after `from`. Precondition: it is in the same region, or one past the end of that region.
    [[nodiscard]] static const void* locate(const void* from, std::size_t n) noexcept {
        return static_cast<const std::byte*>(from) + n;
    }
    /// Returns the address as an integer. If it is a multiple of `n`, the byte is aligned to `n`.
    [[nodiscard]] static std::size_t position(const void* address) noexcept {
        return reinterpret_cast<std::uintptr_t>(address);
    }
};

static_assert(linear_address_model<const_pointer>);

}  // namespace v1
}  // namespace allot
