// SPDX-License-Identifier: BSL-1.0
// slot_records: a record of 64 bits for each slot of a checked pool.
//
//     offset ─► index of the slot ─► │ number · size │ number · free · next │ number · size │ …
//
// Internal. The number is that of the block in the slot, or of the next one. It changes when a block is freed, so that
// a copy of an earlier block has another one. The numbers of a slot are odd and repeat after 2^31 blocks. Those of
// different slots start far from each other: they are multiples of the golden ratio.
//
// Complexity: O(1), and O(slots) to grow.
//
// Memory: 8 bytes for each slot. If the number of slots is known, they are in the object. Otherwise they are a table on
// the host heap for the slots up to the highest one that was in use, and up to twice as many: the table doubles.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/core/detail/compiler.hpp>

#include <bit>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Records of slots of `Slot` bytes. There are at most `Count` of them, in the object; 0: any number, on the heap.
template <std::size_t Slot, std::size_t Count>
class slot_records {
public:
    /// The largest number of slots that have records.
    static constexpr std::size_t most = 0xFFFF'FFFFU - (Slot + 1);

    slot_records() noexcept = default;
    /// Moves the records. A moved-from object has none.
    slot_records(slot_records&& other) noexcept { *this = std::move(other); }
    slot_records& operator=(slot_records&& other) noexcept {
        count_ = std::exchange(other.count_, std::size_t{0});
        first_ = other.first_;
        if constexpr (on_heap) std::swap(records_, other.records_);
        else
            for (std::size_t i = 0; i != count_; ++i) records_[i] = other.records_[i];
        return *this;
    }
    ~slot_records() {
        if constexpr (on_heap) delete[] records_;
    }

    /// States the offset of the first slot. Precondition: there are no records.
    void begin_at(std::size_t first) noexcept { first_ = first; }
    /// Returns the number of records. The slots above were never in use.
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// Returns the index of the slot at an offset. Other offsets have no index below `count()`: the product is a
    /// quotient only for multiples of a slot.
    [[nodiscard]] ALLOT_INLINE std::size_t index_of(std::size_t at) const noexcept {
        return std::rotr((at - first_) * inverse(Slot >> zeros), zeros);
    }
    [[nodiscard]] ALLOT_INLINE std::size_t offset_of(std::size_t index) const noexcept { return first_ + index * Slot; }

    /// Returns true if a slot of this index has a block of this size and number. Each comparison has its own branch,
    /// so that a compiler places the calls of a report after the code of a correct call.
    [[nodiscard]] ALLOT_INLINE bool has(std::size_t index, std::size_t size, std::uint32_t number) const noexcept {
        if (index >= count_) [[unlikely]]
            return false;
        if (records_[index].number != number) [[unlikely]]
            return false;
        if (records_[index].size != size) [[unlikely]]
            return false;
        return true;
    }
    /// Returns true if a slot of this index has a block.
    [[nodiscard]] bool is_used(std::size_t index) const noexcept {
        return index < count_ && records_[index].size < free_mark;
    }
    /// Returns the size of the block in a slot.
    [[nodiscard]] std::uint32_t size(std::size_t index) const noexcept { return records_[index].size; }
    /// Returns the slot that was given for a free one.
    [[nodiscard]] ALLOT_INLINE std::size_t next(std::size_t index) const noexcept {
        return records_[index].size - free_mark;
    }
    [[nodiscard]] ALLOT_INLINE std::uint32_t number(std::size_t index) const noexcept { return records_[index].number; }
    /// Returns true if an earlier block in a slot had this number.
    [[nodiscard]] bool is_stale(std::size_t index, std::uint32_t number) const noexcept {
        return number - first_number(index) < records_[index].number - first_number(index);
    }

    /// Records a block. Returns its number.
    ALLOT_INLINE std::uint32_t enter(std::size_t index, std::size_t size) noexcept {
        records_[index].size = static_cast<std::uint32_t>(size);
        return records_[index].number;
    }
    /// Records that the block in a slot is freed. Keeps `next`, which is at most `most`.
    ALLOT_INLINE void leave(std::size_t index, std::size_t next) noexcept {
        records_[index].number += 2;
        records_[index].size = static_cast<std::uint32_t>(free_mark + next);
    }

    /// Makes at least `needed` records, and not more than `limit`. The next slot of a new record is the one above.
    /// Returns false if there is no memory for them.
    [[nodiscard]] bool grow(std::size_t needed, std::size_t limit) noexcept {
        std::size_t made = limit;
        if constexpr (on_heap) {
            constexpr std::size_t least = 32;
            if (count_ < limit / 2 && 2 * count_ + least < limit) made = 2 * count_ + least;
            if (made < needed) made = needed;
            if (made > most) return false;
            auto* const larger = new (std::nothrow) record[made];
            if (larger == nullptr) return false;
            for (std::size_t i = 0; i != count_; ++i) larger[i] = records_[i];
            delete[] std::exchange(records_, larger);
        }
        for (; count_ != made; ++count_)
            records_[count_] = {static_cast<std::uint32_t>(free_mark + count_ + 1), first_number(count_)};
        return true;
    }

private:
    struct record {
        std::uint32_t size, number;
    };
    static constexpr bool on_heap = Count == 0;
    static constexpr std::uint32_t free_mark = static_cast<std::uint32_t>(Slot + 1);  // larger than each size
    static constexpr int zeros = std::countr_zero(Slot);

    /// Returns the inverse of an odd number modulo 2 to the number of bits. Each step doubles the number of right bits.
    [[nodiscard]] static constexpr std::size_t inverse(std::size_t odd) noexcept {
        std::size_t made = odd;  // three bits are right
        for (int right = 3; right < std::numeric_limits<std::size_t>::digits; right *= 2) made *= 2 - odd * made;
        return made;
    }
    [[nodiscard]] static std::uint32_t first_number(std::size_t index) noexcept {
        return 2 * (static_cast<std::uint32_t>(index) * 0x9E3779B1U) + 1;
    }

    std::conditional_t<on_heap, record*, record[on_heap ? 1 : Count]> records_{};
    std::size_t count_ = 0;
    std::size_t first_ = 0;  // offset of the first slot
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
