// SPDX-License-Identifier: BSL-1.0
// Reads the events of a recording in the order of their times. Nothing in the file is trusted: an invalid event ends
// its unit and is reported with its offset.
#pragma once

#include "recording.hpp"

#include <cstring>
#include <map>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace recording {

struct event {
    long_kind what = long_kind::thread;
    std::uint8_t align_log2 = 4;
    word time = 0, address = 0, size = 0, thread = 0;
};

inline bool allocates(const event& of) { return of.what == long_kind::allocate || of.what == long_kind::resize_end; }

/// The first byte that cannot be read, and the reason.
struct damage {
    std::size_t offset = 0;
    std::string reason{};  // empty: none
};

/// Reads the events of one unit.
class unit_reader {
public:
    unit_reader(const std::byte* file, std::size_t offset) noexcept
        : file_{file}, at_{offset}, end_{offset + unit_bytes} {
        unit start{};
        std::memcpy(&start, file_ + at_, unit::header_words * sizeof(word));
        time_ = start.time;
        base_ = start.base;
        thread_ = start.thread;
        at_ += unit::header_words * sizeof(word);
    }

    /// Returns false at the end of the unit and at an invalid event.
    bool next(event& to, damage& wrong) {
        while (at_ + sizeof(word) <= end_ && load(0) != 0) {
            if (!read(to, wrong)) return false;
            if (to.what != long_kind::thread) return true;
        }
        return false;
    }

private:
    [[nodiscard]] word load(std::size_t index) const noexcept {
        word value = 0;
        std::memcpy(&value, file_ + at_ + index * sizeof value, sizeof value);
        return value;
    }
    static constexpr word field(word from, unsigned at, unsigned bits) noexcept {
        return from >> at & ((word{1} << bits) - 1);
    }
    bool read(event& to, damage& wrong) {
        const word head = load(0);
        const bool is_long = (head & 3) == static_cast<word>(kind::long_event);
        const std::size_t bytes = is_long ? long_words * sizeof(word) : sizeof(word);
        if ((head & 3) == 0 || at_ + bytes > end_) return refuse(wrong, "is not an event");
        if (!is_long) {
            time_ += field(head, time_at, time_bits);
            to = {.what = (head & 3) == static_cast<word>(kind::allocate) ? long_kind::allocate : long_kind::deallocate,
                  .time = time_,
                  .address = base_ + (field(head, address_at, address_bits) << address_unit_log2) - address_bias,
                  .size = field(head, size_at, size_bits),
                  .thread = thread_};
        } else {
            const word what = head >> long_kind_at & long_kind_mask, align = head >> align_at & align_mask;
            if (what > static_cast<word>(long_kind::thread) || align > 62 || load(3) >> 62 != 0)
                return refuse(wrong, "is an event with an invalid kind, alignment or size");
            to = {.what = static_cast<long_kind>(what),
                  .align_log2 = static_cast<std::uint8_t>(align),
                  .time = time_ = load(1),
                  .address = load(2),
                  .size = load(3),
                  .thread = thread_};
            if (to.what == long_kind::thread) thread_ = to.address;
            else if (to.address != 0) base_ = to.address;
        }
        at_ += bytes;
        return true;
    }
    bool refuse(damage& wrong, const char* reason) {
        if (wrong.reason.empty()) wrong = {at_, reason};
        return false;
    }

    const std::byte* file_;
    std::size_t at_, end_;
    word time_ = 0, base_ = 0, thread_ = 0;
};

/// Reads the units of one window in their order.
class window_reader {
public:
    window_reader(const std::byte* file, std::vector<std::size_t> units) : file_{file}, units_{std::move(units)} {}

    /// Moves to the next event. Returns false after the last one.
    bool advance(damage& wrong) {
        for (;;) {
            if (reader_ && reader_->next(now, wrong)) return true;
            if (next_ == units_.size()) return false;
            reader_.emplace(file_, units_[next_++]);
        }
    }

    event now{};

private:
    const std::byte* file_;
    std::vector<std::size_t> units_;
    std::size_t next_ = 0;
    std::optional<unit_reader> reader_{};
};

/// Returns the windows of a file. A window and its copy can both have the same unit if the process was killed between
/// the copy and the clearing: the one with more events counts.
inline std::vector<window_reader> windows_of(std::span<const std::byte> file, damage& wrong) {
    struct found_unit {
        std::size_t events = 0, offset = 0;
    };
    std::map<word, std::map<word, found_unit>> windows;  // by window and sequence
    for (std::size_t at = unit_bytes; at < file.size(); at += unit_bytes) {
        if (file.size() - at < unit_bytes) {
            if (wrong.reason.empty()) wrong = {at, "is a unit that is cut off"};
            break;
        }
        unit start{};
        std::memcpy(&start, file.data() + at, unit::header_words * sizeof(word));
        if (start.magic != unit_magic) {
            if (start.magic != 0 && wrong.reason.empty()) wrong = {at, "is not the start of a unit"};
            continue;
        }
        std::size_t events = 0;
        damage later;
        event each;
        for (unit_reader reader{file.data(), at}; reader.next(each, later);) ++events;
        found_unit& best = windows[start.window][start.sequence];
        if (events >= best.events) best = {events, at};
    }
    std::vector<window_reader> all;
    for (const auto& [window, units] : windows) {
        std::vector<std::size_t> offsets;
        for (const auto& [sequence, one] : units) offsets.push_back(one.offset);
        all.emplace_back(file.data(), std::move(offsets));
    }
    return all;
}

/// Calls `use` with each event, in the order of their times.
template <class Use>
void for_each_event(std::span<const std::byte> file, damage& wrong, Use use) {
    std::vector<window_reader> windows = windows_of(file, wrong);
    const auto later = [](const window_reader* one, const window_reader* other) {
        return one->now.time > other->now.time;
    };
    std::priority_queue<window_reader*, std::vector<window_reader*>, decltype(later)> left{later};
    for (window_reader& each : windows)
        if (each.advance(wrong)) left.push(&each);
    while (!left.empty()) {
        window_reader* const next = left.top();
        left.pop();
        bool more = true;
        do {
            use(std::as_const(next->now));
            more = next->advance(wrong);
        } while (more && (left.empty() || next->now.time <= left.top()->now.time));
        if (more) left.push(next);
    }
}

}  // namespace recording
