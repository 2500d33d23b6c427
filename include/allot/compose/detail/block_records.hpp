// SPDX-License-Identifier: BSL-1.0
// block_records: one record for every live block of a wrapper, found by an index that the block carries.
//
// Internal. A record is any type with a default constructor. The records are in a table (record_table.hpp) of a fixed
// capacity, or on the heap. They are numbered in the order in which they were added.
//
// Complexity: O(1) to add, find and remove a record; O(records at the peak) where a function visits all of them.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/core/allocator.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/strategy/detail/record_table.hpp>

namespace allot {
inline namespace v1 {

/// The metadata of a block with a record: the metadata of the allocator, and the index of the record.
template <class Inner>
struct metadata_with_record {
    ALLOT_NO_UNIQUE_ADDRESS Inner inner{};     ///< The metadata of the allocator.
    std::uint32_t record = detail::no_record;  ///< The index of the record.
    /// Constructs the metadata of an empty block.
    constexpr metadata_with_record() noexcept = default;
    /// Constructs the metadata from its members.
    constexpr metadata_with_record(Inner of_allocator, std::uint32_t of_record) noexcept
        : inner{of_allocator}, record{of_record} {}
    /// Compares both members.
    friend constexpr bool operator==(const metadata_with_record&, const metadata_with_record&) = default;
};

namespace detail {

/// The block of a wrapper whose blocks have records, and the conversions from and to the block of its allocator.
template <class Inner>
struct block_with_record {
    using type = block<decltype(Inner::address), metadata_with_record<decltype(Inner::metadata)>>;

    [[nodiscard]] static constexpr type from(const Inner& given, record_index record) noexcept {
        return {given.address, given.size, {given.metadata, record}};
    }
    [[nodiscard]] static constexpr Inner inner(const type& held) noexcept {
        return {held.address, held.size, held.metadata.inner};
    }
};

template <class Record, std::size_t Capacity>
class block_records {
    struct entry {
        Record record{};
        std::uint64_t number = 0;  // 0: free
        record_index next = no_record;
    };

public:
    /// Makes room for one record. Returns false if the table is full and cannot grow.
    [[nodiscard]] bool room() noexcept { return table_.room(1); }
    /// Adds a record. Precondition: `room` returned true.
    [[nodiscard]] record_index add(const Record& record) noexcept {
        const record_index at = table_.take();
        table_[at].record = record;
        table_[at].number = ++last_;
        return at;
    }
    /// Removes a record. Precondition: it exists.
    void remove(record_index at) noexcept {
        table_[at].number = 0;
        table_.give(at);
    }

    [[nodiscard]] bool contains(record_index at) const noexcept {
        return at < table_.ever_taken() && table_[at].number != 0;
    }
    [[nodiscard]] Record& operator[](record_index at) noexcept { return table_[at].record; }
    [[nodiscard]] const Record& operator[](record_index at) const noexcept { return table_[at].record; }
    /// Returns the number of the record, counted from 1.
    [[nodiscard]] std::uint64_t number(record_index at) const noexcept { return table_[at].number; }
    /// Returns the number of the newest record.
    [[nodiscard]] std::uint64_t last() const noexcept { return last_; }
    [[nodiscard]] std::size_t size() const noexcept { return table_.taken(); }

    /// Calls `f(record, number)` for every record.
    template <class Function>
    void for_each(Function f) const noexcept {
        for (record_index at = 0; at != table_.ever_taken(); ++at)
            if (table_[at].number != 0) f(table_[at].record, table_[at].number);
    }
    /// Removes the records with a number above `number`, after a call of `f(record)` for each.
    template <class Function>
    void remove_since(std::uint64_t number, Function f) noexcept {
        for (record_index at = 0; at != table_.ever_taken(); ++at) {
            if (table_[at].number <= number) continue;
            f(table_[at].record);
            remove(at);
        }
    }

private:
    record_table<entry, Capacity> table_;
    std::uint64_t last_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
