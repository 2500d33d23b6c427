#include <allot/allot.hpp>
#include <allot/compose/block_cache.hpp>
#include <allot/compose/failing.hpp>
#include <allot/compose/guarded.hpp>
#include <allot/compose/indexed.hpp>
#include <allot/compose/quarantined.hpp>
#include <allot/inspect/report.hpp>

#include <doctest/doctest.h>

#include <mutex>
#include <random>
#include <string>
#include <vector>

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
    CHECK(has(report(slow, {.size = 30}), "after compaction, the largest hole has 28 bytes"));
    CHECK(has(report(slow, {.size = 100}), "after compaction, the largest hole has 28 bytes: too few\n"));
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
    const auto most = [](const std::string& of) { return of.substr(of.rfind("after compaction, "), 50); };
    CHECK(most(text) == most(report(general, {.size = 3000})));
    CHECK(text.find("after compaction, ") == text.rfind("after compaction, "));  // a fallback and a bump do not merge
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

namespace {

const auto enough = R"("enough_after_compaction":true)";
std::string json(auto& memory, allot::layout wanted) { return report(memory, wanted, {.format = report_format::json}); }

// Leaves 200 + 200 free bytes of 1000, in two holes.
template <class Memory>
void leave_two_holes(Memory& memory) {
    std::vector<typename Memory::block_type> blocks;
    for (int i = 0; i != 5; ++i) blocks.push_back(memory.allocate({.size = 200, .align = 1}));
    memory.deallocate(blocks[1]);
    memory.deallocate(blocks[3]);
}

struct large_holes : bytes {
    template <class Function>
    void for_each_hole(Function f) const noexcept {
        constexpr std::size_t most = ~std::size_t{0};
        for (const std::size_t size : {most / 2, most / 4}) f(address_model::address{}, size);
    }
};

template <class Allocator>
std::string reasons_of_parts(Allocator part, std::size_t size) {
    allot::fallback both{std::move(part), memory_at(10)};
    return report(both, {.size = size, .align = 1});
}

}  // namespace

TEST_CASE("report: nothing is stated about compaction where holes do not merge") {
    using slots = allot::arena<allot::host::static_storage<256>, allot::pool<allot::pool_options{.slot = 64}>>;
    slots pool;
    CHECK(has(report(pool, {.size = 128}), ": refused, the request exceeds a limit of this allocator\n"));
    CHECK(report(pool, {.size = 128}).find("compaction") == std::string::npos);
    CHECK(json(pool, {.size = 128}).find("compaction") == std::string::npos);
    allot::arena<allot::host::static_storage<256>, allot::bump<>> bump;
    allot::counted<decltype(bump)&> around{bump};
    CHECK(report(around, {.size = 500}).find("compaction") == std::string::npos);

    alignas(16) std::byte other[300];
    bytes first = memory_at(500), second{allot::host::buffer{other, 300}};
    allot::fallback both{first, second};
    const std::string text = report(both, {.size = 700, .align = 1});
    CHECK(has(text, "800 bytes free in 2 holes"));
    CHECK(has(text, "\n    after compaction, the largest hole has 500 bytes: too few\n"));
    CHECK(has(text, "\n    after compaction, the largest hole has 300 bytes: too few\n"));
    CHECK(text.find("\n  after compaction") == std::string::npos);
    CHECK(text.find("enough for") == std::string::npos);
}

TEST_CASE("report: it says enough only if the allocator would serve the request after compaction") {
    const allot::layout wanted{.size = 300, .align = 1};
    bytes plain = memory_at(1000);
    leave_two_holes(plain);
    CHECK(has(report(plain, wanted), "the largest hole has 400 bytes: enough for the request\n"));
    CHECK(has(json(plain, wanted), enough));
    CHECK(!has(json(plain, {.size = 300, .align = 3}), enough));
    CHECK(!has(json(plain, {.size = 300, .align = 1024}), enough));

    allot::limited low{allot::counted{memory_at(1000)}, 1000};
    leave_two_holes(low);
    CHECK(has(json(low, wanted), enough));
    low.set_limit(800);
    CHECK(has(report(low, wanted), "the largest hole has 400 bytes\n"));
    CHECK(!has(json(low, wanted), enough));

    allot::tagged<bytes, allot::tagged_options{.tags = 1}> tags{memory_at(1000)};
    tags.set_current_tag("a");
    leave_two_holes(tags);
    CHECK(has(json(tags, wanted), enough));
    tags.set_current_tag("b");
    CHECK(!has(json(tags, wanted), enough));

    allot::failing failing{memory_at(1000)};
    leave_two_holes(failing);
    CHECK(has(json(failing, wanted), enough));
    failing.restart({.at = 1, .reason = allot::refusal::fragmented});
    CHECK(!has(json(failing, wanted), enough));

    allot::indexed<bytes, allot::index_options{.records = 5}> index{memory_at(1000)};
    leave_two_holes(index);
    CHECK(has(json(index, wanted), enough));
    for (int i = 0; i != 2; ++i) REQUIRE(index.allocate({.size = 1, .align = 1}));
    CHECK(!has(json(index, wanted), enough));
}

