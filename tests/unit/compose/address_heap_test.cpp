// address_heap: blocks by address, caches, several arenas, and forks. examples/apps/malloc tests it as malloc.
#include <allot/compose/address_heap.hpp>
#include <allot/core/literals.hpp>
#include <allot/host/fork_lock.hpp>
#include <allot/host/virtual_memory.hpp>
#include <allot/strategy/deferred.hpp>

#include <doctest/doctest.h>

#include "../../in_child.hpp"
#include "heap_arenas.hpp"

#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace {

using namespace allot::literals;
using heap_arenas::best, heap_arenas::make;

template <class Strategy>
using heap_of = allot::address_heap<make<Strategy>, allot::host::fork_lock,
                                    allot::address_heap_options{.arenas = 3, .spares = 2, .discard = 128_KiB}>;
/// Pages of the system that can fail.
struct pages : allot::host::address_space {
    static inline bool reserves = true, commits = true, maps = true, remaps = true;
    static inline std::size_t discarded = 0;
    static void* reserve(std::size_t size) noexcept {
        return reserves ? allot::host::address_space::reserve(size) : nullptr;
    }
    static bool commit(void* from, std::size_t size) noexcept {
        return commits && allot::host::address_space::commit(from, size);
    }
    static bool discard(void* from, std::size_t size) noexcept {
        discarded += size;
        return allot::host::address_space::discard(from, size);
    }
    static void* map(std::size_t size) noexcept { return maps ? allot::host::address_space::map(size) : nullptr; }
    static void* remap(void* base, std::size_t size, std::size_t to) noexcept {
        return remaps ? allot::host::address_space::remap(base, size, to) : nullptr;
    }
};
struct make_with_slabs : make<best> {
    using slab_space = pages;
};
using heap_with_slabs = allot::address_heap<make_with_slabs, allot::host::fork_lock,
                                            allot::address_heap_options{.arenas = 3, .spares = 2, .discard = 128_KiB}>;
using heap_with_checked_slabs =
    allot::address_heap<make_with_slabs, allot::host::fork_lock,
                        allot::address_heap_options{.arenas = 3, .spares = 2, .checks = true, .discard = 128_KiB}>;
