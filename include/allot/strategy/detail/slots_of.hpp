// SPDX-License-Identifier: BSL-1.0
// slots_of: where the slots of a pool and the pages of a page_tree are, for strategies that keep a record of each.
//
// Internal. Compile time only.
#pragma once

#include <allot/strategy/page_tree.hpp>
#include <allot/strategy/pool.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The slots of a strategy: blocks of 2^order of them, at offsets from an origin.
template <class Strategy>
struct slots_of;
template <pool_options Options, class Offset>
struct slots_of<pool<Options, Offset>> {
    static constexpr auto align = static_cast<Offset>(Options.align);
    static constexpr auto size = align_up(static_cast<Offset>(Options.slot), align);
    static constexpr std::size_t count = Options.count;
    static constexpr unsigned largest_order = 0;
    static constexpr Offset largest_align = align;
    [[nodiscard]] static constexpr Offset origin_of(Offset start) noexcept { return align_up(start, align); }
};
template <page_tree_options Options, class Offset, class Processor>
struct slots_of<page_tree<Options, Offset, Processor>> {
    static constexpr auto size = static_cast<Offset>(Options.page);
    static constexpr std::size_t count = Options.count;
    static constexpr unsigned largest_order = Options.largest_order;
    static constexpr auto largest_align = static_cast<Offset>(size << largest_order);
    [[nodiscard]] static constexpr Offset origin_of(Offset start) noexcept {
        return align_down(align_up(start, size), largest_align);
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