TEST_CASE("report: a request that is said to be enough is served after its blocks are compacted, at random") {
    using arena = allot::arena<allot::host::buffer, allot::best_fit<>>;
    alignas(4096) static std::byte before[4096], after[4096];
    const auto run = [](auto make, std::size_t most_aligned) {
        std::minstd_rand random{11};
        const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
        int said = 0;
        for (int round = 0; round != 300; ++round) {
            auto memory = make(arena{allot::host::buffer{before, 4096 - below(50)}});
            std::vector<typename decltype(memory)::block_type> live;
            for (int i = 0; i != 40; ++i)
                if (const auto block = memory.allocate({.size = 1 + below(200)})) live.push_back(block);
            for (std::size_t i = live.size() / 2; i != 0; --i) {
                std::swap(live[below(live.size())], live.back());
                memory.deallocate(live.back());
                live.pop_back();
            }
            const allot::layout wanted{.size = 1 + below(2500), .align = std::size_t{1} << below(most_aligned)};
            const bool is_served = memory.diagnose(wanted).reason == allot::refusal::none;
            if (is_served || !has(json(memory, wanted), enough)) continue;
            ++said;
            auto compact = make(arena{allot::host::buffer{after, memory.size()}});
            for (const auto& each : live) REQUIRE(compact.allocate({.size = each.size}));
            INFO(wanted.size, " ", wanted.align);
            CHECK(compact.allocate(wanted));
        }
        CHECK(said > 20);
    };
    run([](arena&& of) { return allot::counted{std::move(of)}; }, 9);
    run([](arena&& of) { return allot::guarded{std::move(of)}; }, 9);
    run([](arena&& of) { return allot::block_cache{std::move(of)}; }, 9);
    run([](arena&& of) { return allot::quarantined{std::move(of)}; }, 9);
}

TEST_CASE("report: the reason of a part is that of its wrapper") {
    CHECK(has(reasons_of_parts(allot::limited{memory_at(1000), 100}, 500),
              "part 1 (request refused, the request exceeds a limit of this allocator)"));
    allot::failing failing{memory_at(1000)};
    failing.restart({.at = 1});
    CHECK(has(reasons_of_parts(std::move(failing), 500), "part 1 (request refused, fewer bytes are free"));
    CHECK(has(reasons_of_parts(allot::guarded{memory_at(1000)}, 990), "part 1 (request refused, fewer bytes are free"));
    allot::tagged<bytes, allot::tagged_options{.tags = 1}> full{memory_at(1000)};
    REQUIRE(full.allocate({.size = 1}, "a"));
    full.set_current_tag("b");
    CHECK(has(reasons_of_parts(std::move(full), 500), "part 1 (request refused, the side table has no free record)"));

    alignas(16) std::byte other[50];
    bytes inside = memory_at(1000), second{allot::host::buffer{other, 50}};
    allot::segregated branches{allot::up_to<600>(allot::limited{inside, 100}), second};
    allot::counted around{branches};  // the parts of a wrapped composition, too
    const std::string text = report(around, {.size = 500});
    CHECK(has(text, "part 1 (request refused, the request exceeds a limit of this allocator)"));
    CHECK(has(text, "part 2 (request refused, fewer bytes are free than were asked for)"));
}

TEST_CASE("report: the allocators of a paged one have no reason, because they receive other requests") {
    using general = allot::arena<allot::host::heap, allot::best_fit<>>;
    allot::counted<general> rows{general{{}, 8192}}, tables{general{{}, 2048}};
    allot::paged<allot::counted<general>&, allot::counted<general>&, allot::pointer_table<64>> paged{rows, tables};
    REQUIRE(paged.allocate({.size = 100}));
    CHECK(paged.statistics().count == 3);  // two rows and a table
    const std::string text = report(paged, {.size = 9000});
    CHECK(has(text, " in 3 blocks, "));
    CHECK(has(text, "part 1 of 8192 bytes"));
    CHECK(has(text, "part 2 of 2048 bytes"));
    CHECK(text.find("too few") == std::string::npos);
    allot::paged<allot::counted<general>&, allot::counted<general>&, allot::pointer_table<64>> one{rows, rows};
    CHECK(one.statistics() == rows.statistics());
}

TEST_CASE("report: the bytes outside the largest hole are stated for any number of bytes") {
    large_holes memory{memory_at(10)};
    CHECK(has(report(memory), ", 33% of the free bytes are outside it\n"));
}

TEST_CASE("report: a tag that is not UTF-8 is valid JSON") {
    allot::tagged memory{memory_at(1000)};
    REQUIRE(memory.allocate({.size = 3}, "\xE9t\xC3\xA9\x80"));
    CHECK(has(json(memory, {}), R"("name":")"
                                "\xEF\xBF\xBDt\xC3\xA9\xEF\xBF\xBD\""));
}

TEST_CASE("report: regions with handles have numbers, because their offsets are equal") {
    using growth = allot::growth::fixed<allot::growth_options{.step = 128}>;
    allot::arena<refusing, allot::bump<>, growth> memory;
    REQUIRE(memory.allocate({.size = 100}));
    REQUIRE(memory.allocate({.size = 100}));
    const std::string text = report(memory, {.size = 100});
    CHECK(has(text, "\n  region 1: 128 bytes, "));
    CHECK(has(text, "\n  region 2: 128 bytes, "));
    CHECK_FALSE(has(text, " at 0x"));
}
