// SPDX-License-Identifier: BSL-1.0
// reuse_eviction: LRU that spares pages that several sequences used, and that evicts unused ends of prompts first.
//
//     allot::page_cache<allot::page_pool<4096>, allot::reuse_eviction> cache{limits, records};
//
//     ends of prompts, never found   │ oldest … newest │   age × 4
//     found at most once             │ oldest … newest │   age
//     found twice                    │ oldest … newest │   age ÷ 2
//     found three times or more      │ oldest … newest │   age ÷ 4        the largest of the four is evicted
//
// A page that several sequences found is likely to be found again. The last page of a prompt is found only by a prompt
// that continues it. No page stays forever, because every age grows.
//
// When to use: for conversations and shared system prompts. On requests of a chat service it finds up to 1.1 times the
// pages that LRU finds (docs/page-cache.md). When not to use: for prompts that are never repeated; LRU has fewer lists.
//
// Complexity: O(1).
// Memory: 52 bytes.
// Thread safety: not synchronized.
#pragma once

#include <allot/page_cache/eviction.hpp>

namespace allot {
inline namespace v1 {

/// Evicts the page with the largest age, weighted by the number of sequences that found the page.
class reuse_eviction {
public:
    static constexpr std::size_t words_per_page = 0;  ///< No words.
    /// Does nothing.
    constexpr void open(std::span<std::uint32_t>) noexcept {}
    /// Adds a page.
    constexpr void insert(page_uses& uses, std::uint32_t page) noexcept {
        const unsigned hits = uses.hits(page);
        const unsigned list = hits == 0 && uses.is_leaf(page) ? 0 : hits < 2 ? 1 : hits == 2 ? 2 : 3;
        uses.set_mark(page, list);
        uses.push_back(lists_[list], page);
        now_ = uses.released_at(page);
    }
    /// Removes a page.
    constexpr void erase(page_uses& uses, std::uint32_t page) noexcept { uses.erase(lists_[uses.mark(page)], page); }
    /// Returns the accepted page with the largest weighted age, or `no_page`.
    template <class Accept>
    [[nodiscard]] constexpr std::uint32_t victim(page_uses& uses, Accept accept) const noexcept {
        constexpr std::uint64_t weights[] = {16, 4, 2, 1};
        std::uint32_t found = no_page;
        std::uint64_t most = 0;
        for (unsigned list = 0; list != std::size(lists_); ++list) {
            const std::uint32_t page = detail::first_accepted(uses, lists_[list], accept);
            if (page == no_page) continue;
            const std::uint64_t age = (std::uint64_t{now_ - uses.released_at(page)} + 1) * weights[list];
            if (age <= most) continue;
            found = page;
            most = age;
        }
        return found;
    }
    /// Removes a page.
    constexpr void evict(page_uses& uses, std::uint32_t page) noexcept { erase(uses, page); }
    /// Returns the number of pages.
    [[nodiscard]] constexpr std::uint32_t count() const noexcept {
        return lists_[0].count + lists_[1].count + lists_[2].count + lists_[3].count;
    }
    /// Calls `f(page)` with each page.
    template <class Function>
    constexpr void for_each(const page_uses& uses, Function f) const noexcept {
        for (const page_list& list : lists_) detail::for_each_page(uses, list, f);
    }

private:
    page_list lists_[4];
    std::uint32_t now_ = 0;
};

static_assert(page_eviction<reuse_eviction>);

}  // namespace v1
}  // namespace allot
