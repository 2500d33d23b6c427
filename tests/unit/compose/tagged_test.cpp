#include <allot/adapt/std_allocator.hpp>
#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>

#include "numbered.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using scratch = allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>;
using allot::block_tag;

struct ignore {
    void operator()(allot::misuse, std::size_t, std::size_t) const noexcept {}
};

template <class Memory>
std::size_t blocks_in(const Memory& memory) {
    std::size_t count = 0;
    memory.for_each_block([&](const auto&, std::size_t) { ++count; });
    return count;
}

}  // namespace

TEST_CASE("tagged: blocks, tags and counters of random calls equal those of a model") {
    allot::tagged<scratch> memory;
    using block = decltype(memory)::block_type;
    struct known {
        block held;
        std::string tag;
        std::uintptr_t user;
        std::uint64_t number;
    };
    std::map<std::string, allot::allocator_statistics> model;
    std::vector<known> live;
    const char* const names[] = {"a", "weights", "a longer name", ""};
    std::mt19937 random{5};
    std::uint64_t number = 0;
    for (std::uintptr_t step = 0; step != 1000; ++step) {
        const std::size_t size = random() % 400;
        const char* const name = names[random() % 4];
        switch (random() % 5) {
            case 0:
            case 1: {
                const std::string copy = name;  // another address
                const block fresh = memory.allocate({.size = size, .align = 8}, name, step);
                ++model[copy].requests;
                if (!fresh) {
                    ++model[copy].refusals;
                    break;
                }
                live.push_back({fresh, copy, step, ++number});
                ++model[copy].count;
                model[copy].used += size;
                break;
            }
            case 2: {
                if (live.empty()) break;
                std::swap(live[random() % live.size()], live.back());
                memory.deallocate(live.back().held);
                model[live.back().tag].used -= live.back().held.size;
                --model[live.back().tag].count;
                live.pop_back();
                break;
            }
            case 3: {
                if (live.empty()) break;
                known& one = live[random() % live.size()];
                const std::size_t before = one.held.size;
                if (memory.resize(one.held, size)) model[one.tag].used += size - before;
                break;
            }
            default: {
                if (live.empty()) break;
                known& one = live[random() % live.size()];
                REQUIRE(memory.set_tag(one.held, name));
                memory.set_user_data(one.held, 7);
                model[one.tag].used -= one.held.size;
                --model[one.tag].count;
                one.tag = name;
                one.user = 7;
                model[one.tag].used += one.held.size;
                ++model[one.tag].count;
            }
        }
        for (auto& [tag, counters] : model) {
            counters.peak = std::max(counters.peak, counters.used);
            const auto now = memory.statistics_of(tag.c_str());
            CHECK(now.used == counters.used);
            CHECK(now.count == counters.count);
            CHECK(now.peak == counters.peak);
            CHECK(now.requests == counters.requests);
            CHECK(now.refusals == counters.refusals);
        }
        std::size_t visited = 0;
        memory.for_each_block([&](const allot::tagged_block<void*>& each) {
            ++visited;
            for (const known& one : live) {
                if (one.held.address != each.address) continue;
                CHECK(each.size == one.held.size);
                CHECK(each.tag.name == one.tag);
                CHECK(each.user_data == one.user);
                CHECK(each.number == one.number);
                CHECK(memory.describe(one.held).number == one.number);
                return;
            }
            FAIL("a block that is not live");
        });
        CHECK(visited == live.size());
    }
}

TEST_CASE("tagged: a request without a tag has the current tag, or the location of the call") {
    allot::tagged<scratch> memory;
    const auto here = memory.allocate({.size = 10});
    const std::uint32_t line = __LINE__ - 1;
    const auto found = memory.describe(here);
    CHECK(found.tag.line == line);
    CHECK(std::strcmp(found.tag.name, __FILE__) == 0);

    CHECK(!memory.set_current_tag("decode"));
    const auto decoded = memory.allocate({.size = 10});
    const auto named = memory.allocate({.size = 10}, "other");
    CHECK(memory.describe(decoded).tag == block_tag{"decode"});
    CHECK(memory.describe(named).tag == block_tag{"other"});
    CHECK(memory.set_current_tag({}) == block_tag{"decode"});
    CHECK(memory.describe(memory.allocate({.size = 10})).tag.line == __LINE__);
    CHECK(memory.describe(memory.allocate({.size = 10}, {"file.cpp", 7})).tag == block_tag{"file.cpp", 7});
    CHECK(block_tag{"a"} != block_tag{"a", 1});
    CHECK(block_tag{} != block_tag{"a"});
#ifdef __cpp_lib_source_location
    const auto at = std::source_location::current();
    CHECK(memory.describe(memory.allocate({.size = 10}, at)).tag.line == at.line());
#endif
}

