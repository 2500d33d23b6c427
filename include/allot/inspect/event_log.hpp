// SPDX-License-Identifier: BSL-1.0
// event_log: the calls of an allocator with their times, addresses and tags, and their file format.
//
//     allot::event_log_writer writer;
//     const std::uint32_t weights = writer.tag("weights");
//     writer.add({.time = 5, .address = 4096, .size = 100, .tag = weights, .action = allot::memory_action::allocate});
//     const std::vector<std::byte> file = writer.bytes();
//     const auto read = allot::read_event_log(file);
//
// The format is ALEV1. All numbers are unsigned LEB128 varints, as in ALTR1 (trace.hpp).
//
//     "ALEV1\n"   unit   record record … end
//     6 bytes     0: the times count calls or steps, 1: nanoseconds
//
//     event   head   time   address   size   [tag]   [alignment]
//             │      │      │         │      │       └ one byte, its binary logarithm, if bit 5 of the head is set
//             │      │      │         │      └ from 1, if bit 4 of the head is set
//             │      │      │         └ bytes; 0 if they are unknown, as in the calls of free
//             │      │      └ the difference to the address of the previous event: 2d if it is d >= 0, else -2d - 1
//             │      └ the difference to the time of the previous event
//             └ one byte: the number of the memory_action in the low four bits
//     name    8   length   bytes       names the next tag; the first one is number 1
//     end     0   events               the number of events; the last record
//
// A log without an end was cut off. The reader refuses it and returns the events before the cut, so that a program that
// crashes leaves a log that can be read.
//
// When to use: to see when and where blocks were live: ./dev view draws a log, and the headers export_*.hpp convert it.
// When not to use: to compare allocators. Use a trace, which has sizes only.
//
// Complexity: O(events).
// Memory: 32 bytes for each event in memory, and usually 6 to 14 bytes in a file.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/inspect/detail/format_reader.hpp>
#include <allot/inspect/detail/varint.hpp>
#include <allot/inspect/format_error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot {
inline namespace v1 {

/// The kind of an event. The numbers are those of the file format.
enum class memory_action : unsigned char {
    allocate = 1,    ///< A block is allocated.
    deallocate,      ///< The block at the address is freed.
    resize,          ///< The block at the address has a new size.
    refuse,          ///< A request of this size failed.
    acquire_region,  ///< The allocator acquires a region of memory.
    release_region,  ///< The allocator releases a region of memory.
    reset,           ///< The allocator frees all blocks and keeps its regions.
};

/// Returns the name of the kind, as exporters write it.
[[nodiscard]] constexpr const char* to_string(memory_action action) noexcept {
    switch (action) {
        case memory_action::allocate: return "allocate";
        case memory_action::deallocate: return "deallocate";
        case memory_action::resize: return "resize";
        case memory_action::refuse: return "refuse";
        case memory_action::acquire_region: return "acquire_region";
        case memory_action::release_region: return "release_region";
        case memory_action::reset: return "reset";
    }
    return "unknown";
}

/// The unit of the times of a log.
enum class time_unit : unsigned char {
    count,        ///< Times count calls or the steps of the program.
    nanoseconds,  ///< Times are nanoseconds from any start.
};

/// One event of a log.
struct memory_event {
    std::uint64_t time = 0;     ///< The time, not before that of the previous event.
    std::uint64_t address = 0;  ///< The address of the block or region; 0 for a refusal and a reset.
    std::uint64_t size = 0;     ///< The size in bytes; 0 if it is unknown.
    std::uint32_t tag = 0;      ///< The number of the tag; 0 for no tag.
    memory_action action = memory_action::allocate;  ///< The kind of the event.
    std::uint8_t align_log2 = 0;                     ///< The binary logarithm of the requested alignment.

    /// Compares all members.
    friend constexpr bool operator==(const memory_event&, const memory_event&) = default;
};

/// The events of an allocator in their order, and the names of the tags.
struct event_log {
    std::vector<memory_event> events{};  ///< The events in their order.
    std::vector<std::string> tags{};     ///< The names of the tags: tag number n is `tags[n - 1]`.
    time_unit unit = time_unit::count;   ///< The unit of the times.

    /// Returns the name of a tag; an empty text for number 0 and for a number without a name.
    [[nodiscard]] std::string_view name_of(std::uint32_t tag) const noexcept {
        return tag == 0 || tag > tags.size() ? std::string_view{} : std::string_view{tags[tag - 1]};
    }
};

namespace detail {

struct event_log_format {
    static constexpr std::string_view magic = "ALEV1\n";
    static constexpr std::uint8_t end = 0, name = 8, kind_bits = 15, has_tag = 16, has_align = 32;
};

class event_log_reader : format_reader {
    using format = event_log_format;

public:
    explicit event_log_reader(std::span<const std::byte> bytes) noexcept : format_reader{bytes} {}

    [[nodiscard]] format_reading<event_log> read() {
        if (header()) {
            made_.events.reserve(left() / 8);  // most events take more than 8 bytes
            do begin_record();
            while (record());
        }
        return {std::move(made_), {reason(), begin()}};
    }

private:
    bool header() {
        if (!magic(format::magic)) return false;
        begin_record();
        std::uint64_t unit = 0;
        if (!number(unit)) return false;
        if (unit > 1) return refuse(format_refusal::unknown_kind);
        made_.unit = static_cast<time_unit>(unit);
        return true;
    }

    /// Reads a record. Returns false after the last one, and after an error.
    bool record() {
        std::uint8_t head = 0;
        if (!byte(head)) return false;
        const std::uint8_t kind = head & format::kind_bits;
        if (head == format::end) return end();
        if (head == format::name) return name();
        if (kind == 0 || kind > static_cast<std::uint8_t>(memory_action::reset) || head >= 64)
            return refuse(format_refusal::unknown_kind);
        memory_event event{.action = static_cast<memory_action>(kind)};
        std::uint64_t passed = 0, moved = 0, tag = 0;
        if (!number(passed) || !number(moved) || !number(event.size)) return false;
        if ((head & format::has_tag) != 0 && !number(tag)) return false;
        if ((head & format::has_align) != 0 && !byte(event.align_log2)) return false;
        if (tag > made_.tags.size()) return refuse(format_refusal::unknown_tag);
        if (event.align_log2 > 63) return refuse(format_refusal::bad_alignment);
        event.tag = static_cast<std::uint32_t>(tag);
        event.address = address_ + (moved % 2 == 0 ? moved / 2 : ~(moved / 2));
        constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
        if (passed > most - time_ || event.size > most - event.address) return refuse(format_refusal::too_large);
        event.time = time_ += passed;
        address_ = event.address;
        made_.events.push_back(event);
        return true;
    }

    bool name() {
        std::string text;
        if (!this->text(text)) return false;
        if (made_.tags.size() == std::numeric_limits<std::uint32_t>::max()) return refuse(format_refusal::too_large);
        made_.tags.push_back(std::move(text));
        return true;
    }

    bool end() {
        std::uint64_t events = 0;
        if (!number(events)) return false;
        if (events != made_.events.size()) return refuse(format_refusal::wrong_count);
        begin_record();
        if (left() != 0) refuse(format_refusal::trailing_bytes);
        return false;
    }

    event_log made_{};
    std::uint64_t time_ = 0, address_ = 0;
};

}  // namespace detail

/// Reads a log. If the bytes are invalid, the result has the events before the error.
[[nodiscard]] inline format_reading<event_log> read_event_log(std::span<const std::byte> bytes) {
    return detail::event_log_reader{bytes}.read();
}

/// Writes a log. A program that records for a long time writes the result of `take` to a file from time to time, and at
/// the end `take` after `finish`.
class event_log_writer {
    using format = detail::event_log_format;

public:
    /// Starts a log with times in a unit.
    explicit event_log_writer(time_unit unit = time_unit::count) {
        detail::append_text(format::magic, bytes_);
        detail::append_varint(static_cast<std::uint64_t>(unit), bytes_);
    }

    /// Adds a tag and returns its number.
    std::uint32_t tag(std::string_view name) {
        detail::append_varint(format::name, bytes_);
        detail::append_varint(name.size(), bytes_);
        detail::append_text(name, bytes_);
        return ++tags_;
    }

    /// Adds an event. A time before that of the previous event is replaced by that time. Preconditions: the tag is 0 or
    /// a result of `tag`, and the last byte of the block has an address of 64 bits.
    void add(const memory_event& event) {
        std::uint8_t head = static_cast<std::uint8_t>(event.action);
        if (event.tag != 0) head |= format::has_tag;
        if (event.align_log2 != 0) head |= format::has_align;
        bytes_.push_back(static_cast<std::byte>(head));
        const std::uint64_t passed = event.time < time_ ? 0 : event.time - time_;
        detail::append_varint(passed, bytes_);
        const std::uint64_t moved = event.address - address_;
        detail::append_varint(moved >> 63 == 0 ? 2 * moved : 2 * ~moved + 1, bytes_);
        detail::append_varint(event.size, bytes_);
        if (event.tag != 0) detail::append_varint(event.tag, bytes_);
        if (event.align_log2 != 0) bytes_.push_back(static_cast<std::byte>(event.align_log2));
        time_ += passed;
        address_ = event.address;
        ++events_;
    }

    /// Adds the last record. Only `take` may be called afterward.
    void finish() { append_end(bytes_); }

    /// Returns the bytes that were added since the last call, and forgets them.
    [[nodiscard]] std::vector<std::byte> take() { return std::exchange(bytes_, {}); }

    /// Returns a complete log. Preconditions: `take` and `finish` were not called.
    [[nodiscard]] std::vector<std::byte> bytes() const {
        std::vector<std::byte> all = bytes_;
        append_end(all);
        return all;
    }

private:
    void append_end(std::vector<std::byte>& to) const {
        to.push_back(static_cast<std::byte>(format::end));
        detail::append_varint(events_, to);
    }

    std::vector<std::byte> bytes_{};
    std::uint64_t time_ = 0, address_ = 0, events_ = 0;
    std::uint32_t tags_ = 0;
};

}  // namespace v1
}  // namespace allot
