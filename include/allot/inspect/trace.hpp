// SPDX-License-Identifier: BSL-1.0
// trace: what a program asked of its allocator, in order: read from bytes, checked, as operations over slots; and written.
//
//     auto read = allot::read_trace(bytes);
//     if (!read) return complain(read.error().what(), read.error().position);
//     for (const allot::trace_operation& each : read->operations) …
//
// The format, ALTR1. All numbers are unsigned LEB128 varints: seven bits a byte, low bits first, top bit set on all but the
// last byte.
//
//     "ALTR1\n"   events   allocations   event event event …
//     6 bytes     how many of each       │
//                                        └► varint e: kind in the low two bits, x in the others
//
//     kind 0   allocate x bytes, aligned to 16
//     kind 1   allocate x bytes, aligned to 1 << a: the byte that follows; a = 255 with x = 0 drops all that lives
//     kind 2   give back the block of age x
//     kind 3   resize: a varint follows, the age of a block that gets x bytes aligned to 16, and a new number
//
// Blocks are numbered from 0 as they are allocated; an age counts back from the newest number given out before the event.
// A size of 0 stands for 1. What is never given back lives to the end of the trace.
//
// When read, a resize is an allocation and then a deallocation, and a drop deallocates each block, oldest first, before it
// says `reset`. A slot is free for the next block when its block is given back, so that a replay needs one handle a slot:
//
//     allocate 0 │ allocate 1 │ deallocate 0 │ allocate 0 │ …        2 slots for any number of blocks
//
// Complexity: O(events). Memory: 16 bytes an operation; while reading, 4 bytes an allocation and 12 a slot. Not synchronised.
#pragma once

