// The exporters of event logs and snapshots. examples/apps/memory_viewer/check.py reads their files with other
// programs.
#include <allot/inspect/export_json.hpp>
#include <allot/inspect/export_perfetto.hpp>
#include <allot/inspect/export_pytorch.hpp>
#include <allot/inspect/export_vma.hpp>

#include "../plan/problems.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

using allot::event_log, allot::memory_action, allot::memory_event, allot::snapshot;

// Returns the file of an exporter.
template <class Export>
std::string written(Export exporter) {
    std::string all;
    exporter([&](std::string_view part) {
        CHECK(!part.empty());
        all += part;
    });
    return all;
}

event_log sample() {
    return {.events = {{.time = 5, .address = 4096, .size = 100, .tag = 1, .align_log2 = 6},
                       {.time = 9, .address = 4096, .action = memory_action::deallocate}},
            .tags = {"w\"\n"},
            .unit = allot::time_unit::nanoseconds};
}

std::string bytes_of(std::initializer_list<unsigned> values) {
    std::string all;
    for (const unsigned value : values) all += static_cast<char>(value);
    return all;
}

}  // namespace

TEST_CASE("export: JSON matches the documented text") {
    CHECK(written([](auto write) { allot::export_json(sample(), write); }) ==
          "{\"format\":\"allot events\",\"version\":1,\"time_unit\":\"ns\",\"tags\":[\"w\\\"\\u000a\"],\"events\":[\n"
          "{\"time\":5,\"action\":\"allocate\",\"address\":4096,\"size\":100,\"tag\":1,\"align_log2\":6},\n"
          "{\"time\":9,\"action\":\"deallocate\",\"address\":4096}]}\n");
    const snapshot state{
        .allocator = "a", .statistics = {.used = 7}, .regions = {{1, 9}}, .blocks = {{1, 7, 0}}, .holes = {}};
    CHECK(written([&](auto write) { allot::export_json(state, write); }) ==
          "{\"format\":\"allot snapshot\",\"version\":1,\"allocator\":\"a\",\"tags\":[],\n\"statistics\":{\"used\":7,"
          "\"count\":0,\"peak\":0,\"requests\":0,\"refusals\":0,\"free\":0,\"largest_hole\":0,\"holes\":0},\n"
          "\"regions\":[\n{\"address\":1,\"size\":9}],\n\"blocks\":[\n{\"address\":1,\"size\":7}],\n\"holes\":[]}\n");
}

TEST_CASE("export: names become UTF-8") {
    const auto name = [](std::string_view text) { return allot::detail::as_utf8(text); };
    CHECK(name("a\x7F\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80") == "a\x7F\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80");
    const std::string other = "\xEF\xBF\xBD";
    CHECK(name("\xC3") == other);                                // cut off
    CHECK(name("\xC3x") == other + "x");                         // without its second byte
    CHECK(name("\x80") == other);                                // without its first byte
    CHECK(name("\xC0\xAF") == other + other);                    // longer than needed
    CHECK(name("\xE0\x9F\xBF") == other + other + other);        // longer than needed
    CHECK(name("\xED\xA0\x80") == other + other + other);        // a surrogate
    CHECK(name("\xF4\x90\x80\x80").size() == 4 * other.size());  // above U+10FFFF
    CHECK(name("\xF5\x80\x80\x80").size() == 4 * other.size());
}

TEST_CASE("export: VMA matches the documented structure") {
    const snapshot state{.allocator = "gpu",
                         .tags = {"w"},
                         .regions = {{4096, 100}, {8192, 8}},
                         .blocks = {{4100, 10, 1}, {4120, 20, 0}},
                         .holes = {{4150, 40}}};
    const std::string stats =
        "{\"BlockCount\":2,\"BlockBytes\":108,\"AllocationCount\":2,\"AllocationBytes\":40,\"UnusedRangeCount\":3,"
        "\"AllocationSizeMin\":20,\"AllocationSizeMax\":20,\"UnusedRangeSizeMin\":4,\"UnusedRangeSizeMax\":56}";
    CHECK(written([&](auto write) { allot::export_vma(state, write); }) ==
          "{\"General\":{\"API\":\"Vulkan\",\"GPU\":\"gpu\"},\n\"Total\":" + stats +
              ",\n\"MemoryInfo\":{\"Heap 0\":{\"Flags\":[],\"Size\":108,\"Budget\":{\"BudgetBytes\":108,"
              "\"UsageBytes\":108},\"Stats\":" +
              stats + ",\"MemoryPools\":{\"Type 0\":{\"Flags\":[],\"Stats\":" + stats +
              "}}}},\n\"DefaultPools\":{\"Type 0\":{\"PreferredBlockSize\":100,\"Blocks\":{\n"
              "\"0\":{\"TotalBytes\":100,\"UnusedBytes\":60,\"Allocations\":2,\"UnusedRanges\":2,\"Suballocations\":[\n"
              "{\"Offset\":0,\"Type\":\"FREE\",\"Size\":4},\n"
              "{\"Offset\":4,\"Type\":\"UNKNOWN\",\"Size\":20,\"Usage\":0,\"Name\":\"w\"},\n"
              "{\"Offset\":24,\"Type\":\"UNKNOWN\",\"Size\":20,\"Usage\":0},\n"
              "{\"Offset\":44,\"Type\":\"FREE\",\"Size\":56}]},\n"
              "\"1\":{\"TotalBytes\":8,\"UnusedBytes\":8,\"Allocations\":0,\"UnusedRanges\":1,\"Suballocations\":[\n"
              "{\"Offset\":0,\"Type\":\"FREE\",\"Size\":8}]}},\"DedicatedAllocations\":[]}},\n\"CustomPools\":{}}\n");
}

