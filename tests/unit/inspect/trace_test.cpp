#include <allot/inspect/trace.hpp>

#include "../../texts.hpp"
#include "../plan/problems.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace {

using allot::trace_action, allot::format_refusal, allot::trace_operation;
using bytes = std::vector<std::byte>;

// Returns the magic bytes, followed by the given bytes.
bytes after_magic(std::initializer_list<unsigned> values) {
    bytes all;
    for (const char letter : {'A', 'L', 'T', 'R', '1', '\n'}) all.push_back(static_cast<std::byte>(letter));
    for (const unsigned value : values) all.push_back(static_cast<std::byte>(value));
    return all;
}

void check_refusal(const bytes& of, format_refusal reason, std::size_t position) {
    const auto read = allot::read_trace(of);
    CHECK(!read);
    CHECK(std::string{allot::to_string(reason)} == read.error.what());
    CHECK(read.error.position == position);
}

void check_operation(const trace_operation& each, trace_action action, std::uint32_t slot, std::uint64_t size,
                     std::uint64_t align) {
    CHECK(each.action == action);
    CHECK(each.slot == slot);
    CHECK(each.size == size);
    CHECK(each.align() == align);
}

}  // namespace

TEST_CASE("trace: the bytes match the documented format") {
    // 5 events, 3 allocations: 100 bytes at 16; 300 at 256; free the older; resize the other to 0; reset.
    const bytes written = after_magic({5, 3, 0x90, 0x03, 0xB1, 0x09, 8, 0x06, 0x03, 0, 0x01, 255});
    allot::trace_writer writer;
    const auto first = writer.allocate(100);
    const auto second = writer.allocate(300, 256);
    writer.deallocate(first);
    CHECK(writer.resize(second, 0) == 2);
    writer.reset();
    CHECK(writer.bytes() == written);

    const auto read = allot::read_trace(written);
    REQUIRE(read);
    REQUIRE(read.value.operations.size() == 7);
    check_operation(read.value.operations[0], trace_action::allocate, 0, 100, 16);
    check_operation(read.value.operations[1], trace_action::allocate, 1, 300, 256);
    check_operation(read.value.operations[2], trace_action::deallocate, 0, 100, 16);
    check_operation(read.value.operations[3], trace_action::allocate, 0, 1, 16);  // before the old block is deallocated
    check_operation(read.value.operations[4], trace_action::deallocate, 1, 300, 256);
    check_operation(read.value.operations[5], trace_action::deallocate, 0, 1, 16);
    CHECK(read.value.operations[6].action == trace_action::reset);
    CHECK(read.value.slots == 2);
    CHECK(read.value.peak == 400);
    CHECK(read.value.largest == 300);
    CHECK(read.value.least_align == 16);
    CHECK(read.value.most_align == 256);
}

TEST_CASE("trace: an empty trace is valid") {
    const auto read = allot::read_trace(allot::trace_writer{}.bytes());
    REQUIRE(read);
    CHECK(read.value.operations.empty());
    CHECK(read.value.slots == 0);
}

TEST_CASE("trace: reads random traces as written, with one live block in each slot") {
    problems::random random{6};
    for (std::size_t round = 0; round != problems::times(50); ++round) {
        allot::trace_writer writer;
        std::map<std::uint64_t, std::uint64_t> live;  // sizes, by block number
        std::vector<std::uint64_t> sizes;             // of all allocations, in order
        std::size_t resets = 0;
        for (std::size_t i = 0; i != 300; ++i) {
            const std::uint64_t size = random(4) == 0 ? random(1ull << 40) : random(100);
            const auto one =
                std::next(live.begin(), live.empty() ? 0 : static_cast<std::ptrdiff_t>(random(live.size())));
            if (live.empty() || random(5) < 2) {
                live[writer.allocate(size, 1ull << random(64))] = size;
                sizes.push_back(size);
            } else if (random(3) == 0) {
                live[writer.resize(one->first, size)] = size;
                live.erase(one);
                sizes.push_back(size);
            } else if (random(40) == 0) {
                writer.reset();
                live.clear();
                ++resets;
            } else {
                writer.deallocate(one->first);
                live.erase(one);
            }
        }
        const auto read = allot::read_trace(writer.bytes());
        REQUIRE(read);
        std::map<std::uint32_t, trace_operation> held;
        std::size_t allocations = 0;
        for (const trace_operation& each : read.value.operations) {
            if (each.action == trace_action::reset) {
                CHECK(held.empty());
                --resets;
            } else if (each.action == trace_action::allocate) {
                REQUIRE(held.emplace(each.slot, each).second);
                REQUIRE(allocations < sizes.size());
                CHECK(each.size == std::max<std::uint64_t>(sizes[allocations++], 1));
                CHECK(each.slot < read.value.slots);
            } else {
                REQUIRE(held.count(each.slot) == 1);
                CHECK(held[each.slot].size == each.size);
                CHECK(held[each.slot].align_log2 == each.align_log2);
                held.erase(each.slot);
            }
        }
        CHECK(resets == 0);
        CHECK(allocations == sizes.size());
        CHECK(held.size() == live.size());
    }
}

