// SPDX-License-Identifier: BSL-1.0
// record_table: a side table of records with stable 32-bit indices.
//
//     fixed (Capacity > 0)     Capacity records inside the object; no heap; `room` fails if the table is full
//     growing (Capacity == 0)  one array on the host heap, which `realloc` extends by an eighth, and by a quarter from
//                           4,096 records on; `room` fails if the heap is exhausted
//     given_records            one array in memory of the caller; `room` fails if the table is full
//
// A record has a `next` index of 16 or 32 bits, which links the free records. A caller calls `room` before it changes
// any state, so that a failure changes nothing.
//
// Complexity: O(1) to take and to free a record. Growth is O(1) amortized.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/core/options.hpp>

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Index of a record.
using record_index = std::uint32_t;
/// The index that names no record.
inline constexpr record_index no_record = 0xFFFF'FFFFU;
/// The largest number of records. The upper half of the indices has other uses.
inline constexpr record_index most_records = no_record / 2;
/// The largest number of records of a table with this capacity.
template <std::size_t Capacity>
inline constexpr record_index most_records_of =
    Capacity == 0 || Capacity == given_records ? most_records : static_cast<record_index>(Capacity);

template <class Record, std::size_t Capacity>
class record_array {
public:
    [[nodiscard]] static constexpr record_index capacity() noexcept { return static_cast<record_index>(Capacity); }
    [[nodiscard]] static constexpr bool grow(record_index) noexcept { return false; }
    [[nodiscard]] constexpr Record& operator[](record_index i) noexcept { return records_[i]; }
    [[nodiscard]] constexpr const Record& operator[](record_index i) const noexcept { return records_[i]; }

private:
    Record records_[Capacity]{};
};

template <class Record>
class record_array<Record, 0> {
public:
    constexpr record_array() noexcept = default;
    constexpr record_array(record_array&& other) noexcept
        : records_{std::exchange(other.records_, nullptr)}, capacity_{std::exchange(other.capacity_, 0)} {}
    constexpr record_array& operator=(record_array&& other) noexcept {
        std::swap(records_, other.records_);
        std::swap(capacity_, other.capacity_);
        return *this;
    }
    constexpr ~record_array() { release(); }

    [[nodiscard]] constexpr record_index capacity() const noexcept { return capacity_; }
    [[nodiscard]] constexpr Record& operator[](record_index i) noexcept { return records_[i]; }
    [[nodiscard]] constexpr const Record& operator[](record_index i) const noexcept { return records_[i]; }

    /// Grows to at least `wanted` records. Returns false and changes nothing on failure.
    [[nodiscard]] ALLOT_COLD constexpr bool grow(record_index wanted) noexcept {
        constexpr record_index most = most_records;
        const record_index more = capacity_ < 128 ? 16 : capacity_ < 4'096 ? capacity_ / 8 : capacity_ / 4;
        record_index larger = capacity_ > most / 2 ? most : capacity_ + more;
        if (larger < wanted) larger = wanted;
        if (larger < first) larger = first;
        if (wanted > most) return false;
        Record* const fresh = resized(larger);
        if (fresh == nullptr) return false;
        records_ = fresh;
        capacity_ = larger;
        return true;
    }

private:
    /// Records of the first array, which is larger than the freed memory that malloc usually keeps for one size.
    static constexpr auto first = static_cast<record_index>(1152 / sizeof(Record) + 1);

    /// Returns true if the array is from `operator new`, and not from `realloc`, which a freestanding program may lack.
    [[nodiscard]] static constexpr bool is_from_new() noexcept {
        return !__STDC_HOSTED__ || std::is_constant_evaluated() || !std::is_trivially_copyable_v<Record> ||
               alignof(Record) > alignof(std::max_align_t);
    }
    static constexpr Record* create(record_index count) noexcept {
        if (std::is_constant_evaluated()) return new Record[count]{};
        return new (std::nothrow) Record[count]{};
    }
    /// Returns an array of so many records, the first ones with their values, and frees the previous array; nullptr if
    /// the heap is exhausted. `realloc` moves the pages of a large array, and does not copy it.
    [[nodiscard]] constexpr Record* resized(record_index count) noexcept {
#if __STDC_HOSTED__
        if (!is_from_new()) {
            if (count > std::numeric_limits<std::size_t>::max() / sizeof(Record)) return nullptr;
            auto* const moved =
                static_cast<Record*>(std::realloc(static_cast<void*>(records_), count * sizeof(Record)));
            for (record_index i = capacity_; moved != nullptr && i != count; ++i) std::construct_at(moved + i);
            return moved;
        }
#endif
        auto* const fresh = create(count);
        if (fresh == nullptr) return nullptr;
        for (record_index i = 0; i != capacity_; ++i) fresh[i] = records_[i];
        release();
        return fresh;
    }
    constexpr void release() noexcept {
#if __STDC_HOSTED__
        if (!is_from_new()) return std::free(records_);
#endif
        delete[] records_;
    }

