// SPDX-License-Identifier: BSL-1.0
// slot_stores: three containers for the free slots of a pool. slot_bitmap.hpp has two more.
//
//     slot_free_list      In band: a free slot holds the link to the next one. Any number of slots and extents, without
//                         a side table. A slot is at least as large as a pointer. Takes the newest slot first.
//     slot_index_stack    Side table: the offset of every free slot, in as few bytes as the last one needs. Takes the
//                         newest slot first, in the fewest instructions.
//     slot_atomic_bitmap  Side table: one bit for every slot, taken and freed by one atomic operation each. Usually
//                         takes the lowest slot first.
//
// `take` returns false if no slot is free. In band, slots that were never used are not accessed. The index stack works
// in constant expressions.
//
// Complexity: O(1) to take and to free a slot. `take` of the atomic bitmap reads up to one word for as many slots as a
// word has bits.
//
// Thread safety: not synchronized, except `take`, `take_at`, `give`, `is_free` and `empty` of the atomic bitmap.
// Threads, cores and interrupts may call these concurrently, and no call waits for another one.
#pragma once

#include <allot/core/detail/sanitizer.hpp>
#include <allot/core/strategy.hpp>

#include <atomic>
#include <new>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// List of the free slots, linked through the slots.
template <std::unsigned_integral Offset, Offset Slot, Offset Align>
class slot_free_list {
    struct slot {
        slot* next;
    };
    static_assert(Slot >= sizeof(slot) && Align >= alignof(slot),
                  "allot: a slot with its link in band must be at least as large and as aligned as a pointer: raise "
                  "pool_options::slot and pool_options::align, or use pool_store::bitmap");

public:
    using memory_type = addressed_memory;
    static constexpr bool several_extents = true;

    slot_free_list() noexcept = default;
    slot_free_list(slot_free_list&& other) noexcept { *this = std::move(other); }
    slot_free_list& operator=(slot_free_list&& other) noexcept {
        free_.next = std::exchange(other.free_.next, nullptr);
        fresh_ = std::exchange(other.fresh_, {});
        return *this;
    }

    /// Adds slots. Slots of an earlier extent that were never taken are linked first.
    bool insert(basic_extent<Offset> slots) noexcept {
        while (fresh_) give(next_fresh());
        fresh_ = slots;
        return true;
    }
    /// Removes slots. Returns false and changes nothing if one of them is in use.
    bool remove(basic_extent<Offset> slots) noexcept {
        const auto inside = [slots](const slot* s) { return slots.contains({offset_of(s), Slot}); };
        auto free = slots.contains(fresh_) ? fresh_.size : Offset{0};
        for (const slot* s = next_of(&free_); s != nullptr; s = next_of(s))
            free = static_cast<Offset>(free + (inside(s) ? Slot : 0));
        if (free != slots.size) return false;
        for (slot* before = &free_; slot* const next = next_of(before);) {
            if (inside(next)) link(before, next_of(next));
            else before = next;
        }
        if (slots.contains(fresh_)) fresh_ = {};
        return true;
    }
    [[nodiscard]] bool empty() const noexcept { return next_of(&free_) == nullptr && !fresh_; }
    [[nodiscard]] bool take(Offset& at) noexcept {
        if (slot* const taken = next_of(&free_)) {
            at = offset_of(taken);
            link(&free_, next_of(taken));
            return true;
        }
        if (!fresh_) return false;
        at = next_fresh();
        return true;
    }
    void give(Offset at) noexcept {
        auto* const given = ::new (static_cast<void*>(addressed_memory::at(at))) slot;
        link(given, next_of(&free_));
        link(&free_, given);
    }

    /// Calls `f(offset)` for each free slot.
    template <class Function>
    void for_each_free(Function f) const noexcept {
        for (const slot* s = next_of(&free_); s != nullptr; s = next_of(s)) f(offset_of(s));
        for (auto at = fresh_.offset; at != fresh_.end(); at = static_cast<Offset>(at + Slot)) f(at);
    }

private:
    [[nodiscard]] static slot* next_of(const slot* s) noexcept {
        if constexpr (sanitizer::is_on) return sanitizer::read_record<slot*>(s);
        return s->next;
    }
    static void link(slot* s, slot* next) noexcept {
        if constexpr (sanitizer::is_on) return sanitizer::write_record(s, next);
        s->next = next;
    }
    [[nodiscard]] static Offset offset_of(const slot* s) noexcept {
        return static_cast<Offset>(reinterpret_cast<std::uintptr_t>(s));
    }
    [[nodiscard]] Offset next_fresh() noexcept {
        fresh_.size = static_cast<Offset>(fresh_.size - Slot);
        return std::exchange(fresh_.offset, static_cast<Offset>(fresh_.offset + Slot));
    }

