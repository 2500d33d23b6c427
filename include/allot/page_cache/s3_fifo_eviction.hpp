// SPDX-License-Identifier: BSL-1.0
// s3_fifo_eviction: three queues that let pages which are used once leave early.
//
//     allot::page_cache<allot::page_pool<4096>, allot::s3_fifo_eviction<>> cache{limits, records};
//
//     new page ──► │ small queue │ ──found again──► │ main queue │ ──► evicted
//                        │                               ▲   └─found again──┘
//                        └──► evicted; its key is remembered; if it comes back, it enters the main queue
//
// A page enters the small queue, which has `SmallPercent` of the cached pages. If no sequence finds it there, it is
// evicted, and 32 bits of its key are remembered. The main queue keeps pages that were found again. The source
// recommends 10 percent. Prefixes of prompts are found again later than the objects of web caches, and 80 percent suit
// them better.
//
// When to use: for many prompts that are never repeated beside some that are. When not to use: without a measurement.
// LRU and `reuse_eviction` find more on some requests (docs/page-cache.md).
//
// Complexity: O(1) amortized. A page is moved at most four times for each time that it is found.
// Memory: 4 bytes for every page, and 52 bytes.
// Thread safety: not synchronized.
//
// Source: Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023. Here a page that a sequence uses
// is in no queue, and returns to the end of its queue.
#pragma once

#include <allot/page_cache/eviction.hpp>

namespace allot {
inline namespace v1 {

/// Evicts pages by the algorithm S3-FIFO.
template <unsigned SmallPercent = 80>
class s3_fifo_eviction {
    static_assert(SmallPercent <= 100, "allot: the small queue of s3_fifo_eviction has 0 to 100 percent of the pages");

public:
    static constexpr std::size_t words_per_page = 1;  ///< The remembered keys.
    /// Receives the memory for remembered keys.
    constexpr void open(std::span<std::uint32_t> words) noexcept { remembered_ = words; }
    /// Adds a page.
    constexpr void insert(page_uses& uses, std::uint32_t page) noexcept {
        if (uses.mark(page) == unknown) {
            std::uint32_t& word = word_of(uses, page);
            const bool known = word == key_of(uses, page);
            if (known) word = 0;
            uses.set_mark(page, known ? main : small);
        }
        uses.push_back(queues_[uses.mark(page)], page);
    }
    /// Removes a page.
    constexpr void erase(page_uses& uses, std::uint32_t page) noexcept { uses.erase(queues_[uses.mark(page)], page); }
    /// Returns the accepted page that is evicted next, or `no_page`.
    template <class Accept>
    [[nodiscard]] constexpr std::uint32_t victim(page_uses& uses, Accept accept) noexcept {
        unsigned first = small;
        while (count() != 0) {
            first = is_small_queue_full() ? small : main;
            const std::uint32_t page = queues_[first].first;
            const unsigned hits = uses.hits(page);
            if (hits == 0) break;
            uses.erase(queues_[first], page);
            uses.set_hits(page, first == small ? 0 : (hits < 3 ? hits : 3) - 1);
            uses.set_mark(page, main);
            uses.push_back(queues_[main], page);
        }
        const std::uint32_t found = detail::first_accepted(uses, queues_[first], accept);
        return found != no_page ? found : detail::first_accepted(uses, queues_[small + main - first], accept);
    }
    /// Removes a page and remembers its key if it was used once.
    constexpr void evict(page_uses& uses, std::uint32_t page) noexcept {
        erase(uses, page);
        if (uses.mark(page) == small) word_of(uses, page) = key_of(uses, page);
    }
    /// Returns the number of pages.
    [[nodiscard]] constexpr std::uint32_t count() const noexcept { return queues_[small].count + queues_[main].count; }
    /// Calls `f(page)` with each page.
    template <class Function>
    constexpr void for_each(const page_uses& uses, Function f) const noexcept {
        for (const page_list& queue : queues_) detail::for_each_page(uses, queue, f);
    }

private:
    static constexpr unsigned unknown = 0, small = 1, main = 2;

    [[nodiscard]] constexpr bool is_small_queue_full() const noexcept {
        if (queues_[small].count == 0 || queues_[main].count == 0) return queues_[main].count == 0;
        return std::uint64_t{queues_[small].count} * 100 >= std::uint64_t{count()} * SmallPercent;
    }
    [[nodiscard]] static constexpr std::uint32_t key_of(const page_uses& uses, std::uint32_t page) noexcept {
        return static_cast<std::uint32_t>(uses.key(page).high) | 1U;  // 0 names no key
    }
    [[nodiscard]] constexpr std::uint32_t& word_of(const page_uses& uses, std::uint32_t page) const noexcept {
        return remembered_[static_cast<std::size_t>(uses.key(page).low >> 20U) % remembered_.size()];
    }

    page_list queues_[3];  // the first is not used
    std::span<std::uint32_t> remembered_;
};

static_assert(page_eviction<s3_fifo_eviction<>>);

}  // namespace v1
}  // namespace allot
