// SPDX-License-Identifier: BSL-1.0
// thread_stock: the freed blocks that one thread keeps, by size.
//
// Internal. Each list is an array of items, the oldest first, with a limit. The sum of limits times sizes is at most
// `bytes`, so that a full list is the only condition of `push`. A list starts with the limit 0, and its owner raises it
// when it is too small.
//
//     list of 64 bytes    │ a │ b │ c │ · │ · │ ·    limit 4, depth 6
//     list of 80 bytes    │ d │ · │ · │ · │ · │ ·    limit 1
//
// Complexity: O(1) to push and pop; O(items) to remove the oldest ones.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/core/detail/compiler.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Item, class Sizes, std::size_t Batch, std::size_t Bytes>
class thread_stock {
public:
    /// Returns the largest number of items that move at once: fewer of the large sizes, so that several sizes have
    /// room.
    [[nodiscard]] static constexpr std::size_t batch_of(std::size_t list) noexcept {
        return items_in(Bytes / 16, list);
    }

    [[nodiscard]] std::size_t count(std::size_t list) const noexcept { return lists_[list].count; }
    [[nodiscard]] std::size_t limit(std::size_t list) const noexcept { return lists_[list].limit; }
    /// Returns the items of a list, the oldest first.
    [[nodiscard]] Item* items(std::size_t list) noexcept { return items_[list]; }

    /// Adds an item. Returns false if the list is full.
    [[nodiscard]] ALLOT_INLINE bool push(std::size_t list, const Item& freed) noexcept {
        state& of = lists_[list];
        if (of.count == of.limit) return false;
        items_[list][of.count++] = freed;
        return true;
    }
    /// Removes the newest item. Returns false if the list is empty.
    [[nodiscard]] ALLOT_INLINE bool pop(std::size_t list, Item& into) noexcept {
        state& of = lists_[list];
        if (of.count == 0) return false;
        into = items_[list][--of.count];
        return true;
    }
    /// States that `count` items were written to the end of a list.
    void added(std::size_t list, std::size_t count) noexcept { set(lists_[list].count, lists_[list].count + count); }
    /// Removes the oldest items, which were copied.
    void removed(std::size_t list, std::size_t count) noexcept {
        state& of = lists_[list];
        for (std::size_t i = count; i != of.count; ++i) items_[list][i - count] = items_[list][i];
        set(of.count, of.count - count);
    }

    /// Doubles the limit of a list, or sets the first one, as far as the bytes permit. Returns false if it stays.
    bool raise(std::size_t list) noexcept {
        state& of = lists_[list];
        const std::size_t size = Sizes::size_of(list), depth = depth_of(list), now = of.limit;
        std::size_t to = now == 0 ? items_in(first_bytes, list) : 2 * now;
        if (to > depth) to = depth;
        if (to - now > spare_ / size) to = now + spare_ / size;
        spare_ -= (to - now) * size;
        set(of.limit, to);
        return to != now;
    }
    /// Returns whether no limit of a list is higher.
    [[nodiscard]] bool is_deepest(std::size_t list) const noexcept { return lists_[list].limit == depth_of(list); }
    /// Halves the limit of a list whose count permits it.
    void lower(std::size_t list) noexcept {
        state& of = lists_[list];
        const std::size_t to = of.limit / 2;
        spare_ += (of.limit - to) * Sizes::size_of(list);
        set(of.limit, to);
    }

private:
    static constexpr std::size_t first_bytes = Bytes / 16 < 2048 ? Bytes / 16 : 2048;  // of a list that is used
    /// Returns the number of items that take at most these bytes, at least 1 and at most a batch.
    [[nodiscard]] static constexpr std::size_t items_in(std::size_t bytes, std::size_t list) noexcept {
        const std::size_t count = bytes / Sizes::size_of(list);
        return count < 1 ? 1 : count < Batch ? count : Batch;
    }
    [[nodiscard]] static constexpr std::size_t depth_of(std::size_t list) noexcept { return 2 * batch_of(list); }
    struct state {
        std::uint16_t count = 0, limit = 0;
    };
    static_assert(2 * Batch <= 0xFFFF);
    static void set(std::uint16_t& number, std::size_t to) noexcept { number = static_cast<std::uint16_t>(to); }

    state lists_[Sizes::count]{};
    std::size_t spare_ = Bytes;
    Item items_[Sizes::count][2 * Batch]{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
