// SPDX-License-Identifier: BSL-1.0
// kept_blocks: freed blocks that a wrapper keeps before it frees them in its allocator, in lists.
//
// Internal. All lists of a wrapper share one table (record_table.hpp), whose entries are linked by index.
//
// Complexity: O(1) to add and remove a block; O(entries at the peak) for `contains`.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/strategy/detail/record_table.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// A list of kept blocks. It is empty after a move.
struct kept_list {
    record_index first = no_record, last = no_record;

    kept_list() noexcept = default;
    kept_list(kept_list&& other) noexcept
        : first{std::exchange(other.first, no_record)}, last{std::exchange(other.last, no_record)} {}
    kept_list& operator=(kept_list&& other) noexcept {
        first = std::exchange(other.first, no_record);
        last = std::exchange(other.last, no_record);
        return *this;
    }
    [[nodiscard]] bool is_empty() const noexcept { return first == no_record; }
};

template <class Block, std::size_t Capacity>
class kept_blocks {
    struct entry {
        Block held{};
        record_index next = no_record;
    };

public:
    /// Makes room for one block. Returns false if the table is full and cannot grow.
    [[nodiscard]] bool room() noexcept { return table_.room(1); }
    /// Adds a block to the front of a list. Precondition: `room` returned true.
    void push_front(kept_list& list, const Block& held) noexcept {
        const record_index at = add(held);
        table_[at].next = list.first;
        if (list.is_empty()) list.last = at;
        list.first = at;
    }
    /// Adds a block to the end of a list. Precondition: `room` returned true.
    void push_back(kept_list& list, const Block& held) noexcept {
        const record_index at = add(held);
        if (list.is_empty()) list.first = at;
        else table_[list.last].next = at;
        list.last = at;
    }
    /// Returns the first block of a list. Precondition: the list is not empty.
    [[nodiscard]] const Block& front(const kept_list& list) const noexcept { return table_[list.first].held; }
    /// Returns the last block of a list. Precondition: the list is not empty.
    [[nodiscard]] const Block& back(const kept_list& list) const noexcept { return table_[list.last].held; }
    /// Removes the first block of a list and returns it. Another block can then be added without `room`. Precondition:
    /// the list is not empty.
    Block pop_front(kept_list& list) noexcept {
        const record_index at = list.first;
        const Block held = table_[at].held;
        list.first = table_[at].next;
        if (list.is_empty()) list.last = no_record;
        table_[at].held = {};
        table_.give(at);
        return held;
    }
    /// Returns true if a kept block has this address.
    template <class Address>
    [[nodiscard]] bool contains(const Address& address) const noexcept {
        for (record_index at = 0; at != table_.ever_taken(); ++at)
            if (table_[at].held && table_[at].held.address == address) return true;
        return false;
    }

private:
    [[nodiscard]] record_index add(const Block& held) noexcept {
        const record_index at = table_.take();
        table_[at].held = held;
        table_[at].next = no_record;
        return at;
    }

    record_table<entry, Capacity> table_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
