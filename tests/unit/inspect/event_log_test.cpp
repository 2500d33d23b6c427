#include <allot/inspect/event_log.hpp>

#include "../../texts.hpp"
#include "../plan/problems.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace {

using allot::event_log, allot::event_log_writer, allot::format_refusal, allot::memory_action, allot::memory_event;
using bytes = std::vector<std::byte>;

// Returns the magic letters and the unit, followed by the given bytes.
bytes after_unit(std::initializer_list<unsigned> values) {
    bytes all;
    for (const char letter : {'A', 'L', 'E', 'V', '1', '\n', '\0'}) all.push_back(static_cast<std::byte>(letter));
    for (const unsigned value : values) all.push_back(static_cast<std::byte>(value));
    return all;
}

void check_refusal(const bytes& of, format_refusal reason, std::size_t position, std::size_t events) {
    const auto read = allot::read_event_log(of);
    CHECK(!read);
    CHECK(std::string{allot::to_string(reason)} == read.error.what());
    CHECK(read.error.position == position);
    CHECK(read.value.events.size() == events);
}

event_log random_log(problems::random& random, std::size_t events) {
    event_log log{.unit = random(2) == 0 ? allot::time_unit::count : allot::time_unit::nanoseconds};
    std::uint64_t time = random(1000);
    for (std::size_t i = 0; i != events; ++i) {
        if (random(10) == 0) log.tags.push_back(std::string(random.index(5), 'x') + std::to_string(i));
        memory_event event{.time = time += random(3) == 0 ? random(1ull << 40) : random(2),
                           .address = random(4) == 0 ? random(~0ull) : random(1 << 20),
                           .action = static_cast<memory_action>(1 + random(7))};
        event.size = random(3) == 0 ? ~0ull - event.address : random(5000) % (~0ull - event.address);
        if (!log.tags.empty() && random(2) == 0) event.tag = static_cast<std::uint32_t>(1 + random(log.tags.size()));
        if (random(2) == 0) event.align_log2 = static_cast<std::uint8_t>(random(64));
        log.events.push_back(event);
    }
    return log;
}

bytes written(const event_log& log) {
    event_log_writer writer{log.unit};
    for (const std::string& name : log.tags) writer.tag(name);
    for (const memory_event& event : log.events) writer.add(event);
    return writer.bytes();
}

}  // namespace

TEST_CASE("event_log: the bytes match the documented format") {
    const bytes expected = after_unit({8,    1, 'w',                 // tag 1 is w
                                       0x11, 5, 0x80, 0x40, 100, 1,  // at 5, 4096: 100 bytes with tag 1
                                       0x21, 0, 0xC8, 0x01, 0,   8,  // at 5, 4196: aligned to 256
                                       2,    2, 0xC7, 0x01, 100,     // at 7, 4096: freed
                                       4,    0, 0xFF, 0x3F, 0,   7, 0, 0, 0, 0, 4});  // refused; reset; 4 events
    event_log_writer writer;
    const std::uint32_t tag = writer.tag("w");
    CHECK(tag == 1);
    writer.add({.time = 5, .address = 4096, .size = 100, .tag = tag});
    writer.add({.time = 5, .address = 4196, .align_log2 = 8});
    writer.add({.time = 7, .address = 4096, .size = 100, .action = memory_action::deallocate});
    writer.add({.time = 6, .action = memory_action::refuse});  // a time before the previous one
    writer.add({.time = 7, .action = memory_action::reset});
    bytes made = writer.bytes();
    CHECK(made.back() == std::byte{5});
    made.back() = std::byte{4};
    CHECK(made == expected);

    made.back() = std::byte{5};
    const auto read = allot::read_event_log(made);
    REQUIRE(read);
    REQUIRE(read.value.events.size() == 5);
    CHECK(read.value.unit == allot::time_unit::count);
    CHECK(read.value.name_of(1) == "w");
    CHECK(read.value.name_of(0).empty());
    CHECK(read.value.name_of(2).empty());
    CHECK(read.value.events[0] == memory_event{.time = 5, .address = 4096, .size = 100, .tag = 1});
    CHECK(read.value.events[1] == memory_event{.time = 5, .address = 4196, .align_log2 = 8});
    CHECK(read.value.events[2].address == 4096);
    CHECK(read.value.events[3] == memory_event{.time = 7, .action = memory_action::refuse});
}

