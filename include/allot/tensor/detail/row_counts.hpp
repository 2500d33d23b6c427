// SPDX-License-Identifier: BSL-1.0
// row_counts: the records of shared rows: the place of each row, and the number of tensors that name it.
//
//     records   │ row, count 2 │ row, count 1 │ free │ … │       a tensor holds the numbers of its records
//     buckets   │ 0 │   │ 1 │                                   find a row by its address; chained by `next`
//
// Complexity: all functions are O(1), expected. Memory: one record for each row, in memory of the caller.
// Thread safety: the caller synchronizes.
#pragma once

#include <cstdint>
#include <span>

namespace allot {
inline namespace v1 {

/// The record of one row of `shared_rows`. Programs only reserve space for them.
template <class Storage>
struct shared_row {
    typename Storage::body_type::piece of{};           ///< The part of the storage that the row occupies.
    typename Storage::address_model::address first{};  ///< The first byte.
    std::size_t size = 0;                              ///< The number of bytes.
    std::size_t count = 0;                             ///< The number of tensors that name the row; 0 if it is free.
    std::uint32_t next = 0;                            ///< The next record in the same list.
    std::uint32_t bucket = 0;                          ///< The first record whose address has this hash.
};

namespace detail {

/// The number of a record in a lease.
struct row_number {
    std::uint32_t index = 0;
};

template <class Storage>
class row_counts {
    using record = shared_row<Storage>;
    using model = typename Storage::address_model;
    using address_type = typename model::address;
    static constexpr std::uint32_t none = ~std::uint32_t{0};

public:
    row_counts() noexcept = default;
    /// Uses these records, which are constructed.
    explicit row_counts(std::span<record> records) noexcept : records_{records} {
        for (std::size_t i = records_.size(); i-- != 0;) {
            records_[i].bucket = none;
            records_[i].next = free_;
            free_ = static_cast<std::uint32_t>(i);
        }
    }

    [[nodiscard]] bool is_full() const noexcept { return free_ == none; }
    [[nodiscard]] record& operator[](row_number row) const noexcept { return records_[row.index]; }

    /// Records a row with one reference. Precondition: `!is_full()`.
    [[nodiscard]] row_number add(const typename Storage::body_type::piece& of, address_type first,
                                 std::size_t size) noexcept {
        const row_number fresh{free_};
        record& row = records_[fresh.index];
        free_ = row.next;
        row.of = of;
        row.first = first;
        row.size = size;
        row.count = 1;
        std::uint32_t& bucket = bucket_of(first);
        row.next = bucket;
        bucket = fresh.index;
        return fresh;
    }
    /// Returns the record of the row at exactly these bytes, or null.
    [[nodiscard]] record* find(address_type first, std::size_t size, row_number& found) const noexcept {
        if (records_.empty()) return nullptr;
        for (std::uint32_t at = bucket_of(first); at != none; at = records_[at].next) {
            if (records_[at].first != first || records_[at].size != size) continue;
            found = {at};
            return &records_[at];
        }
        return nullptr;
    }
    /// Frees a record. Precondition: its count is 0, and it was in use.
    void remove(row_number gone) noexcept {
        std::uint32_t* at = &bucket_of(records_[gone.index].first);
        while (*at != gone.index) at = &records_[*at].next;
        *at = records_[gone.index].next;
        records_[gone.index].next = free_;
        free_ = gone.index;
    }

private:
    [[nodiscard]] std::uint32_t& bucket_of(address_type first) const noexcept {
        const std::uint64_t mixed = model::position(first) * std::uint64_t{0x9E3779B97F4A7C15};
        return records_[static_cast<std::size_t>((mixed >> 32) % records_.size())].bucket;
    }

    std::span<record> records_{};
    std::uint32_t free_ = none;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
