// SPDX-License-Identifier: BSL-1.0
// priority_eviction: evicts by the priority of the request and by age.
//
//     using policy = allot::priority_eviction<5000>;
//     allot::page_cache<allot::page_pool<4096>, policy> cache{limits, records};
//     auto begun = cache.start({.contents = prompt, .priority = 3});
//
//     priority 0    │ oldest … newest │    age
//     priority 1    │ oldest … newest │    age − Step
//     priority 15   │ oldest … newest │    age − 15 × Step        the largest is evicted
//
// A page of priority n is treated as if it was released n × `Step` pages later. With a `Step` of 0, only the age
// counts. With `strict_priority`, all pages of a lower priority are evicted before one of a higher priority.
//
// When to use: if some requests matter more, such as a shared system prompt, a paying user or an open conversation.
// When not to use: to keep pages at all costs. Pin them.
//
// Complexity: O(1): the first pages of 16 lists are compared.
// Memory: 196 bytes.
// Thread safety: not synchronized.
#pragma once

#include <allot/page_cache/eviction.hpp>

namespace allot {
inline namespace v1 {

/// The step between priorities of a `priority_eviction` that compares ages only within one priority.
inline constexpr std::uint32_t strict_priority = 0xFFFF'FFFFU;

/// Evicts the oldest page, where `Step` more pages have to be released for each step of priority.
template <std::uint32_t Step = strict_priority>
class priority_eviction {
public:
    static constexpr std::size_t words_per_page = 0;  ///< No words.
    /// Does nothing.
    constexpr void open(std::span<std::uint32_t>) noexcept {}
    /// Adds a page.
    constexpr void insert(page_uses& uses, std::uint32_t page) noexcept {
        uses.push_back(lists_[uses.priority(page)], page);
        now_ = uses.released_at(page);
    }
    /// Removes a page.
    constexpr void erase(page_uses& uses, std::uint32_t page) noexcept {
        uses.erase(lists_[uses.priority(page)], page);
    }
    /// Returns the accepted page that is evicted next, or `no_page`.
    template <class Accept>
    [[nodiscard]] constexpr std::uint32_t victim(page_uses& uses, Accept accept) const noexcept {
        std::uint32_t found = no_page;
        std::int64_t most = 0;
        for (std::int64_t level = 0; level != std::ssize(lists_); ++level) {
            const std::uint32_t page = detail::first_accepted(uses, lists_[level], accept);
            if (page == no_page) continue;
            const std::int64_t age = now_ - uses.released_at(page) - level * Step;
            if (found != no_page && age <= most) continue;
            found = page;
            most = age;
        }
        return found;
    }
    /// Removes a page.
    constexpr void evict(page_uses& uses, std::uint32_t page) noexcept { erase(uses, page); }
    /// Returns the number of pages.
    [[nodiscard]] constexpr std::uint32_t count() const noexcept {
        std::uint32_t sum = 0;
        for (const page_list& list : lists_) sum += list.count;
        return sum;
    }
    /// Calls `f(page)` with each page.
    template <class Function>
    constexpr void for_each(const page_uses& uses, Function f) const noexcept {
        for (const page_list& list : lists_) detail::for_each_page(uses, list, f);
    }

private:
    page_list lists_[16];
    std::uint32_t now_ = 0;
};

static_assert(page_eviction<priority_eviction<>>);

}  // namespace v1
}  // namespace allot
