// guided: passes that are equal, that differ, and that belong to several phases. The blocks of random programs never
// overlap and keep their contents, recordings are what the program did, and the offsets of a guide without pinned
// blocks are those of best fit.
#include "problems.hpp"

#include <allot/allot.hpp>
#include <allot/inspect/snapshot.hpp>
#include <allot/plan/guide.hpp>
#include <allot/plan/guided.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace {

using namespace allot::literals;
using allot::lives_on;
using allot::pass_request;
using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using guided = allot::guided<arena>;

/// A call of a program: a request, or the deallocation of the block of an earlier request of this pass or the last one.
struct call {
    std::size_t request = 0;
    bool is_deallocation = false;
    bool of_last_pass = false;
    std::size_t size = 0;
    std::size_t align = 1;
    std::uint64_t key = 0;
};
using program = std::vector<call>;

using generator = std::mt19937_64;
std::size_t below(generator& source, std::size_t limit) { return static_cast<std::size_t>(source() % limit); }

/// A pass of `count` requests. Blocks are freed in any order, `carried` of them by the next pass.
program random_pass(generator& source, std::size_t count, std::size_t carried) {
    program made;
    std::vector<std::size_t> live;
    for (std::size_t i = 0; i != carried; ++i) made.push_back({count - 1 - i, true, true});
    for (std::size_t i = 0; i != count; ++i) {
        const std::size_t size = below(source, 4) == 0 ? 1 + below(source, 5000) : 1 + below(source, 100);
        made.push_back({i, false, false, size, std::size_t{1} << below(source, 7)});
        live.push_back(i);
        while (!live.empty() && below(source, 20) < 9) {
            const std::size_t which = below(source, live.size());
            if (live[which] + carried >= count) break;
            made.push_back({live[which], true});
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
        }
    }
    for (const std::size_t each : live)
        if (each + carried < count) made.push_back({each, true});
    return made;
}
std::size_t requests_of(const program& of) {
    return static_cast<std::size_t>(
        std::count_if(of.begin(), of.end(), [](const call& c) { return !c.is_deallocation; }));
}
/// The requests of a pass that repeats.
std::vector<pass_request> seen_in(const program& of) {
    std::vector<pass_request> seen;
    for (const call& each : of)
        if (!each.is_deallocation) seen.push_back({each.size, each.align, each.key});
    std::uint32_t requests = 0, deallocations = 0;
    for (const call& each : of) {
        if (!each.is_deallocation) {
            ++requests;
            continue;
        }
        (each.of_last_pass ? seen[each.request].after : seen[each.request].until) = requests;
        seen[each.request].turn = deallocations++;
    }
    for (const call& each : of)
        if (each.of_last_pass) {
            seen[each.request].until = requests;
            seen[each.request].is_carried = true;
        }
    return seen;
}
/// A pass in which `percent` of the requests have another size, are missing, or come later.
program changed(const program& of, generator& source, std::size_t percent) {
    program made;
    std::vector<char> is_missing(requests_of(of));
    for (call each : of) {
        if (each.is_deallocation && is_missing[each.request] != 0) continue;
        const bool is_changed = !each.is_deallocation && below(source, 100) < percent;
        const std::size_t how = is_changed ? below(source, 3) : 3;
        if (how == 0) is_missing[each.request] = 1;
        if (how == 0) continue;
        if (how == 1) each.size = 1 + below(source, 2 * each.size);
        made.push_back(each);
        if (how == 2 && made.size() > 1 && !made[made.size() - 2].is_deallocation)
            std::swap(made[made.size() - 1], made[made.size() - 2]);
    }
    return made;
}

/// A pass without one of eight deallocations, if `kind` is not 0.
program without_some_deallocations(program of, generator& source, int kind) {
    std::erase_if(of, [&](const call& each) { return each.is_deallocation && kind != 0 && below(source, 8) == 0; });
    return of;
}

