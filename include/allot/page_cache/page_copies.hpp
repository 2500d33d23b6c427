// SPDX-License-Identifier: BSL-1.0
// page_copies: how a `page_cache` asks for copies of pages, which it never reads or writes itself.
//
//     auto copy = [&](allot::page_place from, allot::page_place to) noexcept {
//         std::memcpy(memory[to.tier] + to.offset, memory[from.tier] + from.offset, to.bytes);
//         return true;
//     };
//     allot::page_cache<allot::page_pool<64>, allot::lru_eviction, decltype(copy)> cache{limits, records, copy};
//
// The cache calls the function when a sequence writes a page that others use too (after `fork`), when it evicts a page
// to a slower memory, and when such a page comes back. The function copies the bytes, or queues a copy that the device
// does before it writes the page. It returns false if it cannot copy. A write then fails and changes nothing, an
// evicted page is lost, and a page that does not come back is not found.
//
// `copied_pages` makes such a function of a copier for OpenCL, CUDA or other memory.
//
// When to use: with `fork` or slower tiers. When not to use: without them. `no_page_copies` is the default.
//
// Complexity: that of the function.
// Memory: that of the function.
// Thread safety: the cache calls the function from the thread that calls the cache.
#pragma once

#include <allot/page_cache/page_key.hpp>

#include <concepts>
#include <type_traits>

namespace allot {
inline namespace v1 {

/// The place of a page.
struct page_place {
    std::uint32_t tier = 0;    ///< The memory: 0 is the one of the tables, and 1 the first slower one.
    std::uint32_t group = 0;   ///< The group of the page.
    std::uint32_t page = 0;    ///< The index of the page, in pages of its group.
    std::uint64_t offset = 0;  ///< The offset of the page in the memory in bytes.
    std::uint64_t bytes = 0;   ///< The size of the page in bytes.
};

/// No copies: the cache has no `fork`.
struct no_page_copies {};

/// A function that copies a page.
template <class Copy>
concept page_copier =
    std::same_as<Copy, no_page_copies> || std::is_nothrow_invocable_r_v<bool, Copy&, page_place, page_place>;

}  // namespace v1
}  // namespace allot
