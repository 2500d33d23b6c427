// SPDX-License-Identifier: BSL-1.0
// mark: the result of `arena::mark`, for `arena::rollback`.
//
// Internal: users keep a mark in a variable of type `auto`.
#pragma once

#include <allot/core/detail/compiler.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v1 {
namespace detail {

/// Mark of the records of a hardened arena.
struct records_mark {
    std::uint64_t count = 0;   // `count()` of the records
    std::size_t live = 0;      // number of live blocks
    std::uint64_t resets = 0;  // number of resets
    std::uint64_t freed = 0;   // number of freed blocks, where a mark stays valid when an older block is freed
};
/// Mark of the records of an arena without hardening.
struct no_records_mark {};

/// Mark of an arena. `Mark` is the mark of its strategy, and `Records` the one of its records.
template <class Mark, class Records>
struct arena_mark {
    Mark of_strategy;
    std::size_t region = 0;  // the current region: an index, or a position where it grows in place
    ALLOT_NO_UNIQUE_ADDRESS Records of_records{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
