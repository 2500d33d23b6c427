// SPDX-License-Identifier: BSL-1.0
// The handwritten subjects of a replay, and the empty loop.
#pragma once

#include "replay.hpp"

#include <bit>
#include <set>

namespace benchmarks {

/// The loop alone. Its time is subtracted from all others.
struct empty_replay {
    using block = std::uint64_t;
    static constexpr const char* name = "empty";
    static constexpr const char* honours = "";
    static constexpr subject_group group = subject_group::nothing;
    static constexpr bool bounded = false, in_memory = false;
    static bool serves(const workload&) { return true; }
    empty_replay(std::uint64_t, const allot::trace&) {}
    bool allocate(std::uint64_t size, std::size_t, block& to) {
        to = size;
        return true;
    }
    void deallocate(block held, const allot::trace_operation&) { asm volatile("" : : "r"(held)); }
};

struct bump_by_hand {
    using block = std::byte*;
    static constexpr const char* name = "bump_by_hand";
    static constexpr const char* honours = "as asked";
    static constexpr subject_group group = subject_group::bump;
    static constexpr bool bounded = true, in_memory = true;
    static bool serves(const workload& of) { return of.drops; }
    bump_by_hand(std::uint64_t bytes, const allot::trace&)
        : begin_{host_memory()}, end_{begin_ + bytes}, cursor_{end_} {}
    bool allocate(std::uint64_t size, std::size_t align, block& to) {
        if (size > static_cast<std::uint64_t>(cursor_ - begin_)) return false;
        const auto at = (reinterpret_cast<std::uintptr_t>(cursor_) - size) & ~(align - 1);
        if (at < reinterpret_cast<std::uintptr_t>(begin_)) return false;
        to = cursor_ = reinterpret_cast<std::byte*>(at);
        return true;
    }
    void deallocate(block, const allot::trace_operation&) {}
    void reset() { cursor_ = end_; }
    static std::uint64_t position(block held) { return reinterpret_cast<std::uintptr_t>(held); }

private:
    std::byte *begin_, *end_, *cursor_;
};

/// An intrusive list of free slots of 64 bytes. It does not contain slots that were never used.
struct free_list_by_hand {
    using block = void*;
    static constexpr std::uint64_t slot = 64;
    static constexpr const char* name = "free_list_by_hand";
    static constexpr const char* honours = "the slot's: 64";
    static constexpr subject_group group = subject_group::pool;
    static constexpr bool bounded = true, in_memory = true;
    static bool serves(const workload& of) { return of.size == slot; }
    free_list_by_hand(std::uint64_t bytes, const allot::trace&)
        : fresh_{host_memory()}, end_{fresh_ + bytes / slot * slot} {}
    bool allocate(std::uint64_t size, std::size_t, block& to) {
        if (size > slot) return false;
        if (to = free_; to != nullptr) {
            free_ = free_->next;
        } else {
            if (fresh_ == end_) return false;
            to = fresh_;
            fresh_ += slot;
        }
        return true;
    }
    void deallocate(block held, const allot::trace_operation&) { free_ = ::new (held) link{free_}; }
    static std::uint64_t position(block held) { return reinterpret_cast<std::uintptr_t>(held); }

private:
    struct link {
        link* next;
    };
    link* free_ = nullptr;
    std::byte *fresh_, *end_;
};

/// Base class of the subjects with side tables: a block is the offset of its slot.
template <std::uint64_t Slot>
struct slots_by_hand {
    using block = std::uint64_t;
    static constexpr const char* honours = "the slot's";
    static constexpr subject_group group = subject_group::pool_beside;
    static constexpr bool bounded = true, in_memory = false;
    static bool serves(const workload& of) { return of.size == Slot; }
    static std::uint64_t position(block held) { return held; }
};

/// A side table with a stack of the indices of free slots.
template <std::uint64_t Slot>
struct index_stack_by_hand : slots_by_hand<Slot> {
    using typename slots_by_hand<Slot>::block;
    static constexpr const char* name = "index_stack_by_hand";
    index_stack_by_hand(std::uint64_t bytes, const allot::trace&) {
        for (std::uint64_t i = bytes / Slot; i != 0; --i) free_.push_back(static_cast<std::uint32_t>(i - 1));
        top_ = free_.size();
    }
    bool allocate(std::uint64_t size, std::size_t, block& to) {
        if (size > Slot || top_ == 0) return false;
        to = free_[--top_] * Slot;
        return true;
    }
    void deallocate(block held, const allot::trace_operation&) {
        free_[top_++] = static_cast<std::uint32_t>(held / Slot);
    }

private:
    std::vector<std::uint32_t> free_;
    std::size_t top_ = 0;
};

/// A side table with one bit per free slot and a summary bit per word. Allocates the lowest free slot.
template <std::uint64_t Slot>
struct bitmap_by_hand : slots_by_hand<Slot> {
    using typename slots_by_hand<Slot>::block;
    static constexpr const char* name = "bitmap_by_hand";
    bitmap_by_hand(std::uint64_t bytes, const allot::trace&)
        : words_((static_cast<std::size_t>(bytes / Slot) + 63) / 64), summary_((words_.size() + 63) / 64) {
        for (std::size_t i = 0; i != bytes / Slot; ++i) set(i);
    }
    bool allocate(std::uint64_t size, std::size_t, block& to) {
        if (size > Slot) return false;
        while (first_ != summary_.size() && summary_[first_] == 0) ++first_;
        if (first_ == summary_.size()) return false;
        const std::size_t at = first_ * 64 + static_cast<std::size_t>(std::countr_zero(summary_[first_]));
        std::uint64_t& word = words_[at];
        to = (at * 64 + static_cast<std::uint64_t>(std::countr_zero(word))) * Slot;
        word &= word - 1;
        if (word == 0) summary_[first_] &= summary_[first_] - 1;
        return true;
    }
    void deallocate(block held, const allot::trace_operation&) { set(static_cast<std::size_t>(held / Slot)); }

private:
    void set(std::size_t index) {
        words_[index / 64] |= std::uint64_t{1} << index % 64;
        summary_[index / 4096] |= std::uint64_t{1} << index / 64 % 64;
        first_ = std::min<std::size_t>(first_, index / 4096);
    }
    std::vector<std::uint64_t> words_, summary_;
    std::size_t first_ = 0;  // no earlier word of the summary has a set bit
};

/// Exact best fit: the smallest sufficient hole, at the lowest offset among equals. Sizes are rounded up to the trace's
/// least alignment, because it would otherwise visit many misaligned holes.
struct set_best_fit {
    struct block {
        std::uint64_t offset, size;
    };
    static constexpr const char* name = "std_set_best_fit";
    static constexpr const char* honours = "as asked";
    static constexpr subject_group group = subject_group::best_fit_beside;
    static constexpr bool bounded = true, in_memory = false;
    static bool serves(const workload&) { return true; }
    set_best_fit(std::uint64_t bytes, const allot::trace& of) : mask_{of.least_align - 1} { add(0, bytes & ~mask_); }
    bool allocate(std::uint64_t size, std::size_t align, block& to) {
        size = (size + mask_) & ~mask_;
        for (auto hole = by_size_.lower_bound({size, 0}); hole != by_size_.end(); ++hole) {
            const auto [room, low] = *hole;
            const std::uint64_t at = (low + align - 1) & ~(std::uint64_t{align} - 1), end = low + room;
            if (at > end || end - at < size) continue;
            by_offset_.erase(low);
            by_size_.erase(hole);
            if (at != low) add(low, at - low);
            if (at + size != end) add(at + size, end - at - size);
            to = {at, size};
            return true;
        }
        return false;
    }
    void deallocate(block held, const allot::trace_operation&) {
        auto above = by_offset_.lower_bound(held.offset);
        if (above != by_offset_.end() && above->first == held.offset + held.size) {
            held.size += above->second;
            by_size_.erase({above->second, above->first});
            above = by_offset_.erase(above);
        }
        if (above != by_offset_.begin()) {
            if (const auto below = std::prev(above); below->first + below->second == held.offset) {
                held = {below->first, below->second + held.size};
                by_size_.erase({below->second, below->first});
                by_offset_.erase(below);
            }
        }
        add(held.offset, held.size);
    }
    static std::uint64_t position(const block& held) { return held.offset; }

private:
    void add(std::uint64_t offset, std::uint64_t size) {
        by_size_.emplace(size, offset);
        by_offset_.emplace(offset, size);
    }
    std::uint64_t mask_;
    std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // size and offset of each hole
    std::map<std::uint64_t, std::uint64_t> by_offset_;           // sizes
};

}  // namespace benchmarks