TEST_CASE("tagged: allocate_at, reset and rollback keep the records of live blocks, and of no others") {
    allot::tagged<scratch> at;
    const auto hole = at.allocate({.size = 64});
    at.deallocate(hole);
    using bytes = allot::arena<numbered, allot::best_fit<>>;
    allot::tagged<bytes> handles{bytes{{}, 1000}};
    const auto placed = handles.allocate_at({100, 33}, "fixed");
    REQUIRE(placed);
    CHECK(placed.address.offset == 100);
    CHECK(handles.describe(placed).tag == block_tag{"fixed"});
    CHECK(!handles.allocate_at({100, 1}, "fixed"));
    CHECK(handles.statistics_of("fixed").refusals == 1);

    allot::tagged<allot::arena<allot::host::static_storage<1000>, allot::stack<>>> stacked;
    REQUIRE(stacked.allocate({.size = 100, .align = 1}, "old"));
    const auto mark = stacked.mark();
    REQUIRE(stacked.allocate({.size = 333, .align = 1}, "new"));
    REQUIRE(stacked.allocate({.size = 5, .align = 1}, "old"));
    stacked.rollback(mark);
    CHECK(stacked.statistics_of("old").used == 100);
    CHECK(stacked.statistics_of("new").used == 0);
    CHECK(stacked.statistics_of("new").peak == 333);
    CHECK(blocks_in(stacked) == 1);
    stacked.reset();
    CHECK(blocks_in(stacked) == 0);
    REQUIRE(stacked.allocate({.size = 1000, .align = 1}, "new"));
    CHECK(blocks_in(stacked) == 1);
}

TEST_CASE("tagged: a full table refuses a request, and the diagnosis states that") {
    allot::tagged<scratch, allot::tagged_options{.records = 3, .tags = 2}> memory;
    const auto a = memory.allocate({.size = 8}, "a");
    REQUIRE(a);
    REQUIRE(memory.allocate({.size = 8}, "b"));
    CHECK(!memory.allocate({.size = 8}, "c"));
    CHECK(!memory.set_tag(a, "c"));
    CHECK(memory.describe(a).tag == block_tag{"a"});
    REQUIRE(memory.allocate({.size = 8}, "a"));
    CHECK(!memory.allocate({.size = 8}, "a"));
    CHECK(memory.diagnose({.size = 8}).reason == allot::refusal::out_of_records);
    CHECK(memory.statistics_of("a").refusals == 1);
    memory.deallocate(a);
    CHECK(memory.diagnose({.size = 8}, "b").reason == allot::refusal::none);
    CHECK(memory.diagnose({.size = 8}).reason == allot::refusal::out_of_records);  // a line is a third tag
    CHECK(memory.allocate({.size = 8}, "b"));
    CHECK(memory.diagnose({.size = 8000}).reason != allot::refusal::none);
}

TEST_CASE("tagged: a misused block that a hardened arena reports keeps its record") {
    allot::tagged<allot::arena<allot::host::static_storage<1000>, allot::best_fit<>, allot::growth::none<>,
                               allot::arena_options{.hardening = allot::hardening::checked}, ignore>>
        memory;
    const auto kept = memory.allocate({.size = 50}, "kept"), freed = memory.allocate({.size = 100}, "freed");
    CHECK(memory.check(kept));
    memory.deallocate(freed);
    memory.deallocate(freed);
    memory.deallocate({});
    CHECK(memory.statistics_of("freed").count == 0);
    CHECK(memory.describe(kept).size == 50);
    CHECK(blocks_in(memory) == 1);
}

