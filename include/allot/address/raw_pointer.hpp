// SPDX-License-Identifier: BSL-1.0
// raw_pointer: memory whose address is an address, whether or not the host may touch it (host, CUDA, mapped windows).
#pragma once

#include <allot/core/address_model.hpp>

namespace allot {
inline namespace v1 {

struct raw_pointer {
    using address = void*;
    using base = address;
    static constexpr bool absolute = true;

    /// The byte `n` after `from`. Precondition: inside the same region, or one past its end.
    [[nodiscard]] static void* locate(void* from, std::size_t n) noexcept { return static_cast<std::byte*>(from) + n; }
    /// The address as a number: its divisibility is the byte's alignment.
    [[nodiscard]] static std::size_t position(const void* address) noexcept {
        return reinterpret_cast<std::uintptr_t>(address);
    }
};

static_assert(linear_address_model<raw_pointer>);

}  // namespace v1
}  // namespace allot
