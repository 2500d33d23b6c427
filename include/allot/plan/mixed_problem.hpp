// SPDX-License-Identifier: BSL-1.0
// mixed_problem: the input and the result of planning pages beside contiguous buffers in one memory.
//
//     static constexpr allot::plan_buffer buffers[] = {{.size = 10'000, .live = {0, 4}},        // weights
//                                                      {.size = 9'000, .live = {1, 3}}};        // a cache with a table
//     static constexpr std::size_t caches[] = {1};
//     const allot::mixed_problem problem{.buffers = {.buffers = buffers}, .page_size = 4096, .paged = caches};
//
//     page 3 │ │ b │  │       Page p has the bytes p × page_size … (p + 1) × page_size − 1 of the memory. A buffer in
//          2 │ └───┘  │       pages has as many whole pages as its size needs, in any positions. The pages are its own
//          1 │────────│       while it lives. A contiguous buffer has consecutive bytes from any aligned offset on.
//          0 │   a    │
//            └────────┴► time     a: bytes 0 to 9,999. b: 3 pages, for example 3, 4 and 5.
//
// Constraints of the problem apply to pages as follows:
//
//     revivals    the buffer has the same pages in all its lifetimes; others may use them in between
//     fixed       the first page begins at the offset, a multiple of the page size, and the others follow
//     together    both buffers have the same pages, as far as the shorter one reaches. With a contiguous or fixed
//                 buffer, directly or through other pairs: the pages follow one another, from the same offset
//     apart       the buffers share no page and no byte
//     reserved    a page with a reserved byte is never used
//
// A problem consists of views: the caller owns all arrays.
//
// When to use: as the input of `plan_mixed` and `validate_mixed`.
// When not to use: no buffer lies in pages (`plan_problem`), or all do and there are no constraints (`plan_pages`).
//
// Complexity: plain data. The check of a problem is O(n log n).
// Memory: views in a problem. `mixed_plan` stores its places and pages on the heap.
// Thread safety: any number of concurrent readers.
#pragma once

#include <allot/plan/check.hpp>
#include <allot/plan/planned.hpp>
#include <allot/plan/summary.hpp>

#include <vector>

namespace allot {
inline namespace v1 {

/// A planning problem with contiguous buffers and buffers in pages.
struct mixed_problem {
    plan_problem buffers{};       ///< All buffers, and their constraints.
    std::uint64_t page_size = 0;  ///< Size of a page in bytes: a multiple of the alignment of each paged buffer.
    std::span<const std::size_t> paged{};  ///< Indices of the buffers that lie in pages, in any order.
};

/// A plan with pages, on the heap. `arena<Device, planned<>>` accepts it. There, a buffer in pages has an empty block.
struct mixed_plan : plan_summary {
    std::uint64_t page_size = 0;       ///< Size of a page in bytes.
    std::vector<plan_place> places;    ///< Place of each contiguous buffer; `no_place` for a buffer in pages.
    std::vector<std::uint32_t> pages;  ///< Page numbers of all buffers in pages, by buffer.
    std::vector<std::uint32_t> first;  ///< Index in `pages` of the first page of each buffer, and the number of pages.

    /// Returns the pages of a buffer in the order of its bytes. A contiguous buffer has none.
    [[nodiscard]] std::span<const std::uint32_t> pages_of(std::size_t buffer) const noexcept {
        return {pages.data() + first[buffer], first[buffer + 1] - first[buffer]};
    }
    /// Returns the place of a page in the memory.
    [[nodiscard]] plan_place place_of_page(std::uint32_t page) const noexcept { return {page * page_size, page_size}; }
};

namespace detail {

/// Returns the number of pages of a buffer in pages.
[[nodiscard]] constexpr std::uint64_t pages_for(std::uint64_t size, std::uint64_t page_size) noexcept {
    return size / page_size + (size % page_size == 0 ? 0 : 1);
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
