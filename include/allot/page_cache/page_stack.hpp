// SPDX-License-Identifier: BSL-1.0
// page_stack: the pages of a `page_cache` whose number is known only at run time.
//
//     using cache_type = allot::page_cache<allot::page_stack>;
//     const allot::page_cache_limits limits{.bytes = pages_of_this_machine};
//     std::vector<std::byte> records(cache_type::bytes_for(limits));
//     cache_type cache{limits, records};
//
//     next   │ 3 │used│used│ – │ …       the free pages are a list: first ──► 0 ──► 3
//
// It is a strategy for units of size 1, whose list of free pages is in memory of the caller. A `page_cache` takes that
// memory from its records: 4 bytes for every page.
//
// When to use: if the number of pages is a setting of the program.
// When not to use: if the number has a small bound that the compiler knows. `page_pool<Count>` is the default.
//
// Complexity: O(1) for `allocate`, `deallocate` and `is_used`; O(pages) for `insert` and `for_each_hole`.
// Memory: 24 bytes, and 4 bytes for every page in the memory of `open`.
// Thread safety: not synchronized.
#pragma once

#include <allot/core/strategy.hpp>

#include <span>

namespace allot {
inline namespace v1 {

/// Strategy that hands out the indices of pages. The newest free page comes first.
class page_stack {
public:
    using offset_type = std::uint32_t;                                     ///< The type of indices.
    using metadata_type = no_metadata<page_stack>;                         ///< Metadata of a page: none.
    using memory_type = no_memory;                                         ///< No access to the pages.
    using layout_type = basic_layout<offset_type>;                         ///< Size and alignment of a request.
    using extent_type = basic_extent<offset_type>;                         ///< Range of indices.
    using allocation_type = basic_allocation<offset_type, metadata_type>;  ///< Result of an allocation.
    static constexpr bool in_band = false;                                 ///< The list is outside the pages.
    static constexpr reclaim reclaims = reclaim::any;                      ///< Pages are freed in any order.
    static constexpr bool exact = true;                                    ///< A request fails only if no page is free.
    static constexpr bool several_extents = false;                         ///< One extent, which starts at index 0.
    static constexpr std::size_t words_per_page = 1;                       ///< Words for each page.

    /// Receives the memory for the list, one word for each page. The caller keeps the memory.
    constexpr void open(std::span<std::uint32_t> words) noexcept { next_ = words; }

    /// Adds the pages from 0 to `where.size`. Returns false if there are pages already, if `where` is empty or does not
    /// start at 0, or if the memory of `open` is too small.
    constexpr bool insert(extent_type where, memory_type = {}) noexcept {
        if (count_ != 0 || !where || where.offset != 0 || where.size > next_.size() || where.size >= used) return false;
        count_ = where.size;
        for (offset_type page = 0; page != count_; ++page) next_[page] = page + 1 == count_ ? none : page + 1;
        first_ = 0;
        return true;
    }

    /// Allocates a page. Returns an empty allocation if the size or the alignment is not 1, or if no page is free.
    constexpr allocation_type allocate(layout_type wanted) noexcept {
        if (wanted != layout_type{1, 1} || first_ == none) return {};
        const offset_type page = first_;
        first_ = next_[page];
        next_[page] = used;
        return {{page, 1}, {}};
    }
    /// Frees a page.
    constexpr void deallocate(allocation_type page) noexcept {
        next_[page.where.offset] = first_;
        first_ = page.where.offset;
    }
    /// Returns true if the page is allocated. Returns false for an index without a page.
    [[nodiscard]] constexpr bool is_used(offset_type page) const noexcept {
        return page < count_ && next_[page] == used;
    }

    /// Returns the size of a page: 1.
    [[nodiscard]] constexpr offset_type capacity(allocation_type) const noexcept { return 1; }
    /// Returns the reason for which `allocate(wanted)` would fail.
    [[nodiscard]] constexpr diagnosis diagnose(layout_type wanted) const noexcept {
        const std::uint64_t largest = first_ == none ? 0 : 1;
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason, largest};
        if (wanted.size > 1) return {refusal::over_limit, largest};
        if (wanted.align > 1) return {refusal::misaligned, largest};
        return {largest == 0 ? refusal::exhausted : refusal::none, largest};
    }
    /// Calls `f(extent)` with every free page, in ascending order.
    template <class Function>
    constexpr void for_each_hole(extent_type inserted, Function f) const noexcept {
        for (offset_type page = inserted.offset; page < inserted.end() && page < count_; ++page)
            if (next_[page] != used) f(extent_type{page, 1});
    }
    /// Calls `f(extent)` with every allocated page, in ascending order.
    template <class Function>
    constexpr void for_each_block(extent_type inserted, Function f) const noexcept {
        for (offset_type page = inserted.offset; page < inserted.end() && page < count_; ++page)
            if (next_[page] == used) f(extent_type{page, 1});
    }
    /// Returns the number of pages for `count` allocations, or 0 if none is possible.
    [[nodiscard]] static constexpr offset_type bytes_for(offset_type count, layout_type each) noexcept {
        return each == layout_type{1, 1} && count < used ? count : 0;
    }

private:
    static constexpr offset_type none = std::numeric_limits<offset_type>::max();
    static constexpr offset_type used = none - 1;

    std::span<std::uint32_t> next_{};
    offset_type first_ = none;
    offset_type count_ = 0;
};

static_assert(strategy<page_stack> && hole_walkable<page_stack> && block_walkable<page_stack>);

}  // namespace v1
}  // namespace allot
