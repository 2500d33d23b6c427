// SPDX-License-Identifier: BSL-1.0
// adjacent_blocks: the size of equal blocks without records that follow each other.
//
// Internal. The function does arithmetic only and is O(1).
#pragma once

#include <allot/core/layout.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Returns the size of an extent that `count` blocks of `each` fill from its start to its end; 0 if it exceeds the
/// offset type, or if there is no block. Precondition: the extent's offset is a multiple of `each.align`.
template <std::unsigned_integral Offset>
[[nodiscard]] constexpr Offset bytes_of_adjacent(Offset count, basic_layout<Offset> each) noexcept {
    if (!each.is_valid() || count == 0) return 0;
    Offset stride = 0, total = 0;
    // The last block needs no stride. One block can be larger than every stride.
    if (count > 1 && (!checked_align_up<Offset>(each.size, each.align, stride) ||
                      !checked_multiply<Offset>(stride, static_cast<Offset>(count - 1), total)))
        return 0;
    return checked_add<Offset>(total, each.size, total) ? total : 0;
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