    slot free_{};                 // head of the list
    basic_extent<Offset> fresh_;  // slots that were never taken
};

/// Stack of the offsets of the free slots.
template <std::unsigned_integral Offset, Offset Slot, std::size_t Count>
class slot_index_stack {
    // Stores offsets instead of indices, so that no call multiplies or divides.
    static constexpr std::size_t last = Count - 1 > std::numeric_limits<std::size_t>::max() / Slot
                                            ? std::numeric_limits<std::size_t>::max()
                                            : (Count - 1) * Slot;
    using place =
        std::conditional_t<(last <= 0xFF), std::uint8_t,
                           std::conditional_t<(last <= 0xFFFF), std::uint16_t,
                                              std::conditional_t<(last <= 0xFFFF'FFFF), std::uint32_t, Offset>>>;

public:
    using memory_type = no_memory;
    static constexpr bool several_extents = false;

    constexpr slot_index_stack() noexcept = default;
    /// Moves the slots. A moved-from stack has no slots.
    constexpr slot_index_stack(slot_index_stack&& other) noexcept { *this = std::move(other); }
    constexpr slot_index_stack& operator=(slot_index_stack&& other) noexcept {
        whole_ = std::exchange(other.whole_, {});
        free_count_ = std::exchange(other.free_count_, 0);
        for (std::size_t i = 0; i != free_count_; ++i) free_[i] = other.free_[i];
        return *this;
    }

    constexpr bool insert(basic_extent<Offset> slots) noexcept {
        const auto count = static_cast<std::size_t>(slots.size / Slot);
        if (whole_ || count > Count) return false;
        whole_ = slots;
        for (std::size_t i = 0; i != Count && i != count; ++i) free_[i] = static_cast<place>((count - 1 - i) * Slot);
        free_count_ = count;
        return true;
    }
    constexpr bool remove(basic_extent<Offset> slots) noexcept {
        if (slots != whole_ || free_count_ != whole_.size / Slot) return false;
        whole_ = {};
        free_count_ = 0;
        return true;
    }
    [[nodiscard]] constexpr bool empty() const noexcept { return free_count_ == 0; }
    [[nodiscard]] constexpr bool take(Offset& at) noexcept {
        if (free_count_ == 0) return false;
        at = static_cast<Offset>(whole_.offset + free_[--free_count_]);
        return true;
    }
    constexpr void give(Offset at) noexcept { free_[free_count_++] = static_cast<place>(at - whole_.offset); }

    /// Calls `f(offset)` for each free slot.
    template <class Function>
    constexpr void for_each_free(Function f) const noexcept {
        for (std::size_t i = 0; i != free_count_; ++i) f(static_cast<Offset>(whole_.offset + free_[i]));
    }

private:
    basic_extent<Offset> whole_;
    std::size_t free_count_ = 0;
    place free_[Count]{};  // offsets of the free slots from the first slot; the slot that is taken next comes last
};

/// Bitmap of the free slots for concurrent callers. `Word` is a parameter so that `std::atomic` is instantiated only
/// where this store is used: some cores have no atomic instructions.
template <std::unsigned_integral Offset, Offset Slot, std::size_t Count, class Word = std::size_t>
class slot_atomic_bitmap {
    using word = Word;
    static constexpr std::size_t word_bits = std::numeric_limits<word>::digits;
    // The condition depends on a template parameter, so that only a pool with this store evaluates it.
    static_assert(
        Slot != 0 && std::atomic<word>::is_always_lock_free,
        "allot: this core has no instructions for exclusive access (Cortex-M0, Cortex-M0+, or RISC-V without A), which "
        "pool_store::atomic_bitmap needs: use synchronized<Arena, Lock> with another store and a lock that "
        "disables interrupts");

public:
    using memory_type = no_memory;
    static constexpr bool several_extents = false;

