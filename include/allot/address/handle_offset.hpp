// SPDX-License-Identifier: BSL-1.0
// handle_offset: the address model of memory that a driver names by a handle of a buffer and a byte offset.
//
//     handle ──► ┌──────────────┬───────────┬─────┐
//                │◄── offset ──►│   block   │     │
//                └──────────────┴───────────┴─────┘
//
// OpenCL, Vulkan, Metal and files name bytes in this way. Arithmetic on an address does not compile, so an offset
// cannot be added to a handle by mistake.
//
// When to use: as the address model of a device whose buffers are handles.
// When not to use: for memory with pointers. Use `raw_pointer`.
//
// Complexity: O(1).
// Memory: a handle and an offset for each address.
// Thread safety: pure functions.
#pragma once

#include <allot/core/address_model.hpp>

namespace allot {
inline namespace v1 {

/// Names bytes by a handle and an offset.
template <class Handle>
struct handle_offset {
    /// A byte in a buffer.
    struct address {
        Handle handle{};         ///< The buffer.
        std::size_t offset = 0;  ///< The offset from the start of the buffer, in bytes.
        /// Compares both members.
        friend constexpr bool operator==(const address&, const address&) = default;
    };
    using base = address;                    ///< The name of the first byte.
    static constexpr bool absolute = false;  ///< Offsets do not show the alignment of the buffer.

    /// Returns the byte `n` after `from`, in the same buffer.
    [[nodiscard]] static constexpr address locate(address from, std::size_t n) noexcept {
        return {from.handle, from.offset + n};
    }
    /// Returns the offset in the buffer.
    [[nodiscard]] static constexpr std::size_t position(address at) noexcept { return at.offset; }
};

static_assert(linear_address_model<handle_offset<int>>);

}  // namespace v1
}  // namespace allot