TEST_CASE("export: Perfetto's packets match its .proto files") {
    const event_log log{.events = {{.time = 7, .action = memory_action::reset}}};
    const std::string file = written([&](auto write) { allot::export_perfetto(log, write); });
    // After the descriptors: an instant with the name, and the counters of live bytes, live blocks and held bytes.
    const auto counter = [](unsigned track) {
        return bytes_of({0x0A, 13, 0x40, 7, 0x50, 1, 0x5A, 7, 0x48, 4, 0x58, track, 0xF0, 1, 0});
    };
    const std::string expected = bytes_of({0x0A, 18, 0x40, 7, 0x50, 1, 0x5A, 12, 0x48, 3, 0x58, 5, 0xBA, 1, 5}) +
                                 "reset" + counter(2) + counter(3) + counter(4);
    REQUIRE(file.size() > expected.size());
    CHECK(file.substr(file.size() - expected.size()) == expected);
    const std::string first = bytes_of({0x0A, 15, 0x50, 1, 0xE2, 3, 10, 8, 1, 0x12, 6}) + "memory";
    CHECK(file.substr(0, first.size()) == first);
}

TEST_CASE("export: PyTorch's pickle starts and ends as documented") {
    const std::string file = written([](auto write) { allot::export_pytorch(event_log{}, write); });
    CHECK(file == bytes_of({0x80, 2, '}', '(', 'X', 8, 0, 0, 0}) + "segments" +
                      bytes_of({'q', 0, ']', '(', 'e', 'X', 13, 0, 0, 0}) + "device_traces" +
                      bytes_of({'q', 1, ']', '(', ']', '(', 'e', 'e', 'u', '.'}));
}

TEST_CASE("export: any events and states are written, in parts that do not depend on each other") {
    problems::random random{41};
    for (std::size_t round = 0; round != problems::times(20); ++round) {
        event_log log{.tags = {"a", "b\xFF"}};
        for (std::size_t i = 0; i != 3000; ++i) {
            const std::uint64_t address = random(50) == 0 ? random(~0ull) : random(3000);
            const std::uint64_t most = ~0ull - address;
            log.events.push_back({.time = i,
                                  .address = address,
                                  .size = std::min(most, random(50) == 0 ? random(~0ull) : random(200)),
                                  .tag = static_cast<std::uint32_t>(random(4)),
                                  .action = static_cast<memory_action>(1 + random(7))});
        }
        CHECK(written([&](auto write) { allot::export_json(log, write); }).ends_with("}]}\n"));
        CHECK(written([&](auto write) { allot::export_pytorch(log, write); }).ends_with("."));
        CHECK(written([&](auto write) { allot::export_perfetto(log, write); }).size() > 3000);
        const snapshot state = allot::snapshot_at(log, random.index(3001));
        CHECK(written([&](auto write) { allot::export_vma(state, write); }).ends_with("\"CustomPools\":{}}\n"));
        CHECK(written([&](auto write) { allot::export_pytorch(state, write); }).ends_with("."));
        const allot::detail::region_layout layout{state};
        for (const allot::detail::region_pieces& region : layout.regions()) {
            std::uint64_t at = region.where.address;
            for (const allot::detail::region_piece& each : region.pieces) {
                CHECK(each.from == at);
                CHECK(each.end > at);
                at = each.end;
            }
            CHECK(at == region.where.end());
        }
    }
}