TEST_CASE("event_log: reads random logs as written, at once and in pieces") {
    problems::random random{11};
    for (std::size_t round = 0; round != problems::times(50); ++round) {
        const event_log log = random_log(random, random.index(200));
        const bytes whole = written(log);
        const auto read = allot::read_event_log(whole);
        REQUIRE(read);
        CHECK(read.value.events == log.events);
        CHECK(read.value.tags == log.tags);
        CHECK(read.value.unit == log.unit);

        event_log_writer writer{log.unit};
        bytes pieces;
        const auto take = [&] {
            const bytes part = writer.take();
            pieces.insert(pieces.end(), part.begin(), part.end());
        };
        for (const std::string& name : log.tags) writer.tag(name);
        for (const memory_event& event : log.events) {
            writer.add(event);
            if (random(10) == 0) take();
        }
        writer.finish();
        take();
        CHECK(pieces == whole);
    }
}

TEST_CASE("event_log: a log that is cut off is refused, and its first events are read") {
    problems::random random{12};
    const event_log log = random_log(random, 60);
    const bytes whole = written(log);
    std::size_t most = 0;
    for (std::size_t length = 0; length != whole.size(); ++length) {
        const auto read = allot::read_event_log(std::span{whole}.first(length));
        REQUIRE(!read);
        CHECK(read.error.reason == (length < 4 ? format_refusal::other_format : format_refusal::truncated));
        CHECK(read.error.position <= length);
        CHECK(read.value.events.size() >= most);
        most = read.value.events.size();
        for (std::size_t i = 0; i != most; ++i) REQUIRE(read.value.events[i] == log.events[i]);
    }
    CHECK(most == log.events.size());
}

TEST_CASE("event_log: rejects invalid bytes, with the position of the record") {
    check_refusal({}, format_refusal::other_format, 0, 0);
    check_refusal(bytes(100, std::byte{'A'}), format_refusal::other_format, 0, 0);
    bytes later = after_unit({0, 0});
    later[4] = std::byte{'2'};
    check_refusal(later, format_refusal::other_version, 0, 0);
    bytes unit = after_unit({0, 0});
    unit[6] = std::byte{2};
    check_refusal(unit, format_refusal::unknown_kind, 6, 0);
    check_refusal(after_unit({}), format_refusal::truncated, 7, 0);
    check_refusal(after_unit({1, 0, 0, 5, 9, 0, 0, 5}), format_refusal::unknown_kind, 11, 1);
    check_refusal(after_unit({0x41, 0, 0, 5}), format_refusal::unknown_kind, 7, 0);    // an unknown flag
    check_refusal(after_unit({0x10, 0, 0, 5}), format_refusal::unknown_kind, 7, 0);    // an end with a flag
    check_refusal(after_unit({0x11, 0, 0, 5, 1}), format_refusal::unknown_tag, 7, 0);  // before its name
    check_refusal(after_unit({0x21, 0, 0, 5, 64}), format_refusal::bad_alignment, 7, 0);
    check_refusal(after_unit({1, 0, 1, 1}), format_refusal::too_large, 7, 0);  // the last address and one byte
    check_refusal(after_unit({1, 0, 0, 5, 0, 2}), format_refusal::wrong_count, 11, 1);
    check_refusal(after_unit({1, 0, 0, 5, 0, 1, 7}), format_refusal::trailing_bytes, 13, 1);
    check_refusal(after_unit({8, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 'w'}), format_refusal::truncated, 7, 0);
    check_refusal(after_unit({1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2, 0, 0}),
                  format_refusal::number_too_large, 7, 0);
    check_refusal(after_unit({1, 1, 0, 5, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0, 0}),
                  format_refusal::too_large, 11, 1);  // a time of more than 64 bits
}

TEST_CASE("event_log: any bytes are either read or rejected") {
    problems::random random{13};
    const bytes whole = written(random_log(random, 40));
    std::size_t refused = 0;
    for (std::size_t round = 0; round != problems::times(5000); ++round) {
        bytes changed = whole;
        changed[random.index(changed.size())] = static_cast<std::byte>(random(256));
        const auto read = allot::read_event_log(changed);
        if (!read) {
            ++refused;
            CHECK(read.error.position <= changed.size());
        }
        for (const memory_event& event : read.value.events) {
            CHECK(event.tag <= read.value.tags.size());
            CHECK(event.size <= ~0ull - event.address);
        }
    }
    CHECK(refused > 0);
}

TEST_CASE("event_log: every reason and every action has its own text") {
    texts::check_distinct_up_to(format_refusal::trailing_bytes);
    std::string all;
    for (unsigned i = 1; i != 8; ++i) all += std::string{allot::to_string(static_cast<memory_action>(i))} + " ";
    CHECK(all == "allocate deallocate resize refuse acquire_region release_region reset ");
}