#include <allot/core/arithmetic.hpp>
#include <allot/core/layout.hpp>
#include <allot/core/result.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace allot {
inline namespace v1 {

enum class trace_action : unsigned char {
    allocate,
    deallocate,
    reset,  // every block was given back by the deallocations before it
};

struct trace_operation {
    std::uint64_t size = 0;  // of the block, also where it is given back
    std::uint32_t slot = 0;  // what holds the block while it lives
    trace_action action = trace_action::allocate;
    std::uint8_t align_log2 = 4;

    [[nodiscard]] constexpr std::uint64_t align() const noexcept { return std::uint64_t{1} << align_log2; }
};

struct trace {
    std::vector<trace_operation> operations{};
    std::uint32_t slots = 0;       // most blocks that live at once
    std::uint64_t peak = 0;        // most bytes that live at once
    std::uint64_t largest = 0;     // size of a block
    std::uint64_t least_align = 0, most_align = 0;
};

enum class trace_fault : unsigned char {
    none,
    no_trace,         // does not begin with ALTR1 and a line feed
    truncated,        // ends inside a number, or before the last event
    number_too_large, // a varint of more than 64 bits
    bad_alignment,    // 1 << a cannot be told in 64 bits, or a drop that has a size
    unknown_block,    // an age before the first block
    not_live,         // a block that was given back already
    too_large,        // live bytes cannot be counted in 64 bits, or blocks in 32
    wrong_count,      // not as many allocations as it says
    trailing_bytes,   // more than the events that it says
};

[[nodiscard]] constexpr const char* to_string(trace_fault reason) noexcept {
    switch (reason) {
        case trace_fault::none: return "nothing is wrong";
        case trace_fault::no_trace: return "it does not begin with ALTR1 and a line feed";
        case trace_fault::truncated: return "it ends in the middle";
        case trace_fault::number_too_large: return "a number has more than 64 bits";
        case trace_fault::bad_alignment: return "an alignment is too large, or everything is dropped with a size";
        case trace_fault::unknown_block: return "an age reaches back before the first block";
        case trace_fault::not_live: return "a block is given back that does not live";
        case trace_fault::too_large: return "more blocks or live bytes than can be counted";
        case trace_fault::wrong_count: return "there are not as many allocations as it says";
        case trace_fault::trailing_bytes: return "bytes follow the last event";
    }
    return "unknown fault";
}

struct trace_error {
    trace_fault reason = trace_fault::none;
    std::size_t position = 0;  // of the byte at which the event begins, or the number in front of the events

    [[nodiscard]] constexpr const char* what() const noexcept { return to_string(reason); }
};

namespace detail {

class trace_reader {
public:
    constexpr explicit trace_reader(std::span<const std::byte> bytes) noexcept : bytes_{bytes} {}

    [[nodiscard]] constexpr result<trace, trace_error> read() {
        constexpr std::byte magic[] = {std::byte{'A'}, std::byte{'L'}, std::byte{'T'}, std::byte{'R'}, std::byte{'1'}, std::byte{'\n'}};
        if (bytes_.size() < std::size(magic) || !std::ranges::equal(bytes_.first(std::size(magic)), magic))
            return failure(trace_fault::no_trace);
        at_ = begin_ = std::size(magic);
        std::uint64_t events = 0, allocations = 0;
        if (!number(events)) return failure(why_);
        begin_ = at_;
        if (!number(allocations)) return failure(why_);
        // Not more than the bytes can hold, whatever it says.
        made_.operations.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(events, bytes_.size())));
        for (; events != 0; --events) {
            begin_ = at_;
            if (!event()) return failure(why_);
        }
        begin_ = at_;
        if (at_ != bytes_.size()) return failure(trace_fault::trailing_bytes);
        if (slot_of_.size() != allocations) return failure(trace_fault::wrong_count);
        made_.slots = static_cast<std::uint32_t>(held_.size());
        return std::move(made_);
    }

private:
    static constexpr std::uint32_t dead = std::numeric_limits<std::uint32_t>::max();
    struct block {
        std::uint64_t size;
        std::uint8_t align_log2;
    };

    [[nodiscard]] constexpr result<trace, trace_error> failure(trace_fault reason) const {
        return result<trace, trace_error>::failure({reason, begin_});
    }
    constexpr bool refuse(trace_fault reason) noexcept {
        why_ = reason;
        return false;
    }

    constexpr bool byte(std::uint8_t& value) noexcept {
        if (at_ == bytes_.size()) return refuse(trace_fault::truncated);
        value = std::to_integer<std::uint8_t>(bytes_[at_++]);
        return true;
    }
    constexpr bool number(std::uint64_t& value) noexcept {
        std::uint8_t digit = 0x80;
        value = 0;
        for (unsigned shift = 0; digit >= 0x80; shift += 7) {
            if (!byte(digit)) return false;
            if (shift > 63 || (shift == 63 && (digit & 0x7F) > 1)) return refuse(trace_fault::number_too_large);
            value |= static_cast<std::uint64_t>(digit & 0x7F) << shift;
        }
        return true;
    }

    constexpr bool event() {
        std::uint64_t head = 0, age = 0;
        if (!number(head)) return false;
        const std::uint64_t x = head >> 2;
        const std::size_t blocks = slot_of_.size();
        switch (head & 3) {
            case 0: return allocate(x, 4);
            case 1: {
                std::uint8_t log2 = 0;
                if (!byte(log2)) return false;
                if (log2 == 255 && x == 0) return reset();
                return log2 < 64 ? allocate(x, log2) : refuse(trace_fault::bad_alignment);
            }
            case 2: return deallocate(blocks, x);
            default: return number(age) && is_live(blocks, age) && allocate(x, 4) && deallocate(blocks, age);
        }
    }

    constexpr bool allocate(std::uint64_t size, std::uint8_t log2) {
        if (size == 0) size = 1;
        if (slot_of_.size() == dead || !checked_add<std::uint64_t>(live_, size, live_)) return refuse(trace_fault::too_large);
        auto slot = static_cast<std::uint32_t>(held_.size());
        if (spare_.empty()) {
            held_.push_back({size, log2});
        } else {
            slot = spare_.back();
            spare_.pop_back();
            held_[slot] = {size, log2};
        }
        slot_of_.push_back(slot);
        made_.operations.push_back({size, slot, trace_action::allocate, log2});
        const std::uint64_t align = made_.operations.back().align();
        made_.peak = std::max(made_.peak, live_);
        made_.largest = std::max(made_.largest, size);
        made_.most_align = std::max(made_.most_align, align);
        made_.least_align = made_.least_align == 0 ? align : std::min(made_.least_align, align);
        return true;
    }

    /// Whether the block lives that has this age when so many were given out.
    constexpr bool is_live(std::size_t blocks, std::uint64_t age) noexcept {
        if (age >= blocks) return refuse(trace_fault::unknown_block);
        return slot_of_[blocks - 1 - static_cast<std::size_t>(age)] != dead || refuse(trace_fault::not_live);
    }
    constexpr bool deallocate(std::size_t blocks, std::uint64_t age) {
        if (!is_live(blocks, age)) return false;
        give_back(slot_of_[blocks - 1 - static_cast<std::size_t>(age)]);
        return true;
    }
    constexpr void give_back(std::uint32_t& slot) {
        const block held = held_[slot];
        made_.operations.push_back({held.size, slot, trace_action::deallocate, held.align_log2});
        live_ -= held.size;
        spare_.push_back(slot);
        slot = dead;
    }
    constexpr bool reset() {
        for (; kept_ != slot_of_.size(); ++kept_)
            if (slot_of_[kept_] != dead) give_back(slot_of_[kept_]);
        made_.operations.push_back({.action = trace_action::reset});
        return true;
    }

    std::span<const std::byte> bytes_;
    std::size_t at_ = 0, begin_ = 0;  // the next byte, and the first one of what is being read
    trace_fault why_ = trace_fault::none;
    trace made_{};
    std::vector<std::uint32_t> slot_of_{};  // by a block's number
    std::vector<block> held_{};             // by slot
    std::vector<std::uint32_t> spare_{};    // slots; the newest is used first
    std::size_t kept_ = 0;                  // blocks before it were dropped
    std::uint64_t live_ = 0;
};

}  // namespace detail