/// Blocks at the lowest offsets that are free, in granules of 16 bytes.
class first_fit {
public:
    std::size_t take(std::size_t size, std::size_t align) {
        const std::size_t bytes = (size + 15) / 16 * 16, step = align < 16 ? 16 : align;
        std::size_t at = 0;
        for (const auto& [from, end] : live_) {
            if (at + bytes <= from) break;
            if (at < end) at = (end + step - 1) / step * step;
        }
        live_[at] = at + bytes;
        return at;
    }
    void free(std::size_t at) { live_.erase(at); }

private:
    std::map<std::size_t, std::size_t> live_;  // offset, end
};

/// Plays programs on a guided allocator, and checks that blocks do not overlap and keep their bytes.
template <class Memory>
class player {
public:
    using block = allot::block_of<Memory>;
    explicit player(Memory& memory) : memory_{memory} {}
    ~player() {
        for (auto* const all : {&now_, &last_})
            for (auto& [request, held] : *all) memory_.deallocate(held);
    }

    /// Plays a pass and returns the addresses of the requests.
    std::vector<std::byte*> play(const program& of) {
        for (auto& [request, held] : last_) release(held);  // of a pass that nothing carries on
        last_ = std::exchange(now_, {});
        std::vector<std::byte*> places;
        for (const call& each : of) {
            auto& owner = each.of_last_pass ? last_ : now_;
            if (each.is_deallocation) {
                const auto found = owner.find(each.request);
                if (found == owner.end()) continue;
                release(found->second);
                owner.erase(found);
                continue;
            }
            const block given = memory_.allocate({each.size, each.align}, each.key);
            REQUIRE(given.size == each.size);
            CHECK(reinterpret_cast<std::uintptr_t>(given.address) % each.align == 0);
            CHECK(memory_.capacity(given) >= each.size);
            take(given);
            now_[each.request] = given;
            places.push_back(static_cast<std::byte*>(given.address));
        }
        return places;
    }
    void forget_last() {
        for (auto& [request, held] : last_) release(held);
        last_.clear();
    }
    [[nodiscard]] std::size_t live() const { return used_.size(); }

private:
    void take(const block& given) {
        const auto* const first = static_cast<std::byte*>(given.address);
        const auto next = used_.lower_bound(first);
        CHECK((next == used_.end() || first + given.size <= next->first));
        CHECK((next == used_.begin() || std::prev(next)->first + std::prev(next)->second <= first));
        used_[first] = given.size;
        std::memset(given.address, static_cast<int>(given.size % 251), given.size);
    }
    void release(const block& held) {
        const auto* const bytes = static_cast<unsigned char*>(held.address);
        CHECK(std::count(bytes, bytes + held.size, held.size % 251) == static_cast<std::ptrdiff_t>(held.size));
        used_.erase(static_cast<std::byte*>(held.address));
        memory_.deallocate(held);
    }
    Memory& memory_;
    std::map<std::size_t, block> now_, last_;  // by request
    std::map<const std::byte*, std::size_t> used_;
};

/// The offset in the room of an address, if the first request of all is at the start of the room.
std::ptrdiff_t offset(const guided& memory, const std::byte* at) {
    std::ptrdiff_t from = 0;
    memory.inner().for_each_block([&](const void* address, std::size_t size) {
        if (size >= memory.room().size) from = at - static_cast<const std::byte*>(address);
    });
    return from;
}

guided with_room(std::size_t bytes = 512_KiB) { return guided{arena{{}, 2_MiB}, {.size = bytes, .align = 64}}; }

static_assert(allot::sized_allocator<guided> && allot::measuring_allocator<guided> && allot::owning<guided> &&
              allot::resizable_allocator<guided> && allot::hole_walkable_allocator<guided> &&
              allot::block_walkable_allocator<guided> && !allot::trimmable_allocator<guided> &&
              !allot::resettable_allocator<guided> && !allot::positional_allocator<guided> &&
              !allot::markable_allocator<guided>);

}  // namespace

