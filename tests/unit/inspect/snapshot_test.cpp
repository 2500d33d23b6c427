#include <allot/allot.hpp>
#include <allot/compose/block_cache.hpp>
#include <allot/compose/guarded.hpp>
#include <allot/compose/quarantined.hpp>
#include <allot/compose/tagged.hpp>
#include <allot/inspect/snapshot.hpp>

#include "../../laws/devices.hpp"
#include "../plan/problems.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

namespace {

using namespace allot::literals;
using allot::format_refusal, allot::snapshot, allot::snapshot_block, allot::snapshot_range;
using bytes = std::vector<std::byte>;

snapshot sample() {
    return {.allocator = "two",
            .tags = {"w", ""},
            .statistics = {.used = 300,
                           .count = 2,
                           .peak = 400,
                           .requests = 5,
                           .refusals = 1,
                           .free = 700,
                           .largest_hole = 600,
                           .holes = 2},
            .regions = {{4096, 1000}, {8192, 4}},
            .blocks = {{4096, 100, 1}, {4296, 200, 0}},
            .holes = {{4196, 100}, {4496, 600}}};
}

bool overlap(const std::vector<snapshot_range>& holes, const std::vector<snapshot_block>& blocks) {
    for (const snapshot_range& hole : holes)
        for (const snapshot_block& block : blocks)
            if (hole.address < block.end() && block.address < hole.end()) return true;
    return false;
}

// Allocates and frees blocks at random, and compares the snapshot with the blocks.
template <class Memory, class Position>
void check_snapshot(Memory& memory, Position position) {
    problems::random random{21};
    std::vector<typename Memory::block_type> live;
    for (int step = 0; step != 300; ++step) {
        if (live.empty() || random(5) < 3) {
            const auto fresh = memory.allocate({1 + random.index(700), std::size_t{1} << random(5)});
            if (fresh) live.push_back(fresh);
        } else {
            std::swap(live[random.index(live.size())], live.back());
            memory.deallocate(live.back());
            live.pop_back();
        }
        if (step % 50 != 49) continue;
        const snapshot now = allot::take_snapshot(memory, "name");
        CHECK(now.allocator == "name");
        REQUIRE(now.blocks.size() == live.size());
        std::map<std::uint64_t, std::size_t> expected;
        for (const auto& each : live) expected[position(each.address)] = each.size;
        auto one = now.blocks.begin();
        for (const auto& [address, size] : expected) {
            CHECK(one->address == address);
            CHECK(one->size >= size);
            CHECK(std::ranges::any_of(now.regions, [&](const snapshot_range& region) {
                return region.address <= one->address && one->end() <= region.end();
            }));
            ++one;
        }
        CHECK(now.statistics.count == live.size());
        CHECK(now.statistics.holes == now.holes.size());
        CHECK(!overlap(now.holes, now.blocks));
        const auto read = allot::read_snapshot(allot::write_snapshot(now));
        REQUIRE(read);
        CHECK(read.value == now);
    }
}

}  // namespace

TEST_CASE("snapshot: the bytes match the documented format") {
    bytes expected;
    for (const char letter : {'A', 'L', 'S', 'N', '1', '\n'}) expected.push_back(static_cast<std::byte>(letter));
    for (const unsigned value : {3u,
                                 unsigned{'t'},
                                 unsigned{'w'},
                                 unsigned{'o'},
                                 2u,
                                 1u,
                                 unsigned{'w'},
                                 0u,  // name and tags
                                 0xACu,
                                 2u,
                                 2u,
                                 0x90u,
                                 3u,
                                 5u,
                                 1u,
                                 0xBCu,
                                 5u,
                                 0xD8u,
                                 4u,
                                 2u,  // statistics
                                 2u,
                                 0x80u,
                                 0x20u,
                                 0xE8u,
                                 7u,
                                 0x98u,
                                 0x18u,
                                 4u,  // regions
                                 2u,
                                 0x80u,
                                 0x20u,
                                 100u,
                                 1u,
                                 100u,
                                 0xC8u,
                                 1u,
                                 0u,  // blocks
                                 2u,
                                 0xE4u,
                                 0x20u,
                                 100u,
                                 0xC8u,
                                 1u,
                                 0xD8u,
                                 4u})  // holes
        expected.push_back(static_cast<std::byte>(value));
    CHECK(allot::write_snapshot(sample()) == expected);
    const auto read = allot::read_snapshot(expected);
    REQUIRE(read);
    CHECK(read.value == sample());
    CHECK(read.value.name_of(1) == "w");
    CHECK(read.value.name_of(0).empty());
    CHECK(read.value.name_of(3).empty());
}

