// SPDX-License-Identifier: BSL-1.0
// guided_blocks: the records of the live blocks of a guided allocator that have no slot in its guide.
//
// Internal. A stranger is such a block inside the room. The other ones are outside, where the allocator of the room
// serves them, and are recorded for the next guide only.
//
// Complexity: O(1) to add and to remove; `of` is O(1) for blocks of the current guide, and otherwise O(records).
// Memory: 40 bytes for each record on a 64-bit machine, on the heap. Thread safety: not synchronized.
#pragma once

#include <allot/plan/detail/pass_log.hpp>
#include <allot/plan/pass.hpp>
#include <allot/strategy/detail/record_table.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Allocation>
class guided_blocks {
public:
    struct record {
        Allocation at{};
        std::uint64_t entry = pass_log::none;
        bool is_outside = false;
        bool is_live = false;
        record_index next = no_record;
    };

    /// Makes room for `count` more records. Returns false if the heap is exhausted.
    [[nodiscard]] bool room(record_index count) noexcept { return records_.room(count); }
    /// Adds a block and returns its record. Precondition: `room` returned true.
    [[nodiscard]] record_index add(const record& known) noexcept {
        const record_index at = records_.take();
        records_[at] = known;
        records_[at].is_live = true;
        strangers_ += !known.is_outside;
        return at;
    }
    void remove(record_index at) noexcept {
        strangers_ -= !records_[at].is_outside;
        records_[at].is_live = false;
        records_.give(at);
    }
    [[nodiscard]] record& operator[](record_index i) noexcept { return records_[i]; }
    [[nodiscard]] const record& operator[](record_index i) const noexcept { return records_[i]; }

    /// Returns the record of a block, which may be of an earlier guide. Precondition: the block is live, and has one.
    [[nodiscard]] record_index of(guided_reference held, std::size_t offset) const noexcept {
        if (held.epoch == 0) return held.index;
        record_index found = 0;
        while (!is_stranger(found) || records_[found].at.where.offset != offset) ++found;
        return found;
    }
    /// Returns true if the room has no stranger.
    [[nodiscard]] bool no_strangers() const noexcept { return strangers_ == 0; }
    /// Calls `f(allocation)` for each stranger, in the order of the records.
    template <class Function>
    void for_each_stranger(Function f) const noexcept {
        for (record_index i = 0; strangers_ != 0 && i != records_.ever_taken(); ++i)
            if (is_stranger(i)) f(records_[i].at);
    }
    /// The same, and `f` may change the allocation.
    template <class Function>
    void for_each_stranger(Function f) noexcept {
        for (record_index i = 0; strangers_ != 0 && i != records_.ever_taken(); ++i)
            if (is_stranger(i)) f(records_[i].at);
    }

private:
    [[nodiscard]] bool is_stranger(record_index i) const noexcept {
        return records_[i].is_live && !records_[i].is_outside;
    }

    record_table<record, 0> records_;
    std::size_t strangers_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
