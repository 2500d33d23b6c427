// SPDX-License-Identifier: BSL-1.0
// record_table: records beside the memory they describe, named by a 32-bit index that never changes.
//
//     fixed (Capacity > 0)     Capacity records inside the object: no heap, and a full table is refused
//     growing (Capacity == 0)  one array that doubles on the host heap; a heap that gives nothing is refused
//
// A record has a `next` index; while it is free, that chains it. Taking and giving a record are O(1), growing is
// amortised O(1). `room` is asked before anything changes, so that a refusal changes nothing. Not synchronised.
#pragma once

#include <allot/core/arithmetic.hpp>
#include <allot/core/detail/inlining.hpp>

#include <new>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

using record_index = std::uint32_t;
inline constexpr record_index no_record = 0xFFFF'FFFFU;


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
    constexpr ~record_array() { delete[] records_; }

    [[nodiscard]] constexpr record_index capacity() const noexcept { return capacity_; }
    [[nodiscard]] constexpr Record& operator[](record_index i) noexcept { return records_[i]; }
    [[nodiscard]] constexpr const Record& operator[](record_index i) const noexcept { return records_[i]; }

    /// At least `wanted` records, or false and nothing changed.
    [[nodiscard, gnu::cold]] constexpr bool grow(record_index wanted) noexcept {
        constexpr record_index most = no_record - 1;
        record_index larger = capacity_ > most / 2 ? most : capacity_ * 2;
        if (larger < wanted) larger = wanted;
        if (larger < 16) larger = 16;
        if (wanted > most) return false;
        Record* const fresh = create(larger);
        if (fresh == nullptr) return false;
        for (record_index i = 0; i != capacity_; ++i) fresh[i] = records_[i];
        delete[] records_;
        records_ = fresh;
        capacity_ = larger;
        return true;
    }

private:
    static constexpr Record* create(record_index count) noexcept {
        if (std::is_constant_evaluated()) return new Record[count]{};
        return new (std::nothrow) Record[count]{};
    }

    Record* records_ = nullptr;
    record_index capacity_ = 0;
};

template <class Record, std::size_t Capacity>
class record_table {
public:
    static_assert(Capacity < no_record, "allot: a side table holds fewer than 2^32 - 1 records");

    constexpr record_table() noexcept = default;
    constexpr record_table(record_table&& other) noexcept
        : records_{std::move(other.records_)},
          free_{std::exchange(other.free_, no_record)},
          free_count_{std::exchange(other.free_count_, 0)},
          used_{std::exchange(other.used_, 0)} {}
    constexpr record_table& operator=(record_table&& other) noexcept {
        records_ = std::move(other.records_);
        free_ = std::exchange(other.free_, no_record);
        free_count_ = std::exchange(other.free_count_, 0);
        used_ = std::exchange(other.used_, 0);
        return *this;
    }

    [[nodiscard]] constexpr Record& operator[](record_index i) noexcept { return records_[i]; }
    [[nodiscard]] constexpr const Record& operator[](record_index i) const noexcept { return records_[i]; }

    /// Records that can be taken before the table has to grow.
    [[nodiscard]] constexpr record_index spare() const noexcept { return free_count_ + (records_.capacity() - used_); }
    /// Records that are taken now.
    [[nodiscard]] constexpr record_index taken() const noexcept { return used_ - free_count_; }
    /// True when `count` records can be taken now; grows for it where it can.
    [[nodiscard]] ALLOT_INLINE constexpr bool room(record_index count) noexcept {
        return spare() >= count || records_.grow(taken() + count);
    }
    /// A record for use. Precondition: `room` said so.
    [[nodiscard]] ALLOT_INLINE constexpr record_index take() noexcept {
        if (free_ == no_record) return used_++;
        --free_count_;
        return std::exchange(free_, records_[free_].next);
    }
    /// The record is free again.
    ALLOT_INLINE constexpr void give(record_index index) noexcept {
        records_[index].next = std::exchange(free_, index);
        ++free_count_;
    }

private:
    detail::record_array<Record, Capacity> records_;
    record_index free_ = no_record;
    record_index free_count_ = 0;
    record_index used_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
