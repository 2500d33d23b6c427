// The codes of allot.h are those of allot, and snapshots of C handles are files that allot reads.
#include <allot.h>

#include <allot/allot.hpp>
#include <allot/inspect/snapshot.hpp>
#include <allot/page_cache.hpp>
#include <allot/plan.hpp>
#include <allot/version.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string_view>
#include <vector>

namespace {

/// Compares the texts of all enumerators from `first` on with those of the codes from `code` on. Returns their number.
template <class Code>
unsigned compare_texts(allot_status code, Code first) {
    unsigned count = 0;
    for (unsigned value = static_cast<unsigned>(first);; ++value, ++code, ++count) {
        const std::string_view text = to_string(static_cast<Code>(value));
        CHECK_EQ(std::string_view{allot_status_text(code)}, text);
        if (text == "unknown") return count;
    }
}

int append(void* to, const void* bytes, std::size_t size) {
    const auto* const first = static_cast<const std::byte*>(bytes);
    static_cast<std::vector<std::byte>*>(to)->insert(static_cast<std::vector<std::byte>*>(to)->end(), first,
                                                     first + size);
    return 0;
}

/// Returns the snapshot that a function of allot.h writes.
template <class Handle>
allot::snapshot written_by(allot_status (*write)(const Handle*, const char*, allot_write, void*), const Handle* of,
                           const char* name) {
    std::vector<std::byte> bytes;
    REQUIRE_EQ(write(of, name, append, &bytes), ALLOT_OK);
    const auto read = allot::read_snapshot(bytes);
    REQUIRE(read);
    CHECK(allot::write_snapshot(read.value) == bytes);
    return read.value;
}

}  // namespace

TEST_CASE("c: each code has the number and the text of its enumerator") {
    CHECK_EQ(compare_texts(ALLOT_EMPTY_LAYOUT, allot::refusal::empty_layout), 10);
    CHECK_EQ(compare_texts(ALLOT_PLAN_TOO_MANY, allot::plan_refusal::too_many), 19);
    CHECK_EQ(compare_texts(ALLOT_PAGE_BAD_LIMITS, allot::page_refusal::bad_limits), 13);
    CHECK_EQ(compare_texts(ALLOT_FOREIGN_BLOCK, allot::misuse::foreign_block), 11);
    CHECK_EQ(compare_texts(ALLOT_VIOLATION_BAD_PROBLEM, allot::plan_violation_kind::bad_problem), 11);
    CHECK_EQ(ALLOT_PENDING, static_cast<int>(allot::refusal::pending));
    CHECK_EQ(ALLOT_PLAN_INDIVISIBLE, 100 + static_cast<int>(allot::plan_refusal::indivisible));
    CHECK_EQ(ALLOT_PAGE_CHANGING, 200 + static_cast<int>(allot::page_refusal::changing));
    CHECK_EQ(ALLOT_STALE_MARK, 300 + static_cast<int>(allot::misuse::stale_mark));
    CHECK_EQ(ALLOT_VIOLATION_OVERLAP, 400 + static_cast<int>(allot::plan_violation_kind::overlap));
    CHECK_EQ(ALLOT_OUT_OF_BUDGET, static_cast<int>(allot::plan_status::out_of_budget));
    std::set<std::string_view> texts{"unknown"};
    for (const allot_status code :
         {ALLOT_OK, ALLOT_NULL_ARGUMENT, ALLOT_BAD_STRUCT_SIZE, ALLOT_BAD_OPTION, ALLOT_OUT_OF_MEMORY, ALLOT_BAD_RANGE,
          ALLOT_STOPPED, ALLOT_NO_PLACE, ALLOT_NO_SUCH_MEMORY, ALLOT_NO_SUCH_GROUP, ALLOT_TOO_SMALL, ALLOT_PAST_END,
          ALLOT_NOT_ONE_PAGE})
        CHECK(texts.insert(allot_status_text(code)).second);
    CHECK_EQ(allot_version(), ALLOT_VERSION);
}

