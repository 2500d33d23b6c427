#include "memories.hpp"

#include <allot/adapt/memory_resource.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_map>

namespace {

using namespace allot::literals;
using helpers::all_bytes;
using helpers::is_aligned;

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;

// Returns the diagnosis of the exception that a call throws.
template <class Call>
allot::diagnosis thrown(Call call) {
    try {
        call();
    } catch (const allot::bad_alloc& error) {
        CHECK(std::string{error.what()} == error.diagnosis().what());
        return error.diagnosis();
    }
    return {};
}

}  // namespace

TEST_CASE_TEMPLATE("memory_resource: random blocks do not overlap, and all are freed", Memory, EVERY_MEMORY) {
    Memory used;
    allot::memory_resource resource{used.memory};
    std::pmr::memory_resource& any = resource;
    struct held {
        void* address;
        std::size_t size, align, value;
    };
    std::vector<held> live;
    memories::sequence random;
    std::size_t refused = 0;
    const auto give_back = [&](std::size_t which) {
        const held gone = std::exchange(live[which], live.back());
        live.pop_back();
        if (!all_bytes(gone.address, gone.size, gone.value)) FAIL("a block was written to");
        any.deallocate(gone.address, gone.size, gone.align);
    };
    for (std::size_t i = 0; i != 5000; ++i) {
        if (live.size() > 400 || (!live.empty() && random.below(3) == 0)) {
            give_back(random.below(live.size()));
            continue;
        }
        held fresh{nullptr, random.below(8) == 0 ? random.below(8000) : random.below(100),
                   std::size_t{1} << random.below(random.below(8) == 0 ? 13 : 6), i % 251};
        try {
            fresh.address = any.allocate(fresh.size, fresh.align);
        } catch (const allot::bad_alloc& error) {
            CHECK(error.diagnosis().reason != allot::refusal::none);
            ++refused;
            continue;
        }
        if (fresh.address == nullptr || !is_aligned(fresh.address, fresh.align)) FAIL("no such address was asked for");
        std::memset(fresh.address, static_cast<int>(fresh.value), fresh.size);
        live.push_back(fresh);
    }
    CHECK((refused != 0) == Memory::bounded);
    while (!live.empty()) give_back(live.size() - 1);
    CHECK(used.is_all_back());
}

TEST_CASE_TEMPLATE("memory_resource: supports containers of containers", Memory, EVERY_MEMORY) {
    Memory used;
    {
        allot::memory_resource resource{used.memory};
        std::pmr::vector<std::pmr::string> names{&resource};
        std::pmr::map<std::pmr::string, int> numbers{&resource};
        std::pmr::unordered_map<int, std::pmr::vector<int>> rows{&resource};
        for (int i = 0; i != 200; ++i) {
            names.emplace_back("a name that is too long to lie in the string itself, number " + std::to_string(i));
            numbers.emplace(names.back(), i);
            rows[i % 10].push_back(i);
        }
        CHECK(names.front().get_allocator().resource() == &resource);
        for (int i = 0; i != 200; i += 2) numbers.erase(names[static_cast<std::size_t>(i)]);
        CHECK(numbers.size() == 100);
        for (int i = 1; i < 200; i += 2) CHECK(numbers.at(names[static_cast<std::size_t>(i)]) == i);
        for (int i = 0; i != 200; ++i) CHECK(rows.at(i % 10)[static_cast<std::size_t>(i / 10)] == i);
    }
    CHECK(used.is_all_back());
}

TEST_CASE_TEMPLATE("memory_resource: a size of 0 returns a distinct block", Memory, EVERY_MEMORY) {
    Memory used;
    {
        allot::memory_resource resource{used.memory};
        void* const first = resource.allocate(0, 1);
        void* const second = resource.allocate(0, 1);
        CHECK(first != nullptr);
        CHECK(first != second);
        resource.deallocate(first, 0, 1);
        resource.deallocate(second, 0, 1);
    }
    CHECK(used.is_all_back());
}

TEST_CASE_TEMPLATE("memory_resource: a failure changes nothing", Memory, EVERY_MEMORY) {
    Memory used;
    allot::memory_resource resource{used.memory};
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    for (const std::size_t size : {most, most - 1, most - 15, most - 64, most / 2 + 1, memories::huge})
        for (const std::size_t align : {1_B, 16_B, 4_KiB})
            CHECK_THROWS_AS(static_cast<void>(resource.allocate(size, align)), allot::bad_alloc);
    for (const std::size_t align : {0_B, 3_B, most, most / 2})
        CHECK(thrown([&] { static_cast<void>(resource.allocate(8, align)); }).reason == allot::refusal::bad_alignment);
    CHECK(used.is_all_back());
}

