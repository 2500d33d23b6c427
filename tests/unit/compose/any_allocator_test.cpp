#include <allot/adapt/memory_resource.hpp>
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <memory_resource>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace allot::literals;
using allot::allocator_ability;
using allot::refusal;
using scratch = allot::arena<allot::host::static_storage<8192>, allot::best_fit<>>;
using grows = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>>;
using beside =
    allot::arena<allot::host::heap, allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>>;
using slots = allot::arena<allot::host::static_storage<8192>, allot::pool<allot::pool_options{.slot = 256}>>;

/// GPUs of one type, and an ordinal for each.
struct gpu {
    using address_model = allot::handle_offset<int>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr auto dl_device = allot::dl_device_type::ext_dev;
    int ordinal = 0;
    [[nodiscard]] allot::acquired<gpu> acquire(allot::layout wanted) noexcept {
        return allot::region<address_model::address>{{ordinal, 0}, wanted.size, 64};
    }
    void release(allot::region<address_model::address>) noexcept {}
};

/// Only what an allocator must have.
struct bare : allot::host::heap {
    using block_type = allot::block<void*, allot::no_metadata<bare>>;
    static constexpr auto reclaims = allot::reclaim::any;
    char bytes[64]{};
    [[nodiscard]] block_type allocate(allot::layout wanted) noexcept {
        return wanted.size <= sizeof bytes ? block_type{bytes, wanted.size, {}} : block_type{};
    }
    void deallocate(block_type) noexcept {}
    [[nodiscard]] allot::diagnosis diagnose(allot::layout) const noexcept { return {refusal::over_limit}; }
};

}  // namespace

TEST_CASE("any_allocator: allocators of different types in one table, at random against a model") {
    std::vector<allot::any_allocator<>> memories;
    memories.emplace_back(std::in_place_type<scratch>);
    memories.emplace_back(grows{});
    memories.emplace_back(beside{{}, 8192});
    memories.emplace_back(std::in_place_type<slots>);
    memories.emplace_back(allot::naive<allot::host::heap>{});
    using block = allot::any_allocator<>::block_type;
    struct known {
        block held;
        std::size_t memory;
        int value;
    };
    std::vector<known> live;
    std::mt19937 random{9};
    std::vector<int> served(memories.size()), resized(memories.size());
    for (int step = 0; step != 10'000; ++step) {
        const std::size_t at = random() % memories.size();
        if (live.empty() || random() % 7 < 3) {
            const allot::layout wanted{1 + random() % 256, std::size_t{1} << random() % 5};
            const bool expected = memories[at].diagnose(wanted).reason == refusal::none;
            const block held = memories[at].allocate(wanted);
            CHECK(static_cast<bool>(held) == expected);
            if (!held) continue;
            ++served[at];
            CHECK(memories[at].capacity(held) >= held.size);
            CHECK(memories[at].owns(held) == memories[at].can(allocator_ability::owns));
            std::memset(held.address, step & 0xFF, held.size);
            live.push_back({held, at, step & 0xFF});
        } else if (known& one = live[random() % live.size()]; random() % 4 == 0) {
            const std::size_t size = 1 + random() % 256, before = one.held.size;
            if (memories[one.memory].resize(one.held, size)) {
                ++resized[one.memory];
                CHECK(one.held.size == size);
                std::memset(one.held.address, one.value, size);
            } else {
                CHECK(one.held.size == before);
            }
        } else {
            bool kept = true;
            for (std::size_t i = 0; i != one.held.size; ++i)
                kept = kept && static_cast<unsigned char*>(one.held.address)[i] == one.value;
            CHECK(kept);
            memories[one.memory].deallocate(one.held);
            std::swap(one, live.back());
            live.pop_back();
        }
    }
    for (const int each : served) CHECK(each > 100);
    for (std::size_t i = 0; i != memories.size(); ++i)
        CHECK((resized[i] > 20) == memories[i].can(allocator_ability::resize));
    for (const known& each : live) memories[each.memory].deallocate(each.held);
    CHECK(memories[1].trim() > 0);
    CHECK(memories[1].size() == 0);
}

TEST_CASE("any_allocator: an ability that the allocator lacks refuses") {
    bare plain;
    allot::any_allocator_ref<> memory{plain};
    for (unsigned one = 1; one != 1024; one *= 2) CHECK_FALSE(memory.can(static_cast<allocator_ability>(one)));
    auto block = memory.allocate({.size = 10});
    REQUIRE(block);
    CHECK_FALSE(memory.resize(block, 5));
    CHECK(block.size == 10);
    CHECK(memory.capacity(block) == 10);
    CHECK_FALSE(memory.owns(block));
    CHECK(memory.check(block));
    CHECK(memory.size() == 0);
    CHECK(memory.trim() == 0);
    CHECK_FALSE(memory.try_reset());
    CHECK_FALSE(memory.allocate_at({0, 8}));
    CHECK(memory.diagnose_at({0, 8}).reason == refusal::not_free);
    CHECK(memory.statistics() == allot::allocator_statistics{});
    int visited = 0;
    memory.for_each_block([&](void*, std::size_t) { ++visited; });
    memory.for_each_hole([&](void*, std::size_t) { ++visited; });
    CHECK(visited == 0);
    CHECK(memory.diagnose({.size = 100}).reason == refusal::over_limit);
}