    Record* records_ = nullptr;
    record_index capacity_ = 0;
};

template <class Record>
class record_array<Record, given_records> {
public:
    constexpr record_array() noexcept = default;
    constexpr record_array(record_array&& other) noexcept
        : records_{std::exchange(other.records_, nullptr)}, capacity_{std::exchange(other.capacity_, 0)} {}
    constexpr record_array& operator=(record_array&& other) noexcept {
        records_ = std::exchange(other.records_, nullptr);
        capacity_ = std::exchange(other.capacity_, 0);
        return *this;
    }

    [[nodiscard]] constexpr record_index capacity() const noexcept { return capacity_; }
    [[nodiscard]] static constexpr bool grow(record_index) noexcept { return false; }
    [[nodiscard]] constexpr Record& operator[](record_index i) noexcept { return records_[i]; }
    [[nodiscard]] constexpr const Record& operator[](record_index i) const noexcept { return records_[i]; }

    /// Moves the first `used` records to other memory. Returns false and changes nothing if the memory is misaligned or
    /// holds fewer records.
    [[nodiscard]] bool move_to(std::span<std::byte> memory, record_index used) noexcept {
        constexpr std::size_t most = most_records;
        const std::size_t count = memory.size() / sizeof(Record) < most ? memory.size() / sizeof(Record) : most;
        if (reinterpret_cast<std::uintptr_t>(memory.data()) % alignof(Record) != 0 || count < used) return false;
        auto* const fresh = reinterpret_cast<Record*>(memory.data());
        for (std::size_t i = 0; i != count; ++i) new (fresh + i) Record{};
        for (record_index i = 0; i != used; ++i) fresh[i] = records_[i];
        records_ = fresh;
        capacity_ = static_cast<record_index>(count);
        return true;
    }

private:
    Record* records_ = nullptr;
    record_index capacity_ = 0;
};

/// Metadata of a block of a strategy with a side table.
struct record_metadata {
    record_index record = no_record;  ///< Index of the block's record.
    /// Compares the indices.
    friend constexpr bool operator==(record_metadata, record_metadata) = default;
};

/// Table of records with a list of free ones.
template <class Record, std::size_t Capacity>
class record_table {
public:
    static_assert(Capacity <= most_records || Capacity == given_records,
                  "allot: a side table must have fewer than 2^31 records");

    constexpr record_table() noexcept = default;
    constexpr record_table(record_table&& other) noexcept
        : records_{std::move(other.records_)},
          free_{std::exchange(other.free_, last)},
          free_count_{std::exchange(other.free_count_, 0)},
          used_{std::exchange(other.used_, 0)} {}
    constexpr record_table& operator=(record_table&& other) noexcept {
        records_ = std::move(other.records_);
        free_ = std::exchange(other.free_, last);
        free_count_ = std::exchange(other.free_count_, 0);
        used_ = std::exchange(other.used_, 0);
        return *this;
    }

    [[nodiscard]] constexpr Record& operator[](record_index i) noexcept { return records_[i]; }
    [[nodiscard]] constexpr const Record& operator[](record_index i) const noexcept { return records_[i]; }

    /// Returns the number of records that can be taken before the table grows.
    [[nodiscard]] constexpr record_index spare() const noexcept { return free_count_ + (records_.capacity() - used_); }
    /// Returns the number of records in use.
    [[nodiscard]] constexpr record_index taken() const noexcept { return used_ - free_count_; }
    /// Returns the number of records that were ever taken. Every index below it names an initialized record.
    [[nodiscard]] constexpr record_index ever_taken() const noexcept { return used_; }
    /// Makes room for `count` more records, by growth if necessary. Returns false on failure.
    [[nodiscard]] ALLOT_INLINE constexpr bool room(record_index count) noexcept {
        return spare() >= count || records_.grow(taken() + count);
    }
    /// Takes a free record. Precondition: `room` returned true.
    [[nodiscard]] ALLOT_INLINE constexpr record_index take() noexcept {
        if (free_ == last) return used_++;
        --free_count_;
        return std::exchange(free_, records_[free_].next);
    }
    /// Does the same for one record, in fewer instructions.
    [[nodiscard]] ALLOT_INLINE constexpr bool room_for_one() noexcept {
        return free_ != last || used_ != records_.capacity() || records_.grow(used_ + 1);
    }
    /// Moves the table to other memory. Returns false and changes nothing if the memory is misaligned or too small.
    [[nodiscard]] bool move_to(std::span<std::byte> memory) noexcept
        requires(Capacity == given_records)
    {
        return records_.move_to(memory, used_);
    }
    /// Frees a record.
    ALLOT_INLINE constexpr void give(record_index index) noexcept {
        records_[index].next = static_cast<link>(std::exchange(free_, index));
        ++free_count_;
    }

private:
    using link = decltype(Record::next);
    static constexpr record_index last = std::numeric_limits<link>::max();  // ends the list of free records

    detail::record_array<Record, Capacity> records_;
    record_index free_ = last;
    record_index free_count_ = 0;
    record_index used_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
