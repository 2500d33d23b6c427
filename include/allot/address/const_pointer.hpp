// SPDX-License-Identifier: BSL-1.0
// const_pointer: host memory that may be read and not written (files of constants, read-only mappings). The compiler
// keeps everybody off: a block's address is a `const void*`, and no strategy puts records there.
#pragma once

#include <allot/core/address_model.hpp>

namespace allot {
inline namespace v1 {

struct const_pointer {
    using address = const void*;
    using base = address;
    static constexpr bool absolute = true;

    /// The byte `n` after `from`. Precondition: inside the same region, or one past its end.
    [[nodiscard]] static const void* locate(const void* from, std::size_t n) noexcept {
        return static_cast<const std::byte*>(from) + n;
    }
    /// The address as a number: its divisibility is the byte's alignment.
    [[nodiscard]] static std::size_t position(const void* address) noexcept {
        return reinterpret_cast<std::uintptr_t>(address);
    }
};

static_assert(linear_address_model<const_pointer>);

}  // namespace v1
}  // namespace allot