TEST_CASE("any_allocator: each ability reaches the allocator") {
    allot::counted<scratch> arena;
    allot::any_allocator_ref<> memory{arena};
    for (const auto each : {allocator_ability::size, allocator_ability::owns, allocator_ability::capacity,
                            allocator_ability::resize, allocator_ability::allocate_at, allocator_ability::for_each_hole,
                            allocator_ability::for_each_block, allocator_ability::statistics})
        CHECK(memory.can(each));
    CHECK_FALSE(memory.can(allocator_ability::reset));
    CHECK_FALSE(memory.can(allocator_ability::trim));
    const auto block = memory.allocate_at({1024, 100});
    REQUIRE(block);
    CHECK(memory.diagnose_at({1024, 1}).reason == refusal::not_free);
    CHECK(memory.statistics() == arena.statistics());
    std::size_t bytes = 0, holes = 0;
    memory.for_each_block([&](void* address, std::size_t size) {
        CHECK(address == block.address);
        bytes += size;
    });
    CHECK(bytes >= 100);
    memory.for_each_hole([&](void*, std::size_t) { ++holes; });
    CHECK(holes == 2);
    memory.deallocate(block);
    memory.deallocate({});
    CHECK(arena.statistics().count == 0);

    allot::arena<allot::host::static_storage<256>, allot::bump<>> frame;
    allot::any_allocator_ref scratch_frame{frame};
    static_assert(decltype(scratch_frame)::reclaims == allot::reclaim::never);
    const auto first = scratch_frame.allocate({.size = 100});
    CHECK(scratch_frame.try_reset());
    CHECK(scratch_frame.allocate({.size = 100}) == first);
}

TEST_CASE("any_allocator: a move keeps the blocks, and an empty object refuses") {
    allot::any_allocator<> from{grows{}};
    const auto block = from.allocate({.size = 1000});
    allot::any_allocator<> to{std::move(from)};
    CHECK_FALSE(from);
    CHECK_FALSE(from.allocate({.size = 1}));
    CHECK(from.diagnose({.size = 1}).reason == refusal::exhausted);
    CHECK(from.diagnose({.size = 0}).reason == refusal::empty_layout);
    CHECK(to.owns(block));
    allot::any_allocator<> other{std::in_place_type<scratch>};
    REQUIRE(other.allocate({.size = 10}));
    other = std::move(to);  // ends the arena with its block
    CHECK(other.owns(block));
    other.deallocate(block);
    CHECK(other.trim() > 0);
    other = allot::any_allocator<>{};
    CHECK_FALSE(other);
}

TEST_CASE("any_allocator: GPUs selected by an ordinal, tensors, std::pmr, fallback and a wrapper around it") {
    using arena_of_a_gpu = allot::arena<gpu, allot::best_fit<>>;
    using any_gpu = allot::any_allocator<gpu::address_model, allot::any_options_of<arena_of_a_gpu>>;
    std::vector<any_gpu> gpus;
    for (int ordinal = 0; ordinal != 3; ++ordinal) gpus.emplace_back(arena_of_a_gpu{gpu{ordinal}, 4096});
    gpus.emplace_back(allot::naive<gpu>{gpu{3}});
    for (std::size_t ordinal = 0; ordinal != gpus.size(); ++ordinal) {
        const auto block = gpus[ordinal].allocate({.size = 100});
        REQUIRE(block);
        CHECK(block.address.handle == static_cast<int>(ordinal));
        gpus[ordinal].deallocate(block);
    }

    allot::counted<grows> arena;
    allot::any_allocator_ref<> memory{arena};
    {
        auto storage = allot::alloc_storage(memory, 4096, 64);
        REQUIRE(storage);
        auto tensor = allot::alloc_tensor(*storage, 0, {16}, allot::float32);
        REQUIRE(tensor);
        CHECK(arena.statistics().count == 1);
        allot::memory_resource resource{memory};
        std::pmr::vector<std::pmr::string> words{&resource};
        for (int i = 0; i != 100; ++i) words.emplace_back("a word that is longer than the buffer of a string");
        CHECK(arena.statistics().count > 100);
    }
    CHECK(arena.statistics().count == 0);

    scratch small;
    allot::fallback both{allot::any_allocator_ref<>{small}, allot::any_allocator_ref<>{arena}};
    CHECK(both.is_from_first(both.allocate({.size = 100})));
    CHECK_FALSE(both.is_from_first(both.allocate({.size = 10'000})));
    allot::limited little{allot::any_allocator<>{grows{}}, 100};
    CHECK(little.allocate({.size = 100}));
    CHECK_FALSE(little.allocate({.size = 1}));
    static_assert(sizeof(memory) == 2 * sizeof(void*));
}