TEST_CASE("c: the snapshot of an arena has its blocks and its holes") {
    alignas(16) static std::byte bytes[4096];
    allot_arena_options options = ALLOT_ARENA_OPTIONS_INIT;
    options.memory = bytes;
    options.size = sizeof bytes;
    allot_arena* arena = nullptr;
    REQUIRE_EQ(allot_arena_create(&options, &arena), ALLOT_OK);
    void* blocks[3]{};
    for (void*& block : blocks) REQUIRE_EQ(allot_arena_allocate(arena, 100, 16, &block), ALLOT_OK);
    REQUIRE_EQ(allot_arena_free(arena, blocks[1]), ALLOT_OK);
    const allot::snapshot made = written_by(allot_arena_snapshot, arena, "frames");
    CHECK_EQ(made.allocator, "frames");
    CHECK_EQ(made.regions.size(), 1);
    CHECK_EQ(made.regions[0].address, reinterpret_cast<std::uintptr_t>(bytes));
    CHECK_EQ(made.regions[0].size, sizeof bytes);
    REQUIRE_EQ(made.blocks.size(), 2);
    CHECK_EQ(made.blocks[0].address, reinterpret_cast<std::uintptr_t>(blocks[0]));
    CHECK_GE(made.blocks[0].size, 100);
    CHECK_EQ(made.blocks[1].address, reinterpret_cast<std::uintptr_t>(blocks[2]));
    CHECK_EQ(made.holes.size(), 2);
    CHECK_EQ(made.statistics.count, 2);
    CHECK_EQ(made.statistics.requests, 3);
    allot_arena_destroy(arena);
}

TEST_CASE("c: the snapshot of offsets has their blocks and holes") {
    allot_offsets_options options = ALLOT_OFFSETS_OPTIONS_INIT;
    options.size = 1000;
    allot_offsets* arena = nullptr;
    REQUIRE_EQ(allot_offsets_create(&options, &arena), ALLOT_OK);
    allot_block block;
    REQUIRE_EQ(allot_offsets_allocate_at(arena, 300, 50, &block), ALLOT_OK);
    const allot::snapshot made = written_by(allot_offsets_snapshot, arena, nullptr);
    CHECK_EQ(made.allocator, "");
    CHECK(made.regions == std::vector<allot::snapshot_range>{{0, 1000}});
    CHECK(made.blocks == std::vector<allot::snapshot_block>{{300, 50, 0}});
    CHECK(made.holes == std::vector<allot::snapshot_range>{{0, 300}, {350, 650}});
    CHECK_EQ(made.statistics.largest_hole, 650);
    allot_offsets_destroy(arena);
}

TEST_CASE("c: the snapshot of a pool has its slots") {
    alignas(64) static std::byte bytes[300];
    allot_pool_options options = ALLOT_POOL_OPTIONS_INIT;
    options.memory = bytes + 8;
    options.size = 292;
    options.slot_size = 60;
    allot_pool* pool = nullptr;
    REQUIRE_EQ(allot_pool_create(&options, &pool), ALLOT_OK);
    allot_slot slot;
    REQUIRE_EQ(allot_pool_allocate(pool, &slot), ALLOT_OK);
    REQUIRE_EQ(allot_pool_allocate(pool, &slot), ALLOT_OK);
    REQUIRE_EQ(allot_pool_free(pool, 0), ALLOT_OK);
    const allot::snapshot made = written_by(allot_pool_snapshot, pool, "slots");
    const std::uint64_t first = reinterpret_cast<std::uintptr_t>(bytes) + 16;
    CHECK(made.regions == std::vector<allot::snapshot_range>{{first - 8, 292}});
    CHECK(made.blocks == std::vector<allot::snapshot_block>{{first + 64, 64, 0}});
    CHECK(made.holes == std::vector<allot::snapshot_range>{{first, 64}, {first + 128, 64}, {first + 192, 64}});
    allot_pool_destroy(pool);
}