TEST_CASE("snapshot: a snapshot that is cut off is refused, and its first parts are read") {
    const snapshot whole = sample();
    const bytes file = allot::write_snapshot(whole);
    std::size_t blocks = 0;
    for (std::size_t length = 0; length != file.size(); ++length) {
        const auto read = allot::read_snapshot(std::span{file}.first(length));
        REQUIRE(!read);
        CHECK(read.error.reason == (length < 4 ? format_refusal::other_format : format_refusal::truncated));
        CHECK(read.error.position <= length);
        CHECK(read.value.blocks.size() >= blocks);
        blocks = read.value.blocks.size();
        for (std::size_t i = 0; i != blocks; ++i) CHECK(read.value.blocks[i] == whole.blocks[i]);
    }
    CHECK(blocks == whole.blocks.size());
}

TEST_CASE("snapshot: rejects invalid bytes, with the position of the record") {
    const auto check = [](std::size_t at, std::initializer_list<unsigned> values, format_refusal reason,
                          std::size_t position) {
        bytes file = allot::write_snapshot({.regions = {{1, 2}}});  // 6 + 1 + 1 + 8 + 3 + 1 + 1 bytes
        REQUIRE(file.size() == 21);
        file.resize(at);
        for (const unsigned value : values) file.push_back(static_cast<std::byte>(value));
        const auto read = allot::read_snapshot(file);
        CHECK(!read);
        CHECK(read.error.reason == reason);
        CHECK(read.error.position == position);
    };
    check(4, {'2', '\n'}, format_refusal::other_version, 0);
    check(21, {0}, format_refusal::trailing_bytes, 21);
    check(7, {0xFF, 0xFF, 0xFF, 0xFF, 0x1F}, format_refusal::too_large, 7);  // the number of tags
    check(7, {1, 0xFF, 0xFF, 0x03, 'a'}, format_refusal::truncated, 8);      // the length of a tag
    check(19, {1, 0, 5, 1, 0}, format_refusal::unknown_tag, 20);
    check(19, {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}, format_refusal::truncated, 29);
    check(17, {5, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}, format_refusal::too_large, 17);
    check(17, {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2}, format_refusal::number_too_large, 17);
}

TEST_CASE("snapshot: any bytes are either read or rejected") {
    problems::random random{22};
    const bytes whole = allot::write_snapshot(sample());
    std::size_t refused = 0;
    for (std::size_t round = 0; round != problems::times(5000); ++round) {
        bytes changed = whole;
        changed[random.index(changed.size())] = static_cast<std::byte>(random(256));
        const auto read = allot::read_snapshot(changed);
        refused += read ? 0 : 1;
        std::uint64_t end = 0;
        for (const snapshot_block& block : read.value.blocks) {
            CHECK(block.address >= end);
            CHECK(block.end() >= block.address);
            end = block.end();
        }
    }
    CHECK(refused > 0);
}

TEST_CASE("snapshot: of arenas over pointers, with one region and with several") {
    const auto position = [](void* address) { return reinterpret_cast<std::uintptr_t>(address); };
    allot::arena<allot::host::heap, allot::best_fit<>> one{{}, 16_KiB};
    check_snapshot(one, position);
    allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<allot::growth_options{.step = 4096}>>
        several;
    check_snapshot(several, position);
    CHECK(allot::take_snapshot(several).regions.size() > 1);
    allot::counted<allot::arena<allot::host::heap, allot::pool<allot::pool_options{.slot = 64}>>> counted{{{}, 4096}};
    const auto block = counted.allocate({60});
    REQUIRE(block);
    CHECK(!counted.allocate({65}));
    const snapshot now = allot::take_snapshot(counted);
    CHECK(now.statistics == counted.statistics());
    CHECK(now.statistics.refusals == 1);
    CHECK(now.regions.size() == 1);
}