TEST_CASE("guided: equal passes are in step and have the places of the guide") {
    generator source{1};
    for (int n = 0; n != 15; ++n) {
        const std::size_t count = 2 + below(source, 120);
        const program pass = random_pass(source, count, below(source, 2) * below(source, count / 2));
        const auto made = allot::make_guide(seen_in(pass), {.plan = {.effort = 2000}, .trials = 500});
        REQUIRE(made);
        CHECK(made->bound <= made->peak);
        CHECK(made->peak <= made->best_fit_peak);
        guided memory = with_room();
        REQUIRE(memory.use_guide(*made));
        player plays{memory};
        for (int i = 0; i != 4; ++i) {
            memory.begin_pass();
            const auto places = plays.play(pass);
            REQUIRE(places.size() == count);
            for (std::size_t r = 0; r != count; ++r)
                if (made->slots[r].is_planned)
                    CHECK(offset(memory, places[r]) == static_cast<std::ptrdiff_t>(made->slots[r].offset));
            CHECK(memory.is_in_step());
        }
        CHECK(memory.counters().divergences == 0);
        CHECK(memory.counters().loose == 0);
        CHECK(memory.take_recording().empty());
    }
}

TEST_CASE("guided: a pass without a guide is recorded as it was") {
    generator source{2};
    for (int n = 0; n != 30; ++n) {
        const std::size_t count = 1 + below(source, 80);
        const program pass = random_pass(source, count, below(source, count));
        guided memory = with_room();
        player plays{memory};
        for (int i = 0; i != 3; ++i) {
            memory.begin_pass();
            plays.play(pass);
        }
        memory.begin_pass();
        CHECK(memory.take_recording() == seen_in(pass));
        CHECK(memory.take_recording().empty());
    }
}

TEST_CASE("guided: changed passes do not overlap, keep their bytes, and are recorded") {
    generator source{3};
    for (int n = 0; n != 40; ++n) {
        const std::size_t count = 2 + below(source, 60), percent = below(source, 3) * 15;
        const program pass = random_pass(source, count, below(source, 2) * below(source, count / 2));
        guided memory = with_room(below(source, 2) == 0 ? 512_KiB : 4_KiB);
        player plays{memory};
        for (int i = 0; i != 12; ++i) {
            memory.begin_pass(static_cast<unsigned>(below(source, 5) == 0));
            auto seen = memory.take_recording();
            if (!seen.empty()) {
                const unsigned changes = static_cast<unsigned>(below(source, 2)) * 10;
                const auto made = allot::make_guide(
                    seen, {.plan = {.effort = 200}, .changes = changes, .trials = 100, .rehearsals = 3});
                REQUIRE(made);
                const bool fits = made->peak <= memory.room().size;
                CHECK(memory.use_guide(*made, 0) == fits);
            }
            plays.play(changed(pass, source, percent));
        }
        CHECK(memory.counters().passes == 12);
        std::size_t blocks = 0;
        memory.for_each_block([&](const void*, std::size_t) { ++blocks; });
        CHECK(blocks == plays.live());
    }
}

