// SPDX-License-Identifier: BSL-1.0
// page_tables: the sequences of a page cache and their tables of pages.
//
//     row of sequence s, group g   │ page │ page │ no_page │ page │ … │      `sequence_pages` entries
//
// One thread changes the tables. Others may read them: a version is odd during a change, and a reader that sees another
// version after its copy than before drops the copy. Entries are released and acquired, so that a reader that sees a
// newer entry also sees the odd version.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/page_cache/detail/page_store.hpp>

#include <atomic>

namespace allot {
inline namespace v1 {
namespace detail {

#if defined(__cpp_lib_atomic_ref)
template <class Value>
[[nodiscard]] Value load_shared(const Value& from) noexcept {
    return std::atomic_ref<Value>{const_cast<Value&>(from)}.load(std::memory_order_acquire);
}
template <class Value>
void store_shared(Value& to, Value value) noexcept {
    std::atomic_ref<Value>{to}.store(value, std::memory_order_release);
}
#else  // libc++ before version 19
template <class Value>
[[nodiscard]] Value load_shared(const Value& from) noexcept {
    return ALLOT_LOAD_ACQUIRE(from);
}
template <class Value>
void store_shared(Value& to, Value value) noexcept {
    ALLOT_STORE_RELEASE(to, value);
}
#endif

struct sequence_record {
    page_key root;                 // of no contents
    page_key key;                  // of the named contents
    std::uint32_t tokens = 0;      // read by other threads
    std::uint32_t named = 0;       // pages whose contents are named
    std::uint32_t generation = 0;  // odd while the sequence exists; read by other threads
    std::uint32_t version = 0;     // odd during a change; read by other threads
    std::uint32_t next = no_page;  // the next free record
    std::uint32_t model = 0;       // read by other threads
    std::uint32_t priority = 0;
    bool unnamed = false;  // contents after `named` have no keys, because a key was taken by other contents
};

class page_tables {
public:
    /// The arrays of the tables.
    struct arrays {
        std::span<sequence_record> sequences;
        std::span<std::uint32_t> entries;
        constexpr arrays(const page_cache_limits& limits, std::uint32_t rows, record_memory& memory) noexcept
            : sequences{memory.take<sequence_record>(limits.sequences)} {
            const std::size_t row = record_memory::product(limits.sequence_pages, rows);
            entries = memory.take<std::uint32_t>(record_memory::product(row, limits.sequences));
        }
    };
    bool open(const page_cache_limits& limits, std::uint32_t rows, record_memory& memory) noexcept {
        const arrays made{limits, rows, memory};
        sequences_ = made.sequences;
        entries_ = made.entries;
        rows_ = rows;
        pages_ = limits.sequence_pages;
        for (std::uint32_t i = limits.sequences; i-- != 0;) give(i);
        return !made.entries.empty();
    }

    [[nodiscard]] std::uint32_t sequences() const noexcept { return static_cast<std::uint32_t>(sequences_.size()); }
    [[nodiscard]] std::uint32_t most_pages() const noexcept { return pages_; }
    [[nodiscard]] sequence_record& operator[](std::uint32_t index) noexcept { return sequences_[index]; }
    [[nodiscard]] const sequence_record& operator[](std::uint32_t index) const noexcept { return sequences_[index]; }
    /// Returns the row of a sequence for group `row` of its model.
    [[nodiscard]] std::span<std::uint32_t> row(std::uint32_t index, std::uint32_t row) const noexcept {
        return entries_.subspan((std::size_t{index} * rows_ + row) * pages_, pages_);
    }

    /// Returns a sequence without tokens, or `no_page`.
    [[nodiscard]] std::uint32_t take() noexcept {
        const std::uint32_t index = free_;
        if (index == no_page) return no_page;
        sequence_record& of = sequences_[index];
        free_ = of.next;
        of.named = 0;
        of.unnamed = false;
        store_shared(of.tokens, std::uint32_t{0});
        store_shared(of.generation, of.generation + 1);
        return index;
    }
    /// Ends a sequence.
    void end(std::uint32_t index) noexcept {
        store_shared(sequences_[index].generation, sequences_[index].generation + 1);
        give(index);
    }

private:
    void give(std::uint32_t index) noexcept {
        sequences_[index].next = free_;
        free_ = index;
    }

    std::span<sequence_record> sequences_;
    std::span<std::uint32_t> entries_;
    std::uint32_t rows_ = 0;
    std::uint32_t pages_ = 0;
    std::uint32_t free_ = no_page;
};

/// Marks a change of the tables of a sequence, for the lifetime of this object.
class table_change {
public:
    explicit table_change(sequence_record& of) noexcept : of_{of} { store_shared(of_.version, of_.version + 1); }
    table_change(const table_change&) = delete;
    table_change& operator=(const table_change&) = delete;
    ~table_change() { store_shared(of_.version, of_.version + 1); }

private:
    sequence_record& of_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