TEST_CASE("tagged: in compositions, containers, and after a move") {
    allot::tagged<scratch> fast, slow;
    allot::fallback both{fast, slow};
    REQUIRE(both.allocate({.size = 3000}));
    REQUIRE(both.allocate({.size = 3000}));
    CHECK(blocks_in(both) == 2);

    allot::synchronized<allot::tagged<allot::counted<scratch>>, std::mutex> shared;
    const auto named = shared.locked([](auto& memory) { return memory.allocate({.size = 5}, "five"); });
    REQUIRE(named);
    CHECK(shared.statistics().used == 5);
    shared.deallocate(named);
    CHECK(shared.statistics().used == 0);

    allot::tagged<scratch> memory;
    {
        memory.set_current_tag("vector");
        std::vector<int, allot::std_allocator<int, allot::tagged<scratch>>> values{memory};
        for (int i = 0; i != 50; ++i) values.push_back(i);
        CHECK(memory.statistics_of("vector").count == 1);
        CHECK(memory.statistics_of("vector").used >= 50 * sizeof(int));
    }
    CHECK(memory.statistics_of("vector").count == 0);

    using grows = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>>;
    allot::tagged<grows> before;
    const auto held = before.allocate({.size = 77}, "moved");
    allot::tagged<grows> after{std::move(before)};
    CHECK(after.describe(held).tag == block_tag{"moved"});
    CHECK(blocks_in(before) == 0);
    const auto other = before.allocate({.size = 5}, "moved");
    REQUIRE(other);
    CHECK(before.statistics_of("moved").used == 5);
    CHECK(after.statistics_of("moved").used == 77);
    before.deallocate(other);
    after.deallocate(held);
    CHECK(after.trim() != 0);

    using fixed = allot::tagged<grows, allot::tagged_options{.records = 4, .tags = 3}>;
    fixed full;
    const auto one = full.allocate({.size = 7}, "one"), two = full.allocate({.size = 8}, "two");
    fixed target{std::move(full)};
    CHECK(target.describe(one).tag == block_tag{"one"});
    CHECK(target.describe(two).size == 8);
    CHECK(blocks_in(full) == 0);
    target.deallocate(one);
    CHECK(target.statistics_of("one").count == 0);
    for (int i = 0; i != 3; ++i) CHECK(target.allocate({.size = 9}, "three"));
    CHECK(!target.allocate({.size = 9}, "three"));
    for (int i = 0; i != 4; ++i) CHECK(full.allocate({.size = 9}, i % 2 == 0 ? "four" : "five"));

    scratch arena;
    allot::tagged refers{arena};
    const auto block = refers.allocate({.size = 9}, "x");
    CHECK(arena.owns({block.address, block.size, {}}));
    CHECK(refers.owns(block));
    CHECK(refers.capacity(block) == arena.capacity({block.address, block.size, {}}));
    CHECK(refers.size() == arena.size());
}

TEST_CASE("tagged: a block that is freed out of order in a hardened stack or ring stays known") {
    const auto play = []<class Strategy>(std::type_identity<Strategy>, bool newest_first) {
        allot::tagged<allot::arena<allot::host::static_storage<1000>, Strategy, allot::growth::none<>,
                                   allot::arena_options{.hardening = allot::hardening::checked}, ignore>>
            memory;
        const auto first = memory.allocate({.size = 50}), second = memory.allocate({.size = 60});
        memory.deallocate(newest_first ? first : second);
        CHECK(memory.describe(first).size == 50);
        CHECK(memory.describe(second).size == 60);
        memory.deallocate(newest_first ? second : first);
        memory.deallocate(newest_first ? first : second);
        std::size_t live = 0;
        memory.for_each_block([&](const auto&, std::size_t) { ++live; });
        CHECK(live == 0);
        CHECK(memory.allocate({.size = 60}));
    };
    play(std::type_identity<allot::stack<>>{}, true);
    play(std::type_identity<allot::ring<>>{}, false);
}

TEST_CASE("tagged: a full table of tags refuses a new tag, and the diagnosis and a counter state that") {
    using small = allot::tagged<allot::arena<allot::host::heap, allot::best_fit<>>, allot::tagged_options{.tags = 1}>;
    small memory{{{}, 4096}};
    const auto first = memory.allocate({.size = 37}, "a");
    REQUIRE(first);
    CHECK_FALSE(memory.allocate({.size = 37}, "b"));
    CHECK(memory.untagged_refusals() == 1);
    CHECK(memory.diagnose({.size = 37}).reason == allot::refusal::out_of_records);
    CHECK(memory.diagnose({.size = 37}, "b").reason == allot::refusal::out_of_records);
    CHECK(memory.diagnose({.size = 37}, "a").reason == allot::refusal::none);
    CHECK(memory.diagnose({.size = 9999}, "a").reason != allot::refusal::none);
    CHECK(memory.diagnose({.size = 9999}, "a").reason != allot::refusal::out_of_records);
    CHECK(memory.diagnose_at({2048, 37}, "b").reason == allot::refusal::out_of_records);
    CHECK(memory.diagnose_at({2048, 37}, "a").reason == allot::refusal::none);
    memory.set_current_tag("b");
    CHECK(memory.diagnose({.size = 37}).reason == allot::refusal::out_of_records);
    CHECK(memory.diagnose_at({2048, 37}).reason == allot::refusal::out_of_records);
    CHECK_FALSE(memory.allocate({.size = 37}));
    CHECK(memory.untagged_refusals() == 2);
    memory.set_current_tag("a");
    CHECK(memory.diagnose({.size = 37}).reason == allot::refusal::none);
    CHECK(memory.allocate({.size = 37}));
    CHECK(memory.statistics_of("a").requests == 2);
    CHECK(memory.statistics_of("a").refusals == 0);
    CHECK(memory.untagged_refusals() == 2);
}

TEST_CASE("tagged: for_each_block calls a function whose parameter is auto&") {
    allot::tagged<allot::arena<allot::host::heap, allot::best_fit<>>> memory{{{}, 4096}};
    REQUIRE(memory.allocate({.size = 37}, "a"));
    std::size_t bytes = 0;
    memory.for_each_block([&](auto& block) { bytes += block.size; });
    CHECK(bytes == 37);
}