/// The operations of a trace, or what is wrong with it and where.
[[nodiscard]] constexpr result<trace, trace_error> read_trace(std::span<const std::byte> bytes) {
    return detail::trace_reader{bytes}.read();
}

/// Writes a trace. A block is named by its number, which `allocate` and `resize` return.
class trace_writer {
public:
    /// Precondition, also of `resize`: the size is less than 2^62.
    constexpr std::uint64_t allocate(std::uint64_t size, std::uint64_t align = 16) {
        event(size << 2 | (align == 16 ? 0 : 1));
        if (align != 16) byte(static_cast<std::uint8_t>(std::countr_zero(align)));
        return blocks_++;
    }
    /// Precondition, also of `resize`: the block lives.
    constexpr void deallocate(std::uint64_t block) { event((blocks_ - 1 - block) << 2 | 2); }
    constexpr std::uint64_t resize(std::uint64_t block, std::uint64_t size) {
        event(size << 2 | 3);
        number(blocks_ - 1 - block, events_);
        return blocks_++;
    }
    /// Everything is given back.
    constexpr void reset() {
        event(1);
        byte(255);
    }

    /// What was written so far, as a whole trace.
    [[nodiscard]] constexpr std::vector<std::byte> bytes() const {
        std::vector<std::byte> all;
        for (const char letter : {'A', 'L', 'T', 'R', '1', '\n'}) all.push_back(static_cast<std::byte>(letter));
        number(count_, all);
        number(blocks_, all);
        all.insert(all.end(), events_.begin(), events_.end());
        return all;
    }

private:
    static constexpr void number(std::uint64_t value, std::vector<std::byte>& to) {
        for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::byte>(value | 0x80));
        to.push_back(static_cast<std::byte>(value));
    }
    constexpr void event(std::uint64_t head) {
        ++count_;
        number(head, events_);
    }
    constexpr void byte(std::uint8_t value) { events_.push_back(static_cast<std::byte>(value)); }

    std::vector<std::byte> events_{};
    std::uint64_t count_ = 0, blocks_ = 0;
};

}  // namespace v1
}  // namespace allot
