// SPDX-License-Identifier: BSL-1.0
// slot_bitmap: two containers for the free slots of a pool with `pool_store::bitmap`.
//
//     slot_word      At most 64 slots: one word.
//     slot_bitmap    More slots: a word for every 64 slots, and a summary bit for every word. Up to `Recent` free slots
//                    are kept outside of the words.
//
//     │ 1 1 1 1 · 1 1 1 │ 1 1 · 1 1 1 1 1 │ 1 1 · 1 · · · · │       · is free
//               └ recent      └ recent          └ bound: the words have no free slot below it
//
// Internal. Both work in constant expressions and manage one extent. A `slot_word` takes the lowest free slot first. A
// slot that is freed below all slots of the words of a `slot_bitmap` is recent. If there are `Recent` of them already,
// the highest one enters the words. `take` returns a recent slot, the last one first, or the lowest slot of the words
// if none is recent. The slot is therefore one of the `Recent` lowest free slots. A recent slot changes no word, so
// that blocks which replace one another take a few instructions at every number of free slots.
//
// Complexity: O(1). `take` of a `slot_bitmap` reads up to one summary word for every 4096 slots. `give` is O(Recent)
// if that many slots are recent; `take_at` and `is_free` are O(Recent).
//
// Memory: one bit for every slot. A `slot_bitmap` has in addition one bit for every 64 slots, `Recent` + 1 offsets, and
// a number if `Recent` is not 1.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/core/arithmetic.hpp>
#include <allot/core/strategy.hpp>

#include <bit>
#include <limits>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Free slots in one word.
template <std::unsigned_integral Offset, Offset Slot, std::size_t Count>
class slot_word {
public:
    using memory_type = no_memory;
    static constexpr bool several_extents = false;

    constexpr slot_word() noexcept = default;
    /// Moves the slots. A moved-from word has no slots.
    constexpr slot_word(slot_word&& other) noexcept { *this = std::move(other); }
    constexpr slot_word& operator=(slot_word&& other) noexcept {
        whole_ = std::exchange(other.whole_, {});
        free_ = std::exchange(other.free_, 0);
        return *this;
    }

    /// Adds slots. Precondition: there is at least one.
    constexpr bool insert(basic_extent<Offset> slots) noexcept {
        const auto count = static_cast<std::size_t>(slots.size / Slot);
        if (whole_ || count > Count) return false;
        whole_ = slots;
        free_ = static_cast<word>(~word{0}) >> (bits - count);
        return true;
    }
    constexpr bool remove(basic_extent<Offset> slots) noexcept {
        if (slots != whole_ || static_cast<Offset>(std::popcount(free_)) != whole_.size / Slot) return false;
        *this = slot_word{};
        return true;
    }
    [[nodiscard]] constexpr bool empty() const noexcept { return free_ == 0; }
    [[nodiscard]] constexpr bool take(Offset& at) noexcept {
        if (free_ == 0) return false;
        at = static_cast<Offset>(whole_.offset + lowest_one(free_) * Slot);
        free_ &= free_ - 1;
        return true;
    }
    constexpr void give(Offset at) noexcept { free_ |= bit_of(at); }

    /// Takes the slot at this offset. Returns false if no slot starts there or if the slot is in use.
    [[nodiscard]] constexpr bool take_at(Offset at) noexcept {
        if (!is_free(at)) return false;
        free_ ^= bit_of(at);  // the bit is set; size_bins::pop explains why this is not `& ~`
        return true;
    }
    [[nodiscard]] constexpr bool is_free(Offset at) const noexcept {
        const auto distance = static_cast<Offset>(at - whole_.offset);  // wraps for an offset before the extent
        return distance < whole_.size && distance % Slot == 0 && (free_ & bit_of(at)) != 0;
    }

    /// Calls `f(offset)` for each free slot in ascending order.
    template <class Function>
    constexpr void for_each_free(Function f) const noexcept {
        for (word left = free_; left != 0; left &= left - 1)
            f(static_cast<Offset>(whole_.offset + lowest_one(left) * Slot));
    }

private:
    using word = std::conditional_t<(Count <= 32), std::uint32_t, std::uint64_t>;
    static constexpr std::size_t bits = sizeof(word) * 8;