TEST_CASE("trace: rejects invalid bytes, with the position of the error") {
    check_refusal({}, format_refusal::other_format, 0);
    check_refusal(bytes(100, std::byte{'A'}), format_refusal::other_format, 0);
    check_refusal(after_magic({}), format_refusal::truncated, 6);
    check_refusal(after_magic({1}), format_refusal::truncated, 7);
    check_refusal(after_magic({1, 1, 0x80}), format_refusal::truncated, 8);                   // inside a number
    check_refusal(after_magic({2, 1, 0x40}), format_refusal::truncated, 9);                   // before the last event
    check_refusal(after_magic({1, 1, 0x41}), format_refusal::truncated, 8);                   // without its alignment
    check_refusal(after_magic({2, 2, 0x40, 0x43}), format_refusal::truncated, 9);             // without its age
    check_refusal(after_magic({1, 1, 0x41, 64}), format_refusal::bad_alignment, 8);           // 1 << 64
    check_refusal(after_magic({1, 0, 0x41, 255}), format_refusal::bad_alignment, 8);          // a reset with a size
    check_refusal(after_magic({1, 0, 0x02}), format_refusal::unknown_block, 8);               // no block exists
    check_refusal(after_magic({2, 1, 0x40, 0x06}), format_refusal::unknown_block, 9);         // only one block exists
    check_refusal(after_magic({2, 2, 0x40, 0x43, 1}), format_refusal::unknown_block, 9);      // the same for a resize
    check_refusal(after_magic({3, 1, 0x40, 0x02, 0x02}), format_refusal::not_live, 10);       // deallocated twice
    check_refusal(after_magic({3, 1, 0x40, 0x01, 255, 0x02}), format_refusal::not_live, 11);  // reset before
    check_refusal(after_magic({3, 2, 0x40, 0x43, 0, 0x06}), format_refusal::not_live, 11);    // resized before
    check_refusal(after_magic({3, 2, 0x40, 0x02, 0x43, 0}), format_refusal::not_live, 10);    // resized after
    check_refusal(after_magic({1, 0, 0x40}), format_refusal::wrong_count, 9);
    check_refusal(after_magic({1, 1, 0x40, 0x40}), format_refusal::trailing_bytes, 9);
    // A count of events that no file can hold: fails at the end of the bytes, without a large allocation.
    check_refusal(after_magic({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0}), format_refusal::truncated,
                  17);
}

TEST_CASE("trace: rejects numbers and sums of more than 64 bits") {
    check_refusal(after_magic({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2}),
                  format_refusal::number_too_large, 6);
    check_refusal(after_magic({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}),
                  format_refusal::number_too_large, 6);

    constexpr std::uint64_t largest = (std::uint64_t{1} << 62) - 1;
    allot::trace_writer writer;
    for (int i = 0; i != 4; ++i) writer.allocate(largest);
    auto read = allot::read_trace(writer.bytes());
    REQUIRE(read);
    CHECK(read.value.peak == 4 * largest);
    writer.allocate(4);
    check_refusal(writer.bytes(), format_refusal::too_large, 8 + 4 * 10);
}

TEST_CASE("trace: any bytes are either read or rejected") {
    problems::random random{7};
    allot::trace_writer writer;
    for (std::uint64_t i = 0; i != 30; ++i) {
        writer.allocate(random(5000), random(2) == 0 ? 16 : 256);
        if (i % 3 == 2) writer.deallocate(i - 2);
    }
    const bytes whole = writer.bytes();
    for (std::size_t length = 0; length != whole.size(); ++length)
        CHECK(!allot::read_trace(std::span{whole}.first(length)));
    std::size_t refused = 0;
    for (std::size_t round = 0; round != problems::times(5000); ++round) {
        bytes changed = whole;
        changed[6 + random.index(changed.size() - 6)] = static_cast<std::byte>(random(256));
        if (const auto read = allot::read_trace(changed); !read) {
            ++refused;
            CHECK(read.error.position <= changed.size());
        } else {
            CHECK(read.value.operations.size() >= 40);
        }
    }
    CHECK(refused > 0);
}

TEST_CASE("trace: every reason has its own text") {
    texts::check_distinct_up_to(format_refusal::trailing_bytes);
    CHECK(std::string{allot::format_error{format_refusal::trailing_bytes, 1}.what()} == "bytes follow the last record");
}

TEST_CASE("trace: the operations before an error are returned") {
    // 5 events: allocate 100; allocate 300; free the older; resize the other to 7; free a block that is not there.
    const bytes whole = after_magic({5, 3, 0x90, 0x03, 0xB0, 0x09, 0x06, 0x1F, 0, 0xFE, 0x01});
    const std::size_t ends[] = {8, 10, 12, 13, 15, 17};  // of the counts and of each event
    const std::size_t operations[] = {0, 1, 2, 3, 5, 5};
    std::size_t events = 0;
    for (std::size_t size = 0; size <= whole.size(); ++size) {
        const auto read = allot::read_trace(std::span{whole}.first(size));
        CHECK(!read);
        if (size < ends[0]) {
            CHECK(read.error.reason == (size < 4 ? format_refusal::other_format : format_refusal::truncated));
            CHECK(read.value.operations.empty());
            continue;
        }
        while (events != 5 && ends[events + 1] <= size) ++events;
        const bool last = events == 5;
        CHECK(read.error.reason == (last ? format_refusal::unknown_block : format_refusal::truncated));
        CHECK(read.error.position == (last ? ends[4] : ends[events]));
        CHECK(read.value.operations.size() == operations[events]);
        CHECK(read.value.slots == (events > 1 ? 2 : events));
        CHECK(read.value.peak == (events > 1 ? 400 : events * 100));
    }
    const auto good = allot::read_trace(after_magic({1, 1, 0x40}));
    CHECK(good);
    CHECK(good.error.position == 0);
    CHECK(good.value.operations.size() == 1);
}
