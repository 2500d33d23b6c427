// SPDX-License-Identifier: BSL-1.0
// allocate_or_trim: allocates a block, and tries a second time if the allocator can release memory.
#pragma once

#include <allot/core/allocator.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Returns a block, or an empty one if the allocator fails and a trim releases nothing or does not help.
template <allocator Allocator>
[[nodiscard]] block_of<Allocator> allocate_or_trim(Allocator& from, layout wanted) noexcept {
    block_of<Allocator> fresh = from.allocate(wanted);
    if constexpr (trimmable_allocator<Allocator>) {
        if (!fresh && from.trim() != 0) fresh = from.allocate(wanted);
    }
    return fresh;
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