    slot_atomic_bitmap() noexcept = default;
    /// Moves the slots. Precondition: no concurrent call uses either object.
    slot_atomic_bitmap(slot_atomic_bitmap&& other) noexcept { *this = std::move(other); }
    slot_atomic_bitmap& operator=(slot_atomic_bitmap&& other) noexcept {
        whole_ = std::exchange(other.whole_, {});
        for (std::size_t i = 0; i != word_count; ++i) words_[i] = other.words_[i].exchange(0);
        return *this;
    }

    bool insert(basic_extent<Offset> slots) noexcept {
        if (whole_ || slots.size / Slot > Count) return false;
        whole_ = slots;
        for (std::size_t i = 0; i != slots.size / Slot; ++i) words_[i / word_bits] |= bit_of(i);
        return true;
    }
    bool remove(basic_extent<Offset> slots) noexcept {
        std::size_t free = 0;
        for (const std::atomic<word>& each : words_) free += static_cast<std::size_t>(std::popcount(each.load()));
        if (slots != whole_ || free != whole_.size / Slot) return false;
        *this = slot_atomic_bitmap{};
        return true;
    }
    [[nodiscard]] bool empty() const noexcept {
        for (const std::atomic<word>& each : words_)
            if (each.load(std::memory_order_relaxed) != 0) return false;
        return true;
    }
    /// Takes a slot. Returns false if every word had no free slot when it was read. A slot that is freed during the
    /// call may be missed.
    [[nodiscard]] bool take(Offset& at) noexcept {
        for (std::size_t i = 0; i != word_count; ++i) {
            word free = words_[i].load(std::memory_order_relaxed);
            while (free != 0) {
                const std::size_t index = i * word_bits + lowest_one(free);
                // Acquire pairs with the release in `give`: the previous holder's writes happen before the next
                // holder's.
                if (words_[i].compare_exchange_weak(free, free & (free - 1), std::memory_order_acquire,
                                                    std::memory_order_relaxed)) {
                    at = static_cast<Offset>(whole_.offset + index * Slot);
                    return true;
                }
            }
        }
        return false;
    }
    void give(Offset at) noexcept {
        const std::size_t index = index_of(at);
        words_[index / word_bits].fetch_or(bit_of(index), std::memory_order_release);
    }
    /// Takes the slot at this offset. Returns false if no slot starts there or if the slot is in use.
    [[nodiscard]] bool take_at(Offset at) noexcept {
        if (!is_slot(at)) return false;
        const std::size_t index = index_of(at);
        std::atomic<word>& in = words_[index / word_bits];
        word free = in.load(std::memory_order_relaxed);
        while ((free & bit_of(index)) != 0)
            if (in.compare_exchange_weak(free, free ^ bit_of(index), std::memory_order_acquire,
                                         std::memory_order_relaxed))
                return true;
        return false;
    }
    [[nodiscard]] bool is_free(Offset at) const noexcept {
        return is_slot(at) &&
               (words_[index_of(at) / word_bits].load(std::memory_order_relaxed) & bit_of(index_of(at))) != 0;
    }

    /// Calls `f(offset)` for each slot that is free when its word is read.
    template <class Function>
    void for_each_free(Function f) const noexcept {
        for (Offset at = whole_.offset; at != whole_.end(); at = static_cast<Offset>(at + Slot))
            if (is_free(at)) f(at);
    }

private:
    static constexpr std::size_t word_count = divided_up(Count, word_bits);

    [[nodiscard]] static word bit_of(std::size_t index) noexcept { return word{1} << index % word_bits; }
    [[nodiscard]] std::size_t index_of(Offset at) const noexcept {
        return static_cast<std::size_t>(static_cast<Offset>(at - whole_.offset) / Slot);
    }
    [[nodiscard]] bool is_slot(Offset at) const noexcept {
        const auto distance = static_cast<Offset>(at - whole_.offset);  // wraps for an offset before the extent
        return distance < whole_.size && distance % Slot == 0;
    }

    basic_extent<Offset> whole_;
    std::atomic<word> words_[word_count]{};  // a set bit is a free slot
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
