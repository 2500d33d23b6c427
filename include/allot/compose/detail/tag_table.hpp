// SPDX-License-Identifier: BSL-1.0
// tag_table: the distinct tags of a tagged allocator, each with counters.
//
// Internal. A tag is found by its text. The entries are in a table (record_table.hpp) and in 64 lists by hash.
//
// Complexity: O(length of the name) on average for up to some hundred tags; O(tags) for many more.
#pragma once

#include <allot/core/statistics.hpp>
#include <allot/strategy/detail/record_table.hpp>

#include <cstring>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Tag, std::size_t Capacity>
class tag_table {
public:
    struct entry {
        Tag tag{};
        allocator_statistics counters{};
        record_index next = no_record;
    };

    tag_table() noexcept { clear_lists(); }
    tag_table(tag_table&& other) noexcept : entries_{std::move(other.entries_)} {
        std::memcpy(lists_, other.lists_, sizeof lists_);
        other.clear_lists();
    }

    /// Returns the index of a tag, which is added if it is new. Returns `no_record` if the table cannot grow.
    [[nodiscard]] record_index find_or_add(const Tag& tag) noexcept {
        if (const record_index known = find(tag); known != no_record) return known;
        if (!entries_.room(1)) return no_record;
        record_index& list = lists_[hash(tag) % lists];
        const record_index at = entries_.take();
        entries_[at] = {tag, {}, list};
        return list = at;
    }
    /// Returns the index of a tag, or `no_record`.
    [[nodiscard]] record_index find(const Tag& tag) const noexcept {
        record_index at = lists_[hash(tag) % lists];
        while (at != no_record && !(entries_[at].tag == tag)) at = entries_[at].next;
        return at;
    }
    /// Makes room for one more tag. Returns false if the table is full and cannot grow.
    [[nodiscard]] bool room() noexcept { return entries_.room(1); }
    [[nodiscard]] entry& operator[](record_index at) noexcept { return entries_[at]; }
    [[nodiscard]] const entry& operator[](record_index at) const noexcept { return entries_[at]; }
    /// Calls `f(tag, counters)` for every tag, in the order of their first use.
    template <class Function>
    void for_each(Function f) const noexcept {
        for (record_index at = 0; at != entries_.ever_taken(); ++at) f(entries_[at].tag, entries_[at].counters);
    }

private:
    static constexpr std::size_t lists = 64;

    void clear_lists() noexcept {
        for (record_index& list : lists_) list = no_record;
    }
    [[nodiscard]] static std::uint32_t hash(const Tag& tag) noexcept {  // FNV-1a
        std::uint32_t sum = 2166136261U ^ tag.line;
        for (const char* letter = tag.name; letter != nullptr && *letter != 0; ++letter)
            sum = (sum ^ static_cast<unsigned char>(*letter)) * 16777619U;
        return sum ^ (sum >> 16U);
    }

    record_table<entry, Capacity> entries_;
    record_index lists_[lists];
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
