// SPDX-License-Identifier: BSL-1.0
// Reads the events of a recording in the order of their times. Nothing in the file is trusted: an invalid event ends
// its unit and is reported with its offset.
#pragma once

#include "recording.hpp"

#include <algorithm>
#include <cstring>
#include <map>
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

/// Returns the offsets of the units that have events. A window and its copy can both have the same unit if the process
/// was killed between the copy and the clearing: the one with more events counts.
inline std::vector<std::size_t> units_of(std::span<const std::byte> file, damage& wrong) {
    std::map<std::pair<word, word>, std::pair<std::size_t, std::size_t>> found;  // events and offset of each unit
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
        auto& best = found[{start.window, start.sequence}];
        if (events > best.first) best = {events, at};
    }
    std::vector<std::size_t> all;
    for (const auto& [key, one] : found)
        if (one.first != 0) all.push_back(one.second);
    return all;
}

/// Calls `use` with each event, in the order of their times.
template <class Use>
void for_each_event(std::span<const std::byte> file, damage& wrong, Use use) {
    struct head {
        event next;
        std::size_t of;
    };
    const auto later = [](const head& one, const head& other) {
        return std::pair{one.next.time, one.of} > std::pair{other.next.time, other.of};
    };
    std::vector<unit_reader> readers;
    std::priority_queue<head, std::vector<head>, decltype(later)> heads{later};
    event next;
    for (const std::size_t at : units_of(file, wrong)) {
        readers.emplace_back(file.data(), at);
        if (readers.back().next(next, wrong)) heads.push({next, readers.size() - 1});
    }
    while (!heads.empty()) {
        head now = heads.top();
        heads.pop();
        bool more = true;
        do {  // the next events are often of the same unit
            use(std::as_const(now.next));
            more = readers[now.of].next(now.next, wrong);
        } while (more && (heads.empty() || now.next.time < heads.top().next.time));
        if (more) heads.push(now);
    }
}

}  // namespace recording