    [[nodiscard]] constexpr word bit_of(Offset at) const noexcept {
        return word{1} << static_cast<Offset>(at - whole_.offset) / Slot % bits;
    }

    basic_extent<Offset> whole_;
    word free_ = 0;  // a set bit is a free slot
};

/// A few free slots, without an order.
template <std::unsigned_integral Offset, std::size_t Most>
class recent_slots {
public:
    [[nodiscard]] constexpr std::size_t size() const noexcept { return count_; }
    [[nodiscard]] constexpr bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] constexpr bool full() const noexcept { return count_ == Most; }
    /// Adds a slot. Precondition: not full.
    constexpr void push(Offset at) noexcept { slots_[count_++] = at; }
    /// Removes the slot that was added last. Precondition: not empty.
    [[nodiscard]] constexpr Offset pop() noexcept { return slots_[--count_]; }
    /// Adds a slot, and removes the highest one. Precondition: full.
    [[nodiscard]] constexpr Offset exchange_highest(Offset at) noexcept {
        for (Offset& each : slots_) {
            const Offset higher = each < at ? at : each;
            each = each < at ? each : at;
            at = higher;
        }
        return at;
    }
    [[nodiscard]] constexpr bool contains(Offset at) const noexcept { return place_of(at) != count_; }
    /// Removes a slot. Returns false if it is not here.
    constexpr bool erase(Offset at) noexcept {
        const std::size_t place = place_of(at);
        if (place == count_) return false;
        slots_[place] = slots_[--count_];
        return true;
    }

private:
    [[nodiscard]] constexpr std::size_t place_of(Offset at) const noexcept {
        std::size_t place = 0;
        while (place != count_ && slots_[place] != at) ++place;
        return place;
    }

    std::size_t count_ = 0;
    Offset slots_[Most]{};
};
/// The same for one slot.
template <std::unsigned_integral Offset>
class recent_slots<Offset, 1> {
public:
    [[nodiscard]] constexpr std::size_t size() const noexcept { return empty() ? 0 : 1; }
    [[nodiscard]] constexpr bool empty() const noexcept { return slot_ == none; }
    [[nodiscard]] constexpr bool full() const noexcept { return slot_ != none; }
    constexpr void push(Offset at) noexcept { slot_ = at; }
    [[nodiscard]] constexpr Offset pop() noexcept { return std::exchange(slot_, none); }
    [[nodiscard]] constexpr Offset exchange_highest(Offset at) noexcept {
        const Offset higher = at < slot_ ? slot_ : at;
        slot_ = at < slot_ ? at : slot_;
        return higher;
    }
    [[nodiscard]] constexpr bool contains(Offset at) const noexcept { return slot_ == at; }
    constexpr bool erase(Offset at) noexcept {
        if (slot_ != at) return false;
        slot_ = none;
        return true;
    }

private:
    static constexpr Offset none = std::numeric_limits<Offset>::max();  // no slot starts there

    Offset slot_ = none;
};

/// Free slots in several words, with a second bitmap of the words that are not 0.
template <std::unsigned_integral Offset, Offset Slot, std::size_t Count, std::size_t Recent>
class slot_bitmap {
public:
    using memory_type = no_memory;
    static constexpr bool several_extents = false;

    constexpr slot_bitmap() noexcept = default;
    /// Moves the slots. A moved-from bitmap has no slots.
    constexpr slot_bitmap(slot_bitmap&& other) noexcept { *this = std::move(other); }
    constexpr slot_bitmap& operator=(slot_bitmap&& other) noexcept {
        whole_ = std::exchange(other.whole_, {});
        bound_ = std::exchange(other.bound_, Offset{0});
        recent_ = std::exchange(other.recent_, {});
        for (std::size_t i = 0; i != word_count; ++i) words_[i] = std::exchange(other.words_[i], 0);
        for (std::size_t i = 0; i != summary_count; ++i) summary_[i] = std::exchange(other.summary_[i], 0);
        return *this;
    }

