// address_heap with several threads, which free and measure blocks of each other.
#include <allot/compose/address_heap.hpp>
#include <allot/core/literals.hpp>
#include <allot/host/fork_lock.hpp>
#include <allot/strategy/deferred.hpp>

#include "../compose/heap_arenas.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace {

using namespace allot::literals;
using heap_arenas::best, heap_arenas::make;

struct make_with_slabs : make<best> {
    using slab_space = allot::host::address_space;
};

constexpr allot::address_heap_options two{.arenas = 2, .spares = 1};
constexpr allot::address_heap_options two_checked{.arenas = 2, .spares = 1, .checks = true};
using checked_cache = allot::address_cache<allot::address_cache_options{.medium = 8200, .checks = true, .slabs = true}>;

/// A block starts with its requested size, and its other bytes have the low byte of the size.
void* filled(void* block, std::size_t size) {
    std::memset(block, static_cast<int>(size % 256), size);
    std::memcpy(block, &size, sizeof size);
    return block;
}
template <class Heap>
bool is_intact(const Heap& heap, const void* block) {
    std::size_t size = 0;
    std::memcpy(&size, block, sizeof size);
    const auto* const bytes = static_cast<const unsigned char*>(block);
    const std::size_t most = heap.capacity(block);
    return size <= most && most < size + size / 4 + 64 && bytes[size - 1] == size % 256 &&
           bytes[sizeof size] == size % 256;
}

/// Threads exchange blocks in slots. Neighbors in the memory therefore belong to different threads.
template <class Cache, class Heap>
bool exchange(Heap& heap) {
    std::atomic<void*> slots[64]{};
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed != 4; ++seed)
        threads.emplace_back([&, seed] {
            Cache cache{seed % 2};
            std::mt19937 random{seed};
            for (int i = 0; i != 4'000; ++i) {
                const std::size_t size = 16 + random() % (i % 4 == 0 ? 900 : 9000);
                void* block = heap.allocate(cache, {.size = size});
                block = slots[random() % 64].exchange(filled(block, size));
                if (block == nullptr) continue;
                if (!is_intact(heap, block)) ++failures;
                if (i % 8 == 1) block = filled(heap.reallocate(cache, block, size), size);
                heap.deallocate(cache, block);
            }
            heap.flush(cache);
        });
    for (std::thread& each : threads) each.join();
    for (std::atomic<void*>& each : slots) heap.deallocate(each.load());
    return failures == 0;
}

}  // namespace

TEST_CASE_TEMPLATE("address_heap: threads measure and free blocks of each other", Strategy, best,
                   allot::deferred<best>) {
    allot::address_heap<make<Strategy>, allot::host::fork_lock, two> heap{};
    CHECK(exchange<allot::address_cache<>>(heap));
}

#if UINTPTR_MAX > 0xFFFF'FFFF  // slabs need addresses of 64 bits
TEST_CASE("address_heap: with slabs and checks, threads measure and free blocks of each other") {
    allot::address_heap<make_with_slabs, allot::host::fork_lock, two_checked> heap{};
    CHECK(exchange<checked_cache>(heap));
    const auto all = heap.statistics();
    CHECK(all.held - all.free < all.arenas * 64);
}
#endif
