// SPDX-License-Identifier: BSL-1.0
// is_aligned_in_place: whether a block satisfies an alignment that was not part of its request.
//
// Internal. Complexity: O(1), and that of `diagnose` if positions are not addresses. Memory: none. Thread safety: that
// of the allocator.
#pragma once

#include <allot/core/address_model.hpp>
#include <allot/core/allocator.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Whether a live block satisfies an alignment where it is.
template <class Allocator>
[[nodiscard]] bool is_aligned_in_place(Allocator& allocator, const block_of<Allocator>& held,
                                       std::size_t align) noexcept {
    using model = typename Allocator::address_model;
    if constexpr (!linear_address_model<model>) {
        return false;  // the position of the bytes is unknown
    } else {
        if (model::position(held.address) % align != 0) return false;
        // A position that is not an address does not include the base, whose alignment only the allocator can check.
        return model::absolute || allocator.diagnose({1, align}).reason != refusal::misaligned;
    }
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
