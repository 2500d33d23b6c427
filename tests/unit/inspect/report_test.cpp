#include <allot/allot.hpp>
#include <allot/inspect/report.hpp>

#include <doctest/doctest.h>

#include <mutex>
#include <string>

namespace {

using allot::report;
using allot::report_format;
using bytes =
    allot::arena<allot::host::buffer, allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>>;

alignas(64) std::byte storage[1000];
bytes memory_at(std::size_t size) { return bytes{allot::host::buffer{storage, size}}; }

bool has(const std::string& text, const std::string& words) {
    INFO(text);
    INFO(words);
    return text.find(words) != std::string::npos;
}

// Memory of a device, whose error code is known.
struct refusing {
    using address_model = allot::handle_offset<int>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr auto dl_device = allot::dl_device_type::ext_dev;
    int left = 2;
    [[nodiscard]] allot::acquired<refusing> acquire(allot::layout wanted) noexcept {
        if (left == 0) return allot::acquired<refusing>::failure(-61);
        --left;
        return allot::region<address_model::address>{{left, 0}, wanted.size, 64};
    }
    void release(allot::region<address_model::address>) noexcept {}
};

}  // namespace

TEST_CASE("report: the text has the request, the holes, the counters and the tags") {
    allot::tagged memory{allot::counted{memory_at(1000)}};
    REQUIRE(memory.allocate({.size = 300, .align = 1}, "a"));
    const auto hole = memory.allocate({.size = 200, .align = 1}, "b");
    REQUIRE(memory.allocate({.size = 300, .align = 1}, "c"));
    REQUIRE(memory.allocate({.size = 1, .align = 1}, {"file.cpp", 7}));
    memory.deallocate(hole);
    const allot::layout wanted{.size = 250, .align = 1};
    REQUIRE(!memory.allocate(wanted, "b"));
    std::string expected =
        "request of 250 bytes aligned to 1: refused, enough bytes are free, but no hole fits the size and alignment\n"
        "memory of 1000 bytes in 1 region\n"
        "  601 bytes in 3 blocks, 801 bytes at the peak, 1 of 5 requests refused\n"
        "  399 bytes free in 2 holes, the largest has 200 bytes, 49% of the free bytes are outside it\n"
        "  after compaction, the largest hole has 399 bytes: enough for the request\n"
        "  300 bytes in 1 block: a (300 bytes at the peak)\n"
        "  300 bytes in 1 block: c (300 bytes at the peak)\n"
        "  1 byte in 1 block: file.cpp:7 (1 byte at the peak)\n"
        "  0 bytes in 0 blocks: b (200 bytes at the peak, 1 of its requests refused)\n"
        "  region at 0x";
    const std::string text = report(memory, wanted);
    CHECK(text.substr(0, expected.size()) == expected);
    CHECK(has(text, ": 1000 bytes, 399 bytes free in 2 holes, the largest has 200 bytes\n"));

    const std::string shorter = report(memory, wanted, {.tags = 1, .regions = 0});
    CHECK(has(shorter, "bytes in 1 block: a "));
    CHECK(has(shorter, "\n  and 3 more tags\n  and 1 more region\n"));
    CHECK(!has(shorter, ": c "));

    CHECK(has(report(memory, {.size = 500, .align = 1}), "has 399 bytes: too few\n"));
    CHECK(has(report(memory, {.size = 50, .align = 1}), ": would be served now\n"));
    CHECK(has(report(memory, {.size = 50, .align = 3}), ": refused, the alignment is not a power of two\n"));
    const std::string state = report(memory);
    CHECK(state.starts_with("memory of 1000 bytes"));
    CHECK(has(state, "the largest hole has 399 bytes\n"));
}

TEST_CASE("report: the same as JSON") {
    allot::tagged memory{allot::counted{memory_at(1000)}};
    REQUIRE(memory.allocate({.size = 300, .align = 1}, "say \"a\\b\"\n"));
    const std::string json = report(memory, {.size = 800, .align = 2}, {.format = report_format::json});
    const std::string expected =
        R"({"request":{"size":800,"align":2},"reason":"exhausted","what":"fewer bytes are free than were asked for",)"
        R"("memory":{"size":1000,"used":300,"blocks":1,"peak":300,"requests":1,"refusals":0,"free":700,"holes":1,)"
        R"("largest_hole":700,"largest_hole_after_compaction":700,"enough_after_compaction":false,)"
        R"("tags":[{"name":"say \"a\\b\"\u000a","used":300,"blocks":1,"peak":300,"requests":1,"refusals":0}],)"
        R"("regions":[{"base":)";
    CHECK(json.substr(0, expected.size()) == expected);
    CHECK(has(json, R"(,"size":1000,"align":)"));
    CHECK(json.ends_with(R"("free":700,"holes":1,"largest_hole":700}]}})"
                         "\n"));
}