using cache_with_slabs = allot::address_cache<allot::address_cache_options{.slabs = true}>;
using checked_cache_with_slabs = allot::address_cache<allot::address_cache_options{.checks = true, .slabs = true}>;
using medium_cache = allot::address_cache<allot::address_cache_options{.medium = 6000, .medium_bytes = 20'000}>;
using medium_cache_with_slabs =
    allot::address_cache<allot::address_cache_options{.medium = 8200, .checks = true, .slabs = true}>;
struct make_with_mappings : make_with_slabs {
    using mapping_space = pages;
};
using heap_with_mappings = allot::address_heap<make_with_mappings, allot::host::fork_lock,
                                               allot::address_heap_options{.arenas = 3, .checks = true}>;
using deferred = allot::deferred<best>;

struct live {
    unsigned char* at;
    std::size_t size;
    unsigned char with;
};

bool is_whole(const live& block) {
    for (std::size_t i = 0; i != block.size; ++i)
        if (block.at[i] != block.with) return false;
    return true;
}

/// Random calls beside a list of the live blocks.
template <class Heap, class Cache>
void play(Heap& heap, Cache& cache, std::uint32_t seed, int calls) {
    std::mt19937 random{seed};
    std::vector<live> blocks;
    const auto size = [&]() -> std::size_t {
        return 1 + random() % (random() % 40 == 0 ? 300'001 : random() % 5 == 0 ? 5003 : 501);
    };
    const auto note = [&](void* at, std::size_t of) {
        REQUIRE(at != nullptr);
        CHECK(heap.capacity(at) >= of);
        CHECK(heap.owns(at));
        const auto with = static_cast<unsigned char>(random());
        std::memset(at, with, of);
        return live{static_cast<unsigned char*>(at), of, with};
    };
    for (int i = 0; i != calls; ++i) {
        const std::size_t wanted = size(), which = blocks.empty() ? 0 : random() % blocks.size();
        const auto call = random() % 10;
        if (blocks.empty() || call < 4) {
            const std::size_t align = random() % 8 == 0 ? std::size_t{16} << random() % 9 : 8;
            blocks.push_back(note(heap.allocate(cache, {.size = wanted, .align = align}), wanted));
            CHECK(allot::raw_pointer::position(blocks.back().at) % align == 0);
        } else if (call == 4) {
            void* const zeroed = heap.allocate_zeroed(cache, wanted);
            REQUIRE(zeroed != nullptr);
            CHECK(is_whole({static_cast<unsigned char*>(zeroed), wanted, 0}));
            blocks.push_back(note(zeroed, wanted));
        } else if (call == 5) {
            live& block = blocks[which];
            REQUIRE(is_whole(block));
            void* const moved = heap.reallocate(cache, block.at, wanted);
            REQUIRE(moved != nullptr);
            REQUIRE(
                is_whole({static_cast<unsigned char*>(moved), wanted < block.size ? wanted : block.size, block.with}));
            block = note(moved, wanted);
        } else if (call == 6) {
            live& block = blocks[which];
            if (heap.resize(block.at, wanted)) {
                REQUIRE(is_whole({block.at, wanted < block.size ? wanted : block.size, block.with}));
                block = note(block.at, wanted);
            }
        } else {
            REQUIRE(is_whole(blocks[which]));
            if (call == 7) heap.deallocate(blocks[which].at);
            else heap.deallocate(cache, blocks[which].at);
            blocks[which] = blocks.back();
            blocks.pop_back();
        }
        if (i % 1000 == 999) heap.trim(64_KiB);
    }
    for (const live& block : blocks) {
        REQUIRE(is_whole(block));
        heap.deallocate(cache, block.at);
    }
}

struct noted {
    static inline std::vector<allot::misuse> all;
    void operator()(allot::misuse what, std::size_t, std::size_t) const noexcept { all.push_back(what); }
};
using checked_heap = allot::address_heap<make<best>, allot::host::fork_lock,
                                         allot::address_heap_options{.arenas = 2, .checks = true}, noted>;
using checked_cache = allot::address_cache<allot::address_cache_options{.checks = true}>;

/// Returns true if the page of an address has memory.
[[maybe_unused]] bool has_memory(void* address) {
    const std::size_t page = allot::host::address_space::largest_align();
    unsigned char found = 0;
    auto* const first = static_cast<std::byte*>(address) - allot::raw_pointer::position(address) % page;
    REQUIRE(::mincore(first, page, &found) == 0);
    return (found & 1U) != 0;
}

}  // namespace

TEST_CASE_TEMPLATE("address_heap: random calls keep the bytes of live blocks", Strategy, best, deferred) {
    heap_of<Strategy> heap{};
    allot::address_cache<> cache;
    for (std::uint32_t seed = 1; seed != 4; ++seed) play(heap, cache, seed, 5000);
    CHECK(cache.kept() > 0);
    CHECK(heap.flush(cache));
    CHECK(cache.kept() == 0);
    CHECK_FALSE(heap.flush(cache));
    const auto all = heap.statistics();
    CHECK(all.arenas == 1);
    CHECK(all.holes == 1);            // every block is free, and all holes joined
    CHECK(all.held - all.free < 64);  // the words at both ends
    CHECK(all.top == all.free);
}

TEST_CASE("address_heap: blocks return to the arena that contains them") {
    heap_of<best> heap{};
    allot::address_cache<> first, second{1};
    void* const of_first = heap.allocate(first, {.size = 5000});
    void* const of_second = heap.allocate(second, {.size = 5000});
    CHECK(heap.statistics().arenas == 2);
    heap.deallocate(first, of_second);
    heap.deallocate(second, of_first);
    CHECK(heap.statistics().holes == 2);
    int other = 0;
    CHECK_FALSE(heap.owns(&other));
    CHECK_FALSE(heap.owns(nullptr));
}

TEST_CASE("address_heap: invalid and impossible requests return null") {
    heap_of<best> heap{make<best>{.reserve = 1_MiB}};
    allot::address_cache<> cache;
    CHECK(heap.allocate(cache, {.size = 0}) == nullptr);
    CHECK(heap.allocate(cache, {.size = 10, .align = 48}) == nullptr);
    CHECK(heap.allocate(cache, {.size = 2_MiB}) == nullptr);
    CHECK(heap.allocate_zeroed(cache, 2_MiB) == nullptr);
    void* const block = heap.allocate(cache, {.size = 100});
    REQUIRE(block != nullptr);
    std::memset(block, 5, 100);
    CHECK(heap.reallocate(cache, block, 2_MiB) == nullptr);
    CHECK(is_whole({static_cast<unsigned char*>(block), 100, 5}));
    heap.deallocate(cache, block);
    heap.deallocate(cache, nullptr);
    heap.deallocate(nullptr);
}

TEST_CASE("address_heap: before a request fails, other arenas and the cache serve it") {
    heap_of<best> heap{make<best>{.reserve = 1_MiB}};
    allot::address_cache<> first, second{1};
    void* const there = heap.allocate(second, {.size = 10'000});  // an arena of another thread
    std::vector<void*> blocks;
    while (void* const block = heap.allocate(first, {.size = 5000})) blocks.push_back(block);
    CHECK(blocks.size() > 2 * 1_MiB / 5100 - 10);
    std::vector<void*> small;
    while (void* const block = heap.allocate(first, {.size = 500})) small.push_back(block);
    for (void* const block : small) heap.deallocate(first, block);
    for (void* const block : blocks) heap.deallocate(first, block);
    heap.deallocate(there);
    CHECK(heap.allocate(first, {.size = 900'000}) != nullptr);
    heap.flush(first);
}

TEST_CASE("address_heap: a thread whose arena has too few addresses uses those of other threads") {
    struct make_few {
        using arena = make<best>::arena;
        arena operator()(std::size_t number) const noexcept {
            constexpr std::size_t reserves[] = {1_MiB, 64_KiB,
                                                std::size_t{3} << (sizeof(std::size_t) * 8 - 2)};  // the last one fails
            return arena{allot::host::virtual_memory{reserves[number % 3]}};
        }
    };
    allot::address_heap<make_few, allot::host::fork_lock, allot::address_heap_options{.arenas = 3}> heap{};
    for (const std::uint32_t home : {0U, 1U, 2U}) {
        allot::address_cache<> cache{home};
        for (const std::size_t size : {100U, 5000U, 200'000U}) {
            CAPTURE(home);
            CAPTURE(size);
            void* const block = heap.allocate(cache, {.size = size});
            REQUIRE(block != nullptr);
            heap.deallocate(cache, block);
        }
        CHECK(heap.allocate(cache, {.size = 2_MiB}) == nullptr);
        heap.flush(cache);
    }
}

TEST_CASE("address_heap: large freed blocks lose their pages and are zero again") {
    heap_of<best> heap{};
    allot::address_cache<> cache;
    for (int round = 0; round != 4; ++round)
        for (const std::size_t size : {50'001U, 200'003U, 3'000'017U, 40'000'003U}) {
            void* const block = heap.allocate_zeroed(cache, size);
            REQUIRE(block != nullptr);
            REQUIRE(is_whole({static_cast<unsigned char*>(block), size, 0}));
            std::memset(block, 0xEE, heap.capacity(block));
            heap.deallocate(cache, block);
        }
}

/// Five threads allocate blocks, and free blocks of each other. All blocks are freed at the end.
template <class Cache, class Heap>
void free_across_threads(Heap& heap) {
    std::atomic<void*> slots[200]{};
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed != 5; ++seed)
        threads.emplace_back([&, seed] {
            Cache cache{seed};
            std::mt19937 random{seed};
            for (int i = 0; i != 20'000; ++i) {
                const std::size_t size = 1 + random() % (i % 50 == 0 ? 50'000 : 600);
                void* const block = heap.allocate(cache, {.size = size});
                std::memset(block, 1, size);
                heap.deallocate(cache, slots[random() % 200].exchange(block));
            }
            heap.flush(cache);
        });
    for (std::thread& each : threads) each.join();
    for (std::atomic<void*>& each : slots) heap.deallocate(each.load());
}

TEST_CASE("address_heap: threads free the blocks of each other") {
    heap_of<best> heap{};
    free_across_threads<allot::address_cache<>>(heap);
    const auto all = heap.statistics();
    CHECK(all.arenas == 3);
    CHECK(all.holes == 3);
}

TEST_CASE("heap_arenas: a thread that waits moves to the arena with the fewest threads, unless it is alone") {
    struct locked {
        static bool try_enter(int, std::size_t) { return false; }
        static bool enter(int, std::size_t) { return true; }
    };
    struct thread {
        std::uint32_t home = 0, waited = 0;
    };
    allot::detail::heap_arenas<locked, int, 4, 5, 3> arenas;
    int source = 0;
    thread threads[6];
    const auto wait = [&](thread& one, int times) {
        std::size_t used = 0;
        for (int i = 0; i != times; ++i) used = arenas.enter(source, one.home, one.waited);
        return used;
    };
    CHECK(wait(threads[0], 30) == 0);  // alone
    CHECK(wait(threads[1], 2) == 0);
    CHECK(wait(threads[1], 1) == 1);
    CHECK(wait(threads[0], 30) == 0);
    CHECK(wait(threads[1], 30) == 1);
    CHECK(wait(threads[2], 30) == 2);
    CHECK(wait(threads[3], 30) == 3);
    CHECK(wait(threads[4], 30) == 0);  // no arena has fewer threads than it would then have
    CHECK(wait(threads[0], 30) == 0);
    arenas.leave_home(threads[1].home);
    CHECK(threads[1].home == 0);
    CHECK(wait(threads[4], 3) == 1);
    CHECK(wait(threads[0], 30) == 0);
    CHECK(wait(threads[1], 3) == 0);
    CHECK(wait(threads[5], 30) == 1);  // three threads share the first arena, and one has the second
    for (thread& each : threads) arenas.leave_home(each.home);
    CHECK(wait(threads[1], 30) == 0);
    CHECK(wait(threads[2], 30) == 1);
    thread not_counted, third{.home = 3, .waited = 0};
    arenas.leave_home(not_counted.home);
    CHECK(wait(third, 30) == 3);
    CHECK(wait(threads[3], 30) == 2);
}

TEST_CASE("address_heap: during a fork, other threads use a spare arena and nobody waits") {
    heap_of<best> heap{};
    allot::address_cache<> cache;
    void* const before = heap.allocate(cache, {.size = 3000});
    std::memset(before, 7, 3000);
    heap.before_fork();
    void* during = nullptr;
    std::thread{[&] {
        allot::address_cache<> other;
        heap.deallocate(other, before);  // waits in a list, because its arena is held
        during = heap.allocate(other, {.size = 3001});
        std::memset(during, 8, 3001);
        heap.flush(other);
    }}.join();
    CHECK(processes::in_child([&] {
              heap.after_fork_in_child();
              allot::address_cache<> own;
              play(heap, own, 1, 500);
              heap.deallocate(own, during);
              heap.flush(own);
              return 0;
          }) == 0);
    heap.after_fork_in_parent();
    CHECK(heap.owns(during));
    heap.deallocate(cache, during);
    CHECK(heap.statistics().holes == 2);
    play(heap, cache, 2, 500);
}

TEST_CASE("address_heap: a thread that is in an arena can fork, and continues in both processes") {
    heap_of<best> heap{};
    allot::address_cache<> cache;
    play(heap, cache, 3, 200);
    heap.before_fork();
    heap.before_fork();  // in a handler of a signal: its thread has the locks
    const auto use = [&] {
        allot::address_cache<> own;
        play(heap, own, 4, 200);
        return 0;
    };
    CHECK(processes::in_child([&] {
              heap.after_fork_in_child();
              return use();
          }) == 0);
    heap.after_fork_in_parent();
    use();
}

TEST_CASE("address_heap: with checks, misuses are reported and change nothing") {
    using allot::misuse;
    checked_heap heap{};
    checked_cache cache;
    noted::all.clear();
    const auto reported = [] { return std::exchange(noted::all, {}); };
    const std::vector<misuse> not_live{misuse::not_live}, foreign{misuse::foreign_block};
    constexpr std::size_t largest = checked_cache::largest;
    for (const std::size_t size : {std::size_t{10}, std::size_t{100}, largest, largest + 1, std::size_t{100'000}}) {
        void* const blocks[] = {heap.allocate(cache, {.size = size, .align = 8}),
                                heap.allocate(cache, {.size = size, .align = 8})};
        for (void* const each : blocks) heap.deallocate(cache, each);
        CHECK(reported().empty());
        if (size > largest) continue;  // the record of a block that joined a hole may be gone
        for (void* const each : blocks) {
            heap.deallocate(cache, each);
            CHECK(reported() == not_live);
        }
        CHECK(heap.allocate(cache, {.size = size, .align = 8}) == blocks[1]);  // the newest one, once
    }
    void* const large = heap.allocate(cache, {.size = 5000});
    void* const wall = heap.allocate(cache, {.size = 5000});
    heap.deallocate(large);
    heap.deallocate(large);
    CHECK(reported() == not_live);
    heap.deallocate(static_cast<std::byte*>(wall) + 32);
    CHECK(reported() == not_live);
    alignas(16) static std::byte other[4096]{};
    heap.deallocate(other + 1024);
    CHECK(reported() == foreign);
    std::uintptr_t capacity = 48;
    std::memcpy(other + 48, &capacity, sizeof capacity);  // the record of an odd address
    heap.deallocate(cache, other + 56);
    CHECK(reported() == foreign);
    heap.deallocate(cache, wall);
    play(heap, cache, 7, 3000);
    CHECK(reported().empty());
}

TEST_CASE("address_heap: with checks, a block whose bytes are equal to the mark is freed") {
    checked_heap heap{};
    checked_cache cache;
    noted::all.clear();
    void* const first = heap.allocate(cache, {.size = 40, .align = 8});
    void* const second = heap.allocate(cache, {.size = 40, .align = 8});
    heap.deallocate(cache, first);
    std::memcpy(second, first, 40);  // a read of a freed block: the mark
    heap.deallocate(cache, second);
    CHECK(noted::all.empty());
    CHECK(heap.allocate(cache, {.size = 40, .align = 8}) == second);
}

#if UINTPTR_MAX > 0xFFFF'FFFF  // slabs need addresses of 64 bits

TEST_CASE("address_heap: with slabs, random calls keep the bytes of live blocks, also if the system has no pages") {
    for (const auto& [reserves, commits] : {std::pair{true, true}, {true, false}, {false, true}}) {
        pages::reserves = reserves;
        pages::commits = commits;
        heap_with_slabs heap{};
        cache_with_slabs cache;
        for (std::uint32_t seed = 1; seed != 4; ++seed) play(heap, cache, seed, 5000);
        heap.flush(cache);
        CHECK(cache.kept() == 0);
        heap.trim(64_KiB);
        const auto all = heap.statistics();
        CHECK(all.arenas == 1);
        CHECK(all.held - all.free < 64);  // every block is free
    }
    pages::reserves = pages::commits = true;
}

TEST_CASE("address_heap: a cache with lists above those of slabs takes their blocks from the arenas") {
    heap_with_slabs heap{};
    allot::address_cache<allot::address_cache_options{.largest = 4000, .slabs = true}> cache;
    play(heap, cache, 5, 5000);
    heap.flush(cache);
    heap.trim(64_KiB);
    CHECK(heap.statistics().held - heap.statistics().free < 64);
}

TEST_CASE("address_heap: blocks of slabs have no records") {
    heap_with_slabs heap{};
    cache_with_slabs cache;
    for (std::size_t size = 1; size <= 1024; ++size) {
        void* const block = heap.allocate(cache, {.size = size});
        CHECK(heap.capacity(block) == allot::align_up(size, std::size_t{16}));
        CHECK(allot::raw_pointer::position(block) % 16 == 0);
        CHECK(heap.resize(block, heap.capacity(block)));
        CHECK_FALSE(heap.resize(block, heap.capacity(block) + 1));
        CHECK_FALSE(heap.resize(block, 0));
        heap.deallocate(block);
    }
    std::vector<void*> blocks;
    for (int i = 0; i != 20'000; ++i) blocks.push_back(heap.allocate(cache, {.size = 48}));
    const auto all = heap.statistics();
    CHECK(all.held - all.free <= 20'000 * 48 + 64 * 16'384);  // and those in the cache
    for (void* const each : blocks) heap.deallocate(cache, each);
}

TEST_CASE("address_heap: empty slabs serve other sizes, and their pages are discarded") {
    heap_with_slabs heap{};
    cache_with_slabs cache;
    std::size_t most = 0;
    for (const std::size_t size : {16U, 1000U, 112U, 48U, 1024U, 528U}) {
        std::vector<void*> blocks;
        for (std::size_t bytes = 0; bytes < 8_MiB; bytes += size) {
            blocks.push_back(heap.allocate(cache, {.size = size}));
            std::memset(blocks.back(), 0x7E, size);
        }
        const std::size_t held = heap.statistics().held;
        if (most == 0)
            most = held + 1_MiB;  // the last slab of each size stays, and some bytes of each slab are not used
        CHECK(held <= most);
        for (void* const each : blocks) heap.deallocate(cache, each);
        heap.flush(cache);
        CHECK(heap.statistics().held < 3_MiB);
    }
    const std::size_t before = heap.statistics().held, discarded = std::exchange(pages::discarded, 0);
    CHECK(discarded > 6 * 6_MiB);
    CHECK(heap.trim(64_KiB) >= pages::discarded);
    CHECK(before - heap.statistics().held == pages::discarded);
    CHECK(pages::discarded > 0);
}

TEST_CASE("address_heap: holes lose their pages before slabs use new ones, and the rest of a shrunk block at once") {
    heap_with_slabs heap{};
    cache_with_slabs cache;
    void* const wall = heap.allocate(cache, {.size = 8000});
    for (const std::size_t last : {8000U, 1200U}) {
        std::vector<void*> blocks;
        for (int i = 0; i != 400; ++i) blocks.push_back(std::memset(heap.allocate(cache, {.size = 8000}), 1, 8000));
        for (void* const each : blocks) CHECK(heap.resize(each, last));
        for (void* const each : blocks) heap.deallocate(cache, each);
        CHECK(has_memory(blocks[200]));
        for (int i = 0; i != 10'000; ++i) static_cast<void>(heap.allocate(cache, {.size = 100}));
        CHECK_FALSE(has_memory(blocks[200]));
    }
    void* const large = heap.allocate(cache, {.size = 900'000});
    std::memset(large, 1, 900'000);
    CHECK(heap.resize(large, 9001));
    CHECK(has_memory(large));
    CHECK_FALSE(has_memory(static_cast<std::byte*>(large) + 450'000));
    heap.deallocate(cache, large);
    heap.deallocate(cache, wall);
}

TEST_CASE("address_heap: after a huge block, freed blocks lose their pages as before") {
    heap_of<best> heap{make<best>{.reserve = 64_GiB}};
    allot::address_cache<> cache;
    heap.deallocate(heap.allocate(cache, {.size = 40_GiB}));
    std::vector<void*> blocks;
    for (int i = 0; i != 1500; ++i) {
        blocks.push_back(heap.allocate(cache, {.size = 100'000}));
        REQUIRE(blocks.back() != nullptr);
        std::memset(blocks.back(), 1, 100'000);
    }
    for (void* const each : blocks) heap.deallocate(each);
    CHECK_FALSE(has_memory(static_cast<std::byte*>(blocks[500]) + 50'000));
}

TEST_CASE("address_heap: a block stays where it is if its capacity is enough and not much more") {
    heap_with_slabs heap{};
    cache_with_slabs cache;
    for (const std::size_t size : {1U, 17U, 100U, 1024U, 5000U}) {
        void* const block = heap.allocate(cache, {.size = size});
        CHECK(heap.reallocate(cache, block, heap.capacity(block)) == block);
        CHECK(heap.reallocate(cache, block, size) == block);
        heap.deallocate(cache, block);
    }
    void* const block = heap.allocate(cache, {.size = 1024});
    CHECK(heap.reallocate(cache, block, 100) != block);
}

TEST_CASE("address_heap: with slabs, threads free the blocks of each other, and a fork uses a spare arena") {
    heap_with_slabs heap{};
    free_across_threads<cache_with_slabs>(heap);
    cache_with_slabs cache;
    void* const before = heap.allocate(cache, {.size = 300});
    heap.before_fork();
    void* during = nullptr;
    std::thread{[&] {
        cache_with_slabs other;
        heap.deallocate(other, before);
        during = heap.allocate(other, {.size = 500});
        std::memset(during, 8, 500);
        heap.flush(other);  // waits in a list, because its arena is held
    }}.join();
    CHECK(processes::in_child([&] {
              heap.after_fork_in_child();
              cache_with_slabs own;
              play(heap, own, 1, 500);
              heap.deallocate(own, during);
              heap.flush(own);
              return 0;
          }) == 0);
    heap.after_fork_in_parent();
    heap.deallocate(during);
    heap.flush(cache);
    play(heap, cache, 2, 500);
    heap.flush(cache);
    heap.trim(64_KiB);
    const auto all = heap.statistics();
    CHECK(all.arenas == 4);
    CHECK(all.held - all.free < 4 * 64);
}

TEST_CASE("address_heap: with slabs and checks, addresses that no block has are reported") {
    using heap_type = allot::address_heap<make_with_slabs, allot::host::fork_lock,
                                          allot::address_heap_options{.arenas = 2, .checks = true}, noted>;
    heap_type heap{};
    allot::address_cache<allot::address_cache_options{.checks = true, .slabs = true}> cache;
    noted::all.clear();
    const auto reported = [] { return std::exchange(noted::all, {}); };
    for (const std::size_t size : {10U, 100U, 1024U}) {
        void* const blocks[] = {heap.allocate(cache, {.size = size}), heap.allocate(cache, {.size = size})};
        for (void* const each : blocks) heap.deallocate(cache, each);
        CHECK(reported().empty());
        for (void* const each : blocks) heap.deallocate(cache, each);
        CHECK(reported().size() == 2);
    }
    void* const freed = heap.allocate(cache, {.size = 700});
    heap.deallocate(cache, freed);
    decltype(cache) other;
    heap.deallocate(other, freed);  // the first cache has it
    CHECK(reported().size() == 1);
    heap.flush(cache);
    for (auto* const each : {&cache, &other}) heap.deallocate(*each, freed);  // its slab has it
    CHECK(reported().size() == 2);
    for (int i = 0; i != 200; ++i) heap.deallocate(cache, heap.allocate(i % 2 == 0 ? cache : other, {.size = 700}));
    CHECK(reported().empty());
    auto* const block = static_cast<std::byte*>(heap.allocate(cache, {.size = 100}));
    heap.deallocate(block + 32);  // inside the block
    CHECK(reported().size() == 1);
    heap.deallocate(block + 40'000);  // behind the blocks of the slab
    CHECK(reported().size() == 1);
    heap.deallocate(cache, block);
    CHECK(reported().empty());
}

TEST_CASE("address_heap: with mappings, random calls keep the bytes of live blocks, also if the system has no pages") {
    for (const auto& [maps, remaps] : {std::pair{true, true}, {true, false}, {false, true}}) {
        pages::maps = maps;
        pages::remaps = remaps;
        heap_with_mappings heap{};
        checked_cache_with_slabs cache;
        for (std::uint32_t seed = 1; seed != 3; ++seed) play(heap, cache, seed, 5000);
        heap.flush(cache);
        heap.trim(64_KiB);
        const auto all = heap.statistics();
        CHECK(all.mappings == 0);
        CHECK(all.mapped == 0);
        CHECK(all.held - all.free < 64);
    }
    pages::maps = pages::remaps = true;
}

TEST_CASE("address_heap: a large block that must move to grow has its own mapping from then on") {
    heap_with_mappings heap{};
    checked_cache_with_slabs cache;
    const auto mapped = [&] { return heap.statistics().mappings; };
    void* const walls[] = {heap.allocate(cache, {.size = 3_MiB}), heap.allocate(cache, {.size = 3_MiB})};
    auto* block = static_cast<unsigned char*>(heap.allocate(cache, {.size = 3_MiB + 1}));
    void* const other = heap.allocate(cache, {.size = 3_MiB});
    std::byte* const former = reinterpret_cast<std::byte*>(block);
    std::memset(block, 6, 3_MiB + 1);
    CHECK(mapped() == 0);  // only reallocate makes mappings
    const std::size_t held = heap.statistics().held;
    for (const std::size_t size : {20_MiB, 20_MiB + 4096, 300_MiB}) {
        block = static_cast<unsigned char*>(heap.reallocate(cache, block, size));
        REQUIRE(block != nullptr);
        CHECK(is_whole({block, 3_MiB + 1, 6}));
        CHECK(heap.owns(block));
        CHECK(heap.capacity(block) >= size);
        CHECK(mapped() == 1);
        CHECK(heap.statistics().mapped >= size);
        CHECK(heap.statistics().mapped < size + 128_KiB);
        CHECK(heap.statistics().held == held);
        block[size - 1] = 1;
    }
    CHECK_FALSE(has_memory(former + 1_MiB));
    CHECK_FALSE(heap.resize(block, heap.capacity(block) + 1));
    block = static_cast<unsigned char*>(heap.reallocate(cache, block, 2_MiB));
    CHECK(is_whole({block, 2_MiB, 6}));
    CHECK(heap.statistics().mapped < 3_MiB);
    pages::remaps = false;
    block = static_cast<unsigned char*>(heap.reallocate(cache, block, 4_MiB));  // moves to an arena
    CHECK(is_whole({block, 2_MiB, 6}));
    CHECK(mapped() == 0);
    pages::remaps = true;
    std::memset(block, 7, 4_MiB);
    pages::maps = false;
    block = static_cast<unsigned char*>(heap.reallocate(cache, block, 30_MiB));  // also
    CHECK(is_whole({block, 4_MiB, 7}));
    CHECK(mapped() == 0);
    pages::maps = true;
    for (void* const each : {static_cast<void*>(block), walls[0], walls[1], other}) heap.deallocate(cache, each);
}

TEST_CASE("address_heap: a block with its own mapping that becomes small moves back to the arena") {
    heap_with_mappings heap{};
    checked_cache_with_slabs cache;
    for (const std::size_t last : {50'000U, 500U}) {
        void* blocks[3];
        for (void*& each : blocks) each = heap.allocate(cache, {.size = 200'000});
        std::memset(blocks[1], 9, 200'000);
        blocks[1] = heap.reallocate(cache, blocks[1], 4_MiB);
        CHECK(heap.statistics().mappings == 1);
        blocks[1] = heap.reallocate(cache, blocks[1], last);
        CHECK(heap.statistics().mappings == 0);
        CHECK(is_whole({static_cast<unsigned char*>(blocks[1]), last, 9}));
        CHECK(heap.capacity(blocks[1]) < 60'000);
        for (void* const each : blocks) heap.deallocate(cache, each);
    }
}

TEST_CASE("address_heap: an address as of a block with its own mapping is reported if no block is there") {
    using heap_type = allot::address_heap<make_with_mappings, allot::host::fork_lock,
                                          allot::address_heap_options{.arenas = 2, .checks = true}, noted>;
    heap_type heap{};
    noted::all.clear();
    alignas(4096) static std::byte page[4096]{};
    CHECK_FALSE(heap.owns(page + 64));
    heap.deallocate(page + 64);
    CHECK(std::exchange(noted::all, {}) == std::vector{allot::misuse::foreign_block});
    checked_cache_with_slabs cache;
    void* blocks[3];
    for (void*& each : blocks) each = heap.allocate(cache, {.size = 200'000});
    void* const moved = heap.reallocate(cache, blocks[1], 3_MiB);
    REQUIRE(heap.statistics().mappings == 1);
    std::memcpy(page, static_cast<std::byte*>(moved) - 64, 64);
    heap.deallocate(page + 64);  // a copy of a block
    CHECK(std::exchange(noted::all, {}) == std::vector{allot::misuse::foreign_block});
    for (void* const each : {moved, blocks[0], blocks[2]}) heap.deallocate(each);
    CHECK(noted::all.empty());
}

TEST_CASE_TEMPLATE("address_heap: blocks that grow and are freed use the same addresses again", Heap, heap_with_slabs,
                   heap_with_mappings) {
    for (const std::size_t first : {20'000U, 70'000U}) {
        Heap heap{};
        std::conditional_t<std::is_same_v<Heap, heap_with_slabs>, cache_with_slabs, checked_cache_with_slabs> cache;
        std::size_t held = 0;
        for (int round = 0; round != 60; ++round) {
            void* blocks[3]{};
            for (std::size_t size = first; size <= 5 * first; size *= 2)
                for (void*& each : blocks) each = heap.reallocate(cache, each, size);
            for (void* const each : blocks) heap.deallocate(cache, each);
            if (round == 10) held = heap.statistics().held;
        }
        CHECK(heap.statistics().held == held);
    }
}

TEST_CASE("address_heap: with medium blocks in caches, random calls keep the bytes of live blocks") {
    const auto play_with = [](auto& heap, auto& cache) {
        for (std::uint32_t seed = 1; seed != 3; ++seed) play(heap, cache, seed, 5000);
        CHECK(heap.flush(cache));
        CHECK(cache.kept() == 0);
        heap.trim(64_KiB);
        CHECK(heap.statistics().held - heap.statistics().free < 64);
    };
    heap_of<best> plain{};
    medium_cache cache;
    play_with(plain, cache);
    heap_of<deferred> joins_later{};
    play_with(joins_later, cache);
    heap_with_mappings checked{};
    medium_cache_with_slabs with_slabs;
    play_with(checked, with_slabs);
}

TEST_CASE("address_heap: a cache of medium blocks gives the blocks of slabs back to them") {
    static constinit heap_with_checked_slabs heap{};
    checked_cache_with_slabs cache;
    allot::address_cache<allot::address_cache_options{
        .largest = 512, .medium = 6000, .medium_bytes = 20'000, .checks = true, .slabs = true}>
        of_medium;
    std::vector<void*> blocks;
    for (int i = 0; i != 200; ++i) blocks.push_back(heap.allocate(cache, {.size = 800}));
    CHECK(heap.capacity(blocks[0]) == 800);
    for (void* const each : blocks) heap.deallocate(of_medium, each);
    CHECK(of_medium.kept() == 0);
    heap.flush(cache);
    const auto now = heap.statistics();
    CHECK(now.free == now.held);
    play(heap, of_medium, 3, 3000);
    heap.flush(of_medium);
}

TEST_CASE("address_heap: a cache keeps medium blocks, takes them again, and frees them to make room") {
    heap_with_checked_slabs heap{};
    medium_cache_with_slabs cache;
    for (const std::size_t size : {1025U, 4096U, 8192U}) {
        void* const first = heap.allocate(cache, {.size = size});
        std::memset(first, 1, size);
        const std::size_t before = cache.kept();
        heap.deallocate(cache, first);
        CHECK(cache.kept() == before + heap.capacity(first));
        CHECK(heap.allocate(cache, {.size = size}) == first);
        CHECK(cache.kept() == before);
        std::memset(first, 1, size);
        heap.deallocate(cache, first);
        void* const zeroed = heap.allocate_zeroed(cache, size);
        CHECK(zeroed == first);
        CHECK(is_whole({static_cast<unsigned char*>(zeroed), size, 0}));
        heap.deallocate(zeroed);  // to the arena
        CHECK(cache.kept() == before);
    }
    std::vector<void*> blocks;
    for (int i = 0; i != 500; ++i)
        blocks.push_back(heap.allocate(cache, {.size = 1100U + static_cast<unsigned>(i) * 13}));
    for (void* const each : blocks) heap.deallocate(cache, each);
    CHECK(cache.kept() > 60'000);
    CHECK(cache.kept() <= 131'072);
    void* const large = heap.allocate(cache, {.size = 8193});
    heap.deallocate(cache, large);
    CHECK(heap.flush(cache));
    CHECK(cache.kept() == 0);
}

TEST_CASE("address_heap: with checks, misuses of medium blocks are reported and change nothing") {
    using heap_type = allot::address_heap<make_with_mappings, allot::host::fork_lock,
                                          allot::address_heap_options{.arenas = 2, .checks = true}, noted>;
    heap_type heap{};
    medium_cache_with_slabs cache;
    noted::all.clear();
    const auto reported = [] { return std::exchange(noted::all, {}); };
    const std::vector<allot::misuse> not_live{allot::misuse::not_live}, foreign{allot::misuse::foreign_block};
    void* blocks[4];
    for (void*& each : blocks) each = heap.allocate(cache, {.size = 3000});
    heap.deallocate(cache, blocks[1]);
    medium_cache_with_slabs other_cache;
    for (auto* const each : {&cache, &other_cache}) {
        heap.deallocate(*each, blocks[1]);  // the first cache has it
        CHECK(reported() == not_live);
    }
    heap.flush(cache);
    heap.deallocate(cache, blocks[1]);  // a hole
    CHECK(reported() == not_live);
    heap.deallocate(cache, blocks[2]);
    heap.flush(cache);
    heap.deallocate(cache, blocks[2]);  // a part of the hole
    CHECK(reported() == not_live);
    CHECK(cache.kept() == 0);
    void* const again = heap.allocate(cache, {.size = 3000});
    heap.deallocate(cache, again);
    CHECK(reported().empty());
    std::size_t inside = 2008;  // bytes that look like a record of a hole
    auto* const bytes = static_cast<std::byte*>(blocks[0]);
    std::memcpy(bytes + 24, &inside, sizeof inside);
    heap.deallocate(cache, bytes + 32);
    CHECK(reported() == not_live);
    inside |= 3;  // as of a block, at an odd address
    std::memcpy(bytes + 32, &inside, sizeof inside);
    heap.deallocate(cache, bytes + 40);
    CHECK(reported() == not_live);
    alignas(16) static std::byte other[4096]{};
    std::memcpy(other + 88, &inside, sizeof inside);
    heap.deallocate(cache, other + 96);  // 64 bytes before a foreign address are read
    CHECK(reported() == foreign);
    for (void* const each : {blocks[0], blocks[3]}) heap.deallocate(cache, each);
    play(heap, cache, 7, 3000);
    CHECK(reported().empty());
}

TEST_CASE("address_heap: threads free medium blocks of each other, and keep them") {
    heap_with_checked_slabs heap{};
    std::atomic<void*> slots[50]{};
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed != 4; ++seed)
        threads.emplace_back([&, seed] {
            medium_cache_with_slabs cache{seed};
            std::mt19937 random{seed};
            for (int i = 0; i != 4000; ++i) {
                const std::size_t size = 900 + random() % 8000;
                void* const block = heap.allocate(cache, {.size = size});
                std::memset(block, 1, size);
                heap.deallocate(cache, slots[random() % 50].exchange(block));
            }
            heap.flush(cache);
        });
    for (std::thread& each : threads) each.join();
    for (std::atomic<void*>& each : slots) heap.deallocate(each.load());
    heap.trim(64_KiB);
    const auto all = heap.statistics();
    CHECK(all.held - all.free < 64 * all.arenas);
}

#endif