TEST_CASE(
    "guided: without pinned blocks all offsets are those of the rule, also of changed passes and of blocks that live "
    "on") {
    using alone = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table, .granule = 16}>;
    generator source{4};
    int of_best_fit = 0, of_first_fit = 0;
    std::uint64_t divergences = 0, in_step = 0;
    for (int n = 0; n != 400; ++n) {
        const std::size_t count = 5 + below(source, 60), carried = n % 4 == 3 ? below(source, count / 2) : 0;
        const program pass = without_some_deallocations(random_pass(source, count, carried), source, n % 3);
        // Without trials no block is pinned, and with rehearsals the plan is refused if it is ever above best fit.
        const auto made = allot::make_guide(
            seen_in(pass), {.plan = {.effort = 0}, .changes = 30, .trials = 0, .rehearsals = n % 2 == 0 ? 30U : 3U});
        REQUIRE(made);
        REQUIRE(made->holds_all);
        if (std::any_of(made->slots.begin(), made->slots.end(), [](const auto& slot) { return slot.is_pinned; }))
            continue;
        const bool is_first_fit = made->rule == allot::guide_rule::first_fit;
        if (!is_first_fit && carried != 0) continue;  // the order of earlier calls matters to best fit
        ++(is_first_fit ? of_first_fit : of_best_fit);
        guided memory = with_room();
        REQUIRE(memory.use_guide(*made));
        alone strategy;
        REQUIRE(strategy.insert({0, memory.room().size}));
        first_fit lowest;
        struct served {
            guided::block_type block{};
            allot::allocation_of<alone> expected{};
        };
        const auto release = [&](const served& each) {
            memory.deallocate(each.block);
            if (is_first_fit) lowest.free(each.expected.where.offset);
            else strategy.deallocate(each.expected);
        };
        std::vector<served> old;  // of earlier passes
        std::map<std::size_t, served> held, last;
        for (int i = 0; i != 6; ++i) {
            if (i % 2 == 0)
                for (const served& each : std::exchange(old, {})) release(each);
            for (auto& [request, each] : last) old.push_back(each);
            last = std::exchange(held, {});
            memory.begin_pass();
            const program calls = i % 3 == 0 ? pass : changed(pass, source, 10);
            for (const call& each : calls) {
                if (each.is_deallocation) {
                    auto& among = each.of_last_pass ? last : held;
                    const auto found = among.find(each.request);
                    if (found == among.end()) continue;
                    release(found->second);
                    among.erase(found);
                    continue;
                }
                served& now = held[each.request];
                now.block = memory.allocate({each.size, each.align});
                if (is_first_fit) now.expected.where = {lowest.take(each.size, each.align), each.size};
                else now.expected = strategy.allocate({each.size, each.align});
                REQUIRE(offset(memory, static_cast<std::byte*>(now.block.address)) ==
                        static_cast<std::ptrdiff_t>(now.expected.where.offset));
            }
            in_step += memory.is_in_step();
        }
        for (auto* const all : {&held, &last})
            for (auto& [request, each] : *all) old.push_back(each);
        for (const served& each : old) release(each);
        divergences += memory.counters().divergences;
        CHECK(memory.counters().outside == 0);
    }
    CHECK(divergences > 500);
    CHECK(in_step > 100);
    CHECK(of_best_fit > 100);
    CHECK(of_first_fit > 5);
}

TEST_CASE("guided: with changes, passes that differ never needed more than best fit alone") {
    using alone = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table, .granule = 16}>;
    generator source{40};
    for (int n = 0; n != (problems::is_slow ? 35 : 100); ++n) {
        const std::size_t count = 5 + below(source, 60);
        const program pass = without_some_deallocations(
            random_pass(source, count, below(source, 2) * below(source, count / 2)), source, n % 3);
        const auto made = allot::make_guide(seen_in(pass), {.plan = {.effort = 200}, .changes = 10, .trials = 50});
        REQUIRE(made);
        guided memory = with_room();
        REQUIRE(memory.use_guide(*made));
        alone strategy;
        REQUIRE(strategy.insert({0, memory.room().size}));
        struct served {
            guided::block_type block{};
            allot::allocation_of<alone> expected{};
        };
        std::map<std::size_t, served> held, last;
        const auto release = [&](const served& each) {
            memory.deallocate(each.block);
            strategy.deallocate(each.expected);
        };
        std::size_t peak = 0, limit = 0;
        for (int i = 0; i != 5; ++i) {
            for (auto& [request, each] : last) release(each);
            last = std::exchange(held, {});
            memory.begin_pass();
            for (const call& each : changed(pass, source, 10)) {
                auto& among = each.of_last_pass ? last : held;
                const auto found = among.find(each.request);
                if (each.is_deallocation && found == among.end()) continue;
                if (each.is_deallocation) {
                    release(found->second);
                    among.erase(found);
                    continue;
                }
                served& now = held[each.request];
                now = {memory.allocate({each.size, each.align}), strategy.allocate({each.size, each.align})};
                const std::ptrdiff_t at = offset(memory, static_cast<std::byte*>(now.block.address));
                REQUIRE(at >= 0);
                peak = std::max(peak, static_cast<std::size_t>(at) + each.size);
                limit = std::max(limit, now.expected.where.end());
            }
            CHECK(peak <= limit);
        }
        for (auto* const all : {&held, &last})
            for (auto& [request, each] : *all) release(each);
    }
}