TEST_CASE("report: a buffer receives as much as fits, and the length of the whole text is known") {
    bytes memory = memory_at(100);
    const std::string whole = report(memory, {.size = 5});
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{50}, whole.size(), whole.size() + 1}) {
        std::string text(size, '#');
        CHECK(report(memory, {.size = 5}, std::span<char>{text.data(), size}) == whole.size());
        if (size == 0) continue;
        CHECK(text == whole.substr(0, size - 1) + '\0');
    }
    char exact[1000];
    CHECK(report(memory, {.size = 5}, exact) == whole.size());
    CHECK(exact == whole);
}

TEST_CASE("report: each part of a fallback has its own reason, and a device its error code") {
    allot::counted fast{memory_at(100)};
    using grows = allot::arena<refusing, allot::best_fit<>,
                               allot::growth::fixed<allot::growth_options{.step = 128, .limit = 10'000}>>;
    grows slow{refusing{}};
    REQUIRE(slow.allocate({.size = 100}));
    REQUIRE(slow.allocate({.size = 100}));
    REQUIRE(!slow.allocate({.size = 100}));
    CHECK(has(report(slow, {.size = 100}), ": refused, the device refused to give memory (error -61)\n"));
    CHECK(has(report(slow, {.size = 100}), "memory of 256 bytes in 2 regions\n"));
    // Compaction merges no holes of different regions: 28 bytes are free in each.
    CHECK(has(report(slow, {.size = 30}), "56 bytes free in 2 holes"));
    CHECK(has(report(slow, {.size = 30}), "after compaction, the largest hole has 28 bytes: too few\n"));
    CHECK(has(report(slow, {.size = 100}, {.format = report_format::json}), R"("device_error":-61)"));

    using first = allot::arena<allot::host::buffer, allot::bump<>>;
    first scratch{allot::host::buffer{storage, 64}};
    using second = allot::arena<allot::host::heap, allot::best_fit<>>;
    second general{{}, 4096};
    allot::fallback both{scratch, allot::tagged{general}};
    REQUIRE(both.allocate({.size = 2000}));
    const std::string text = report(both, {.size = 3000});
    CHECK(
        has(text, "\n  part 1 (request refused, fewer bytes are free than were asked for) of 64 bytes in 1 region\n"));
    CHECK(has(text,
              "\n  part 2 (request refused, fewer bytes are free than were asked for) of 4096 bytes in 1 region\n"));
    CHECK(has(text, "\n    2000 bytes in 1 block: "));
    const auto most = [](const std::string& of) { return of.substr(of.find("after compaction, "), 50); };
    CHECK(most(text) == most(report(general, {.size = 3000})));  // holes of different allocators do not merge
    CHECK(has(report(both, {.size = 3000}, {.format = report_format::json}), R"("parts":[{"reason":"exhausted",)"));
}

TEST_CASE("report: the branches of a segregated allocator, and the rows and tables of a paged one, are parts") {
    using general = allot::arena<allot::host::heap, allot::best_fit<>>;
    using slots = allot::arena<allot::host::static_storage<640>, allot::pool<allot::pool_options{.slot = 64}>>;
    slots small;
    general large{{}, 4096};
    allot::segregated both{allot::up_to<64>(small), large};
    const std::string branches = report(both, {.size = 5000});
    CHECK(has(branches, "part 1 (request refused, the request exceeds a limit of this allocator) of 640 bytes"));
    CHECK(has(branches, "part 2 (request refused, fewer bytes are free than were asked for) of 4096 bytes"));

    general rows{{}, 8192}, tables{{}, 2048};
    allot::paged<general&, general&, allot::pointer_table<64>> paged{rows, tables};
    const std::string two = report(paged);
    CHECK(has(two, "part 1 of 8192 bytes"));
    CHECK(has(two, "part 2 of 2048 bytes"));
    allot::paged<general&, general&, allot::pointer_table<64>> together{rows, rows};
    CHECK(report(together).find("part 2") == std::string::npos);
}

TEST_CASE("report: a lock is held, and an allocator without abilities is described by its reason alone") {
    allot::synchronized<allot::counted<bytes>, std::mutex> shared{allot::counted{memory_at(200)}};
    REQUIRE(shared.allocate({.size = 50, .align = 1}));
    CHECK(has(report(shared), "after compaction, the largest hole has 150 bytes\n"));
    allot::fallback around{shared, shared};  // the regions of a part with a lock are not known
    CHECK(report(around).find("compaction") == std::string::npos);
    CHECK(has(report(shared), "50 bytes in 1 block, 50 bytes at the peak, 0 of 1 requests refused"));

    allot::naive<allot::host::heap> naive;
    CHECK(report(naive, {.size = 8}) == "request of 8 bytes aligned to 16: would be served now\nmemory\n");
}