TEST_CASE("memory_resource: throws the diagnosis, which std::bad_alloc also catches") {
    heap_arena memory{{}, 1_KiB};
    allot::memory_resource resource{memory};
    void* const held = resource.allocate(500);
    const auto failure = thrown([&] { static_cast<void>(resource.allocate(2000)); });
    CHECK(failure == memory.diagnose({.size = 2000}));
    CHECK(failure.reason == allot::refusal::exhausted);
    CHECK(failure.largest_hole > 400);
    CHECK(failure.largest_hole < 600);
    try {
        std::pmr::vector<int> values{&resource};
        values.resize(1000);
        FAIL("there were no 4000 bytes");
    } catch (const std::bad_alloc& error) {
        CHECK(std::string{error.what()} == allot::to_string(allot::refusal::exhausted));
    }
    resource.deallocate(held, 500);

    using slots = allot::pool<allot::pool_options{.slot = 64, .align = 16}>;
    allot::arena<allot::host::static_storage<1_KiB>, slots> pool;
    allot::memory_resource of_slots{pool};
    CHECK(thrown([&] { static_cast<void>(of_slots.allocate(64, 32)); }).reason == allot::refusal::misaligned);
    CHECK(thrown([&] { static_cast<void>(of_slots.allocate(65, 16)); }).reason == allot::refusal::over_limit);
    std::pmr::map<int, int> map{&of_slots};
    for (int i = 0; i != 16; ++i) map[i] = i;
    CHECK(thrown([&] { map[16] = 16; }).reason == allot::refusal::exhausted);
    map.erase(7);
    map[16] = 16;
    CHECK(map.size() == 16);

    allot::arena<memories::counted_heap, allot::best_fit<>> none{{}, memories::huge};
    allot::memory_resource empty{none};
    CHECK(thrown([&] { static_cast<void>(empty.allocate(8)); }).reason == allot::refusal::device_refused);
}

TEST_CASE("memory_resource: metadata is in front of the bytes, padded to the alignment") {
    using arena = allot::arena<allot::host::heap, allot::best_fit<helpers::side_table>>;
    arena memory{{}, 4_KiB};
    allot::memory_resource resource{memory};
    const auto largest = [&] { return memory.diagnose({.size = memories::huge}).largest_hole; };
    const auto all = largest();
    void* const small = resource.allocate(64, 1);
    CHECK(all - largest() <= 64 + 16);
    resource.deallocate(small, 64, 1);
    void* const aligned = resource.allocate(64, 64);
    CHECK(is_aligned(aligned, 64));
    CHECK(all - largest() <= 64 + 64 + 64);
    resource.deallocate(aligned, 64, 64);
    CHECK(largest() == all);
}

TEST_CASE("memory_resource: a bump reclaims nothing before its reset") {
    allot::arena<allot::host::static_storage<4_KiB>, allot::bump<>> memory;
    allot::memory_resource resource{memory};
    for (int round = 0; round != 3; ++round) {
        {
            std::pmr::vector<std::pmr::string> names{&resource};
            for (int i = 0; i != 10; ++i) names.emplace_back(40, 'x');
            for (const auto& each : names) CHECK(std::string_view{each} == std::string(40, 'x'));
        }
        CHECK(memory.diagnose({.size = 4_KiB}).reason == allot::refusal::exhausted);
        memory.reset();
        CHECK(memory.diagnose({.size = 4_KiB}).reason == allot::refusal::none);
    }
}

TEST_CASE("memory_resource: resources are equal if they refer to the same allocator") {
    heap_arena one{{}, 4_KiB}, other{{}, 4_KiB};
    allot::arena<allot::host::static_storage<4_KiB>, allot::bump<>> another;
    const allot::memory_resource a{one}, b{other}, c{one}, d{a};
    const allot::memory_resource e{another};
    CHECK(a == c);
    CHECK(c == d);
    CHECK(a != b);
    CHECK(a != e);
    CHECK(a != *std::pmr::new_delete_resource());
    CHECK(*std::pmr::new_delete_resource() != a);
    CHECK(&c.allocator() == &one);
}

TEST_CASE("memory_resource: containers of one arena exchange memory, and of two arenas values") {
    heap_arena one{{}, 16_KiB}, other{{}, 16_KiB};
    allot::memory_resource here{one}, also_here{one}, there{other};
    std::pmr::vector<int> source{{1, 2, 3}, &here}, same{&also_here}, apart{&there};
    const int* const bytes = source.data();
    same = std::move(source);
    CHECK(same.data() == bytes);
    apart = std::move(same);
    CHECK(apart.data() != bytes);
    CHECK(apart == std::pmr::vector<int>{1, 2, 3});
}

TEST_CASE("memory_resource: a standard pool resource can use an arena") {
    memories::in_band used;
    {
        allot::memory_resource resource{used.memory};
        std::pmr::unsynchronized_pool_resource pools{&resource};
        std::pmr::map<int, std::pmr::string> names{&pools};
        for (int i = 0; i != 100; ++i) names[i] = std::string(30, static_cast<char>('a' + i % 26));
        for (int i = 0; i != 100; ++i) CHECK(names.at(i)[29] == 'a' + i % 26);
    }
    CHECK(used.is_all_back());
}