TEST_CASE("guided: matching resumes within a pass") {
    program pass;
    for (std::size_t i = 0; i != 200; ++i) {
        pass.push_back({i, false, false, 100 + i, 8});
        if (i % 2 == 1) {
            pass.push_back({i - 1, true});
            pass.push_back({i, true});
        }
    }
    program other = pass;
    for (call& each : other)
        if (each.request == 10) each.size = 5000;
    guided memory = with_room();
    REQUIRE(memory.use_guide(allot::make_guide(seen_in(pass)).value()));
    player plays{memory};
    memory.begin_pass();
    plays.play(other);
    CHECK(memory.counters().divergences == 1);
    CHECK(memory.counters().resumptions == 1);
    CHECK(memory.is_in_step());
    CHECK(memory.counters().loose < 100);
    memory.begin_pass();
    memory.begin_pass();
    CHECK(memory.take_recording() == seen_in(other));
}

TEST_CASE("guided: phases have guides of their own in one room") {
    generator source{5};
    const program first = random_pass(source, 50, 0), second = random_pass(source, 20, 3);
    guided memory = with_room();
    REQUIRE(memory.use_guide(allot::make_guide(seen_in(first)).value(), 0));
    REQUIRE(memory.use_guide(allot::make_guide(seen_in(second)).value(), 7));
    player plays{memory};
    for (int i = 0; i != 5; ++i) {
        memory.begin_pass(0);
        plays.play(first);
        for (int k = 0; k != 3; ++k) {
            memory.begin_pass(7);
            plays.play(second);
            CHECK(memory.is_in_step());
        }
        plays.play({});  // frees what the last pass carried
        plays.forget_last();
    }
    CHECK(memory.counters().loose == 0);
    memory.begin_pass(3);
    CHECK_FALSE(memory.is_in_step());
    CHECK(memory.guide_of(3) == nullptr);
    CHECK(memory.guide_of(7) != nullptr);
}

TEST_CASE("guided: a request with a key takes the place of a larger one with the same key") {
    const std::vector<pass_request> seen = {{.size = 1000, .align = 16, .key = 7, .until = 2},
                                            {.size = 500, .align = 16, .key = 8, .until = 2}};
    guided memory = with_room();
    REQUIRE(memory.use_guide(allot::make_guide(seen).value()));
    memory.begin_pass();
    const auto smaller = memory.allocate({.size = 900, .align = 16}, 7);
    CHECK(memory.is_in_step());
    CHECK(memory.capacity(smaller) == 1000);
    const auto unknown = memory.allocate({.size = 500, .align = 16}, 9);
    CHECK_FALSE(memory.is_in_step());
    memory.deallocate(smaller);
    memory.deallocate(unknown);
    memory.begin_pass();
    const auto unnamed = memory.allocate({.size = 1000, .align = 16});
    CHECK_FALSE(memory.is_in_step());
    memory.deallocate(unnamed);
}

TEST_CASE("guided: a block that lives on is outside of the room") {
    const std::vector<pass_request> seen = {{.size = 300}, {.size = 100, .until = 2}};
    guided memory = with_room(1_KiB);
    const auto made = allot::make_guide(seen);
    REQUIRE(made);
    CHECK(made->peak == 112);  // a multiple of 16
    REQUIRE(memory.use_guide(*made));
    memory.begin_pass();
    const auto kept = memory.allocate({.size = 300}), other = memory.allocate({.size = 100});
    CHECK(memory.is_in_step());
    CHECK(memory.counters().outside == 1);
    CHECK(offset(memory, static_cast<std::byte*>(kept.address)) >= 1024);
    CHECK(offset(memory, static_cast<std::byte*>(other.address)) == 0);
    CHECK(memory.owns(kept));
    CHECK(memory.owns(other));
    memory.deallocate(kept);
    memory.deallocate(other);
}