    constexpr bool insert(basic_extent<Offset> slots) noexcept {
        if (whole_ || slots.size / Slot > Count) return false;
        whole_ = slots;
        bound_ = slots.offset;
        for (std::size_t i = 0; i != slots.size / Slot; ++i) set_free(i);
        return true;
    }
    constexpr bool remove(basic_extent<Offset> slots) noexcept {
        std::size_t free = recent_.size();
        for (const std::uint64_t each : words_) free += static_cast<std::size_t>(std::popcount(each));
        if (slots != whole_ || free != whole_.size / Slot) return false;
        *this = slot_bitmap{};
        return true;
    }
    [[nodiscard]] constexpr bool empty() const noexcept { return recent_.empty() && first_summary() == summary_count; }
    [[nodiscard]] constexpr bool take(Offset& at) noexcept {
        if (recent_.empty()) return take_from_words(at);
        at = recent_.pop();
        return true;
    }
    constexpr void give(Offset at) noexcept {
        if (!recent_.full()) [[likely]] {
            if (at > bound_) return set_free(index_of(at));
            return recent_.push(at);
        }
        // Whether the slot is above the bound or below the recent ones is not predictable in bursts. No branch depends
        // on it.
        const Offset highest = recent_.exchange_highest(at);
        bound_ = highest < bound_ ? highest : bound_;
        set_free(index_of(highest));
    }

    /// Takes the slot at this offset. Returns false if no slot starts there or if the slot is in use.
    [[nodiscard]] constexpr bool take_at(Offset at) noexcept {
        if (!is_free(at)) return false;
        if (recent_.erase(at)) return true;
        const std::size_t index = index_of(at);
        std::uint64_t& found = words_[index / bits];
        found ^= std::uint64_t{1} << index % bits;  // the bit is set; size_bins::pop explains why this is not `& ~`
        if (found == 0) summary_[summary_of(index)] ^= std::uint64_t{1} << index / bits % bits;
        return true;
    }
    [[nodiscard]] constexpr bool is_free(Offset at) const noexcept {
        const auto distance = static_cast<Offset>(at - whole_.offset);  // wraps for an offset before the extent
        return distance < whole_.size && distance % Slot == 0 &&
               ((words_[index_of(at) / bits] >> index_of(at) % bits & 1) != 0 || recent_.contains(at));
    }

    /// Calls `f(offset)` for each free slot in ascending order.
    template <class Function>
    constexpr void for_each_free(Function f) const noexcept {
        for (Offset at = whole_.offset; at != whole_.end(); at = static_cast<Offset>(at + Slot))
            if (is_free(at)) f(at);
    }

private:
    static constexpr std::size_t bits = 64;
    static constexpr std::size_t word_count = divided_up(Count, bits);
    static constexpr std::size_t summary_count = divided_up(word_count, bits);

    [[nodiscard]] constexpr std::size_t index_of(Offset at) const noexcept {
        return static_cast<std::size_t>(static_cast<Offset>(at - whole_.offset) / Slot);
    }
    [[nodiscard]] static constexpr std::size_t summary_of(std::size_t index) noexcept {
        return summary_count == 1 ? 0 : index / (bits * bits);
    }
    constexpr void set_free(std::size_t index) noexcept {
        words_[index / bits] |= std::uint64_t{1} << index % bits;
        summary_[summary_of(index)] |= std::uint64_t{1} << index / bits % bits;
    }
    [[nodiscard]] constexpr std::size_t first_summary() const noexcept {
        std::size_t summary = 0;
        while (summary != summary_count && summary_[summary] == 0) ++summary;
        return summary;
    }
    [[nodiscard]] constexpr bool take_from_words(Offset& at) noexcept {
        const std::size_t summary = first_summary();
        if (summary == summary_count) return false;
        const std::size_t first = summary * bits + lowest_one(summary_[summary]);
        const std::uint64_t found = words_[first];
        const std::uint64_t rest = found & (found - 1);
        words_[first] = rest;
        summary_[summary] &= summary_[summary] - (rest == 0 ? 1 : 0);  // clears the bit of a word that became 0
        at = bound_ = static_cast<Offset>(whole_.offset + (first * bits + lowest_one(found)) * Slot);
        return true;
    }

    basic_extent<Offset> whole_;
    Offset bound_ = 0;                        // no slot of the words is below it, and all recent ones are
    recent_slots<Offset, Recent> recent_;     // free slots whose bits are 0
    std::uint64_t words_[word_count]{};       // a set bit is a free slot
    std::uint64_t summary_[summary_count]{};  // a set bit is a word that is not 0
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
