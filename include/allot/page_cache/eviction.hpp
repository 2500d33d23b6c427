// SPDX-License-Identifier: BSL-1.0
// eviction: the concept of the policies by which `page_cache` selects the cached page that it evicts, and LRU.
//
//     allot::page_cache<allot::page_pool<4096>, allot::lru_eviction> cache{limits, records};
//
//     a sequence releases a page ──► insert ──► │ oldest … newest │ ──► victim, evict     the page is reused
//                                                       │
//                                                       └──► erase                        a sequence uses it again
//
// A policy orders the pages that are cached, unpinned and not in use. It never sees a page in use, so that no policy
// can evict one. A policy keeps lists that are linked through the records of the pages, and it reads the uses of a
// page.
//
// When to use: to write a policy, or to use LRU, the default. When not to use: to keep certain pages. Pin them.
//
// Complexity: O(1) for each call of LRU.
// Memory: LRU has 12 bytes. The links are in the records of the pages.
// Thread safety: not synchronized.
#pragma once

#include <allot/page_cache/detail/page_record.hpp>

#include <concepts>

namespace allot {
inline namespace v1 {

/// A list of pages, linked through their records. A page is in one list at most.
struct page_list {
    std::uint32_t first = no_page;  ///< The oldest page, or `no_page`.
    std::uint32_t last = no_page;   ///< The newest page, or `no_page`.
    std::uint32_t count = 0;        ///< The number of pages.
};

/// The uses of pages, as a policy of eviction reads them.
class page_uses {
public:
    /// For the cache.
    constexpr explicit page_uses(std::span<detail::page_record> records) noexcept : records_{records} {}

    /// Appends a page to a list. Precondition: the page is in no list.
    constexpr void push_back(page_list& list, std::uint32_t page) noexcept {
        records_[page].previous = list.last;
        records_[page].next = no_page;
        (list.last == no_page ? list.first : records_[list.last].next) = page;
        list.last = page;
        ++list.count;
    }
    /// Removes a page from a list. Precondition: the page is in this list.
    constexpr void erase(page_list& list, std::uint32_t page) noexcept {
        const detail::page_record& of = records_[page];
        (of.previous == no_page ? list.first : records_[of.previous].next) = of.next;
        (of.next == no_page ? list.last : records_[of.next].previous) = of.previous;
        --list.count;
    }
    /// Returns the page after `page` in its list, or `no_page`.
    [[nodiscard]] constexpr std::uint32_t next(std::uint32_t page) const noexcept { return records_[page].next; }
    /// Returns the number of sequences that found the page in the cache, at most 255.
    [[nodiscard]] constexpr unsigned hits(std::uint32_t page) const noexcept { return records_[page].hits; }
    /// Changes the number of hits, which a policy may use as a counter.
    constexpr void set_hits(std::uint32_t page, unsigned hits) noexcept {
        records_[page].hits = static_cast<std::uint8_t>(hits < 255 ? hits : 255);
    }
    /// Returns the priority of the last sequence that released the page. A higher one is worth more.
    [[nodiscard]] constexpr unsigned priority(std::uint32_t page) const noexcept { return records_[page].priority; }
    /// Returns the time at which the page was released, counted in releases of pages. It wraps around.
    [[nodiscard]] constexpr std::uint32_t released_at(std::uint32_t page) const noexcept {
        return records_[page].released_at;
    }
    /// Returns true if no cached page follows this page in a prompt. A page that stays when the page before it is
    /// evicted counts again after a sequence finds or names both.
    [[nodiscard]] constexpr bool is_leaf(std::uint32_t page) const noexcept { return records_[page].child == no_page; }
    /// Returns the key of the page.
    [[nodiscard]] constexpr page_key key(std::uint32_t page) const noexcept { return records_[page].key; }
    /// Returns the number that the policy stored for the page; 0 for a page that has new contents.
    [[nodiscard]] constexpr unsigned mark(std::uint32_t page) const noexcept { return records_[page].mark; }
    /// Stores a number for the page, 0 to 15, until the page is evicted.
    constexpr void set_mark(std::uint32_t page, unsigned mark) noexcept { records_[page].mark = mark & 15U; }

private:
    std::span<detail::page_record> records_;
};

/// A policy of eviction.
///
/// - `words_per_page` is the number of 32-bit words that the policy needs for every page. `open(words)` receives them,
///   all 0.
/// - `insert(uses, page)` adds a page that no sequence uses any more.
/// - `erase(uses, page)` removes a page that a sequence uses again.
/// - `victim(uses, accept)` returns the page to evict next for which `accept(page)` is true, or `no_page`.
/// - `evict(uses, page)` removes a page that is evicted.
/// - `count()` returns the number of pages, and `for_each(uses, f)` calls `f(page)` with each.
template <class Policy>
concept page_eviction =
    std::default_initializable<Policy> &&
    requires(Policy policy, const Policy& same, page_uses& uses, std::uint32_t page, std::span<std::uint32_t> words,
             bool (*accept)(std::uint32_t), void (*f)(std::uint32_t)) {
        { Policy::words_per_page } -> std::convertible_to<std::size_t>;
        { policy.open(words) } noexcept;
        { policy.insert(uses, page) } noexcept;
        { policy.erase(uses, page) } noexcept;
        { policy.victim(uses, accept) } noexcept -> std::same_as<std::uint32_t>;
        { policy.evict(uses, page) } noexcept;
        { same.count() } noexcept -> std::same_as<std::uint32_t>;
        { same.for_each(uses, f) } noexcept;
    };

namespace detail {

/// Returns the first page of a list that is accepted, or `no_page`.
template <class Accept>
[[nodiscard]] constexpr std::uint32_t first_accepted(const page_uses& uses, const page_list& list, Accept accept) {
    std::uint32_t page = list.first;
    while (page != no_page && !accept(page)) page = uses.next(page);
    return page;
}
template <class Function>
constexpr void for_each_page(const page_uses& uses, const page_list& list, Function f) {
    for (std::uint32_t page = list.first; page != no_page; page = uses.next(page)) f(page);
}

}  // namespace detail

/// Evicts the page that was released first. A sequence releases its last page first, so that prefixes stay longest.
class lru_eviction {
public:
    static constexpr std::size_t words_per_page = 0;  ///< No words.
    /// Does nothing.
    constexpr void open(std::span<std::uint32_t>) noexcept {}
    /// Adds a page.
    constexpr void insert(page_uses& uses, std::uint32_t page) noexcept { uses.push_back(pages_, page); }
    /// Removes a page.
    constexpr void erase(page_uses& uses, std::uint32_t page) noexcept { uses.erase(pages_, page); }
    /// Returns the accepted page that was released first, or `no_page`.
    template <class Accept>
    [[nodiscard]] constexpr std::uint32_t victim(page_uses& uses, Accept accept) const noexcept {
        return detail::first_accepted(uses, pages_, accept);
    }
    /// Removes a page.
    constexpr void evict(page_uses& uses, std::uint32_t page) noexcept { uses.erase(pages_, page); }
    /// Returns the number of pages.
    [[nodiscard]] constexpr std::uint32_t count() const noexcept { return pages_.count; }
    /// Calls `f(page)` with each page.
    template <class Function>
    constexpr void for_each(const page_uses& uses, Function f) const noexcept {
        detail::for_each_page(uses, pages_, f);
    }

private:
    page_list pages_;
};

static_assert(page_eviction<lru_eviction>);

}  // namespace v1
}  // namespace allot