TEST_CASE("guided: resize stays within the request in step and grows in place otherwise") {
    guided memory = with_room();
    memory.begin_pass();
    auto block = memory.allocate({.size = 100});
    CHECK(memory.resize(block, 5000));
    CHECK(block.size == 5000);
    CHECK(memory.resize(block, 10));
    CHECK(block.size == 10);
    CHECK_FALSE(memory.resize(block, 1_MiB));
    CHECK_FALSE(memory.resize(block, 0));
    memory.deallocate(block);

    REQUIRE(memory.use_guide(allot::make_guide(std::vector<pass_request>{{.size = 100, .until = 1}}).value()));
    memory.begin_pass();
    block = memory.allocate({.size = 100});
    CHECK(memory.is_in_step());
    CHECK(memory.resize(block, 50));
    CHECK(memory.resize(block, 100));
    CHECK_FALSE(memory.resize(block, 101));
    memory.deallocate(block);

    auto large = memory.allocate({.size = 1_MiB});  // outside of the room
    CHECK(memory.resize(large, 1_MiB - 16));
    memory.deallocate(large);
}

TEST_CASE("guided: counters and snapshots have the blocks of the room and of the arena") {
    allot::counted<guided> memory{with_room(4_KiB)};
    const auto inside = memory.allocate({.size = 100}), outside = memory.allocate({.size = 9000});
    const allot::allocator_statistics now = memory.statistics();
    CHECK(now.used == 9100);
    CHECK(now.count == 2);
    CHECK(now.free > 2_MiB - 9000 - 112 - 200);
    const allot::snapshot state = allot::take_snapshot(memory);
    REQUIRE(state.blocks.size() == 2);
    CHECK(state.blocks[0].size + state.blocks[1].size >= 9100);
    CHECK(state.regions.size() == 1);
    memory.deallocate(inside);
    memory.deallocate(outside);
    CHECK(memory.statistics().used == 0);
}

TEST_CASE("guided: in step, the bytes between blocks are holes") {
    const std::vector<pass_request> seen = {
        {.size = 112, .until = 3}, {.size = 64, .until = 3}, {.size = 32, .until = 3}};
    guided memory = with_room(4_KiB);
    REQUIRE(memory.use_guide(allot::make_guide(seen).value()));
    memory.begin_pass();
    const auto first = memory.allocate({.size = 112}), second = memory.allocate({.size = 64});
    CHECK(memory.is_in_step());
    std::size_t free = 0, largest = 0;
    memory.for_each_hole([&](const void* at, std::size_t size) {
        const auto from = offset(memory, static_cast<const std::byte*>(at));
        if (from < 0 || from >= 4096) return;
        free += size;
        largest = std::max(largest, size);
    });
    CHECK(free == 4096 - 112 - 64);
    CHECK(largest >= 4096 - 112 - 64 - 32);
    memory.deallocate(second);
    memory.deallocate(first);
}

TEST_CASE("guided: without a room the allocator serves all requests") {
    guided memory{arena{{}, 64_KiB}, {.size = 1_MiB, .align = 64}};
    CHECK(memory.room().size == 0);
    const auto made = allot::make_guide(std::vector<pass_request>{{.size = 100, .until = 1}});
    CHECK_FALSE(memory.use_guide(made.value()));
    memory.begin_pass();
    const auto block = memory.allocate({.size = 1000});
    CHECK(block.size == 1000);
    CHECK(memory.counters().outside == 1);
    CHECK_FALSE(memory.allocate({.size = 64_KiB}));
    CHECK(memory.diagnose({.size = 64_KiB}).reason == allot::refusal::exhausted);
    CHECK(memory.diagnose({.size = 16}).reason == allot::refusal::none);
    memory.deallocate(block);
    memory.deallocate({});
}