TEST_CASE("snapshot: of an arena over handles, whose regions follow one another") {
    using device = laws::handles<laws::handle_options{}>;
    allot::arena<device, allot::best_fit<>, allot::growth::geometric<allot::growth_options{.step = 5000}>> memory{
        device{true}};
    check_snapshot(memory, [&](const auto& address) {
        std::uint64_t start = 0;
        for (const auto& region : memory.regions()) {
            if (region.base.handle == address.handle) return start + address.offset;
            start = (start + region.size + 4095) / 4096 * 4096;
        }
        return ~std::uint64_t{0};
    });
    const snapshot now = allot::take_snapshot(memory);
    REQUIRE(now.regions.size() > 1);
    CHECK(now.regions[0].address == 0);
    CHECK(now.regions[1].address % 4096 == 0);
    CHECK(now.regions[1].address >= now.regions[0].end());
}

TEST_CASE("snapshot: of a tagged allocator, also inside others") {
    using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
    allot::counted<allot::tagged<arena>> memory{allot::tagged<arena>{arena{{}, 16_KiB}}};
    const char* const names[] = {"weights", "cache"};
    std::map<std::uint64_t, std::string> expected;
    std::vector<decltype(memory)::block_type> live;
    allot::tagged<arena> plain{arena{{}, 16_KiB}};
    for (std::size_t i = 0; i != 20; ++i) {
        const auto block = plain.allocate({i + 100}, {names[i % 2], static_cast<std::uint32_t>(i % 3)});
        REQUIRE(block);
        expected[reinterpret_cast<std::uintptr_t>(block.address)] =
            names[i % 2] + (i % 3 == 0 ? std::string{} : ":" + std::to_string(i % 3));
        live.push_back(memory.allocate({10}));
    }
    const snapshot now = allot::take_snapshot(plain);
    CHECK(now.tags.size() == 6);
    REQUIRE(now.blocks.size() == 20);
    for (const snapshot_block& each : now.blocks) CHECK(now.name_of(each.tag) == expected[each.address]);
    const snapshot outer = allot::take_snapshot(memory);
    REQUIRE(outer.blocks.size() == 20);
    CHECK(outer.tags.size() == 1);
    CHECK(outer.name_of(outer.blocks[0].tag).find("counted.hpp:") != std::string::npos);
}

TEST_CASE("snapshot: the tags of a tagged allocator inside wrappers and parts") {
    using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
    using tagged = allot::tagged<arena>;
    const auto check = [](auto& memory, std::size_t size) {
        const snapshot now = allot::take_snapshot(memory);
        REQUIRE(now.blocks.size() == 2);
        for (const snapshot_block& each : now.blocks) {
            CHECK(now.name_of(each.tag) == (each.size < 150 ? "small" : "large.cpp:9"));
            CHECK((each.size == 100 || each.size == 200 || size == 0));
        }
        CHECK(now.tags.size() == 2);
    };
    const auto fill = [](auto& memory, tagged& tags) {
        tags.set_current_tag("small");
        REQUIRE(memory.allocate({.size = 100}));
        const auto freed = memory.allocate({.size = 50});
        tags.set_current_tag({"large.cpp", 9});
        REQUIRE(memory.allocate({.size = 200}));
        memory.deallocate(freed);  // a quarantine and a cache keep it, and it is not listed
    };
    tagged tags[4]{tagged{arena{{}, 16_KiB}}, tagged{arena{{}, 16_KiB}}, tagged{arena{{}, 16_KiB}},
                   tagged{arena{{}, 16_KiB}}};
    allot::guarded guarded{tags[0]};
    fill(guarded, tags[0]);
    check(guarded, 1);
    allot::quarantined quarantined{tags[1]};
    fill(quarantined, tags[1]);
    check(quarantined, 1);
    allot::block_cache cache{tags[2]};
    fill(cache, tags[2]);
    check(cache, 0);  // the sizes are those of the lists
    allot::fallback parts{allot::guarded{tags[3]}, arena{{}, 1_KiB}};
    fill(parts, tags[3]);
    check(parts, 1);
}
