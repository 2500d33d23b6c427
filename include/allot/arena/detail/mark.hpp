// SPDX-License-Identifier: BSL-1.0
// mark: the result of `arena::mark`, for `arena::rollback`.
//
// Internal: users keep a mark in a variable of type `auto`.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v1 {
namespace detail {

/// Mark of an arena. `Mark` is the mark of its strategy.
template <class Mark>
struct arena_mark {
    Mark of_strategy;
    std::size_t region = 0;   // the current region: an index, or a position where it grows in place
    std::uint64_t count = 0;  // number of calls before the mark, in a hardened arena
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
