// SPDX-License-Identifier: BSL-1.0
// handle_offset: memory that has no address, only a handle to a buffer and a byte offset beside it (OpenCL, Vulkan,
// Metal, files). Arithmetic on the handle does not compile, because there is none.
//
//     handle ──► ┌──────────────┬───────────┬─────┐
//                │◄── offset ──►│   block   │     │
//                └──────────────┴───────────┴─────┘
#pragma once

#include <allot/core/address_model.hpp>

namespace allot {
inline namespace v1 {

template <class Handle>
struct handle_offset {
    /// A byte inside the buffer that `handle` names; `offset` in bytes.
    struct address {
        Handle handle{};
        std::size_t offset = 0;
        friend constexpr bool operator==(const address&, const address&) = default;
    };
    using base = address;
    static constexpr bool absolute = false;

    [[nodiscard]] static constexpr address locate(address from, std::size_t n) noexcept {
        return {from.handle, from.offset + n};
    }
    [[nodiscard]] static constexpr std::size_t position(address at) noexcept { return at.offset; }
};

static_assert(linear_address_model<handle_offset<int>>);

}  // namespace v1
}  // namespace allot