TEST_CASE("guided: a guide needs a room of its size and alignment") {
    guided memory{arena{{}, 64_KiB}, {.size = 1000, .align = 16}};
    const auto guide_for = [](std::uint64_t size, std::uint64_t align) {
        return allot::make_guide(std::vector<pass_request>{{.size = size, .align = align, .until = 1}}).value();
    };
    CHECK_FALSE(memory.use_guide(guide_for(993, 16)));  // rounded to 16 bytes
    CHECK_FALSE(memory.use_guide(guide_for(100, 32)));
    CHECK(memory.use_guide(guide_for(992, 16)));
    CHECK(memory.use_guide({}, 2));
    memory.begin_pass(2);
    CHECK_FALSE(memory.is_in_step());
}

TEST_CASE("guided: a moved allocator keeps its blocks and its guide") {
    guided from = with_room();
    REQUIRE(from.use_guide(
        allot::make_guide(std::vector<pass_request>{{.size = 100, .until = 2}, {.size = 200, .until = 2}}).value()));
    from.begin_pass();
    const auto first = from.allocate({.size = 100});
    guided memory{std::move(from)};
    const auto second = memory.allocate({.size = 200});
    CHECK(memory.is_in_step());
    memory.deallocate(first);
    memory.deallocate(second);
    CHECK(memory.is_in_step());
}

TEST_CASE("make_guide: invalid requests are refused with their index") {
    const auto error_of = [](std::vector<pass_request> seen) {
        const auto made = allot::make_guide(seen);
        return made ? allot::plan_error{} : made.error();
    };
    using allot::plan_refusal;
    CHECK(error_of({{8, 1, 0, 1}, {8, 3, 0, 2}}) == allot::plan_error{plan_refusal::not_an_alignment, 1});
    CHECK(error_of({{8, 1, 0, 1}, {0, 1, 0, 2}}) == allot::plan_error{plan_refusal::too_large, 1});
    CHECK(error_of({{8, 1, 0, 1}, {8, 1, 0, 1}}) == allot::plan_error{plan_refusal::empty_lifetime, 1});
    CHECK(error_of({{8, 1, 0, 2}}) == allot::plan_error{plan_refusal::empty_lifetime, 0});
    CHECK(error_of({}) == allot::plan_error{});
}

TEST_CASE("make_guide: the places of blocks that live at once do not overlap, for each layout") {
    generator source{6};
    for (int n = 0; n != 20; ++n) {
        const std::size_t count = 2 + below(source, 40);
        const program pass = random_pass(source, count, below(source, 2) * below(source, count / 2));
        const auto seen = seen_in(pass);
        for (const unsigned changes : {0U, 10U, 40U}) {
            const auto made = allot::make_guide(
                seen, {.plan = {.effort = 500}, .changes = changes, .trials = changes * 10, .rehearsals = 4});
            REQUIRE(made);
            CHECK(made->peak <= made->best_fit_peak);
            const auto lives = [&](std::size_t i, std::size_t step) {
                return (i <= step && step < seen[i].until) || step < seen[i].after;
            };
            std::uint64_t peak = 0;
            for (std::size_t i = 0; i != count; ++i) {
                const auto& a = made->slots[i];
                if (!a.is_planned) continue;
                CHECK(a.offset % seen[i].align == 0);
                peak = std::max(peak, a.offset + a.size);
                for (std::size_t j = 0; j != i; ++j) {
                    const auto& b = made->slots[j];
                    if (!b.is_planned || a.offset + a.size <= b.offset || b.offset + b.size <= a.offset) continue;
                    bool both = false;
                    for (std::size_t step = 0; step != count; ++step) both = both || (lives(i, step) && lives(j, step));
                    CHECK_FALSE(both);
                }
            }
            CHECK(peak <= made->peak);
        }
    }
}

TEST_CASE("make_guide: equal input gives an equal guide") {
    generator source{7};
    const auto seen = seen_in(random_pass(source, 60, 5));
    CHECK(allot::make_guide(seen, {.changes = 10}).value() == allot::make_guide(seen, {.changes = 10}).value());
}
