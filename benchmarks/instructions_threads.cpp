// SPDX-License-Identifier: BSL-1.0
// The cache of a thread, beside the arena that it uses without a lock and with one.
#include "instructions.hpp"

#include <allot/compose/per_thread.hpp>
#include <allot/strategy/best_fit.hpp>

#include <cstdlib>

namespace {

using namespace counting;

using arena = allot::arena<storage, allot::best_fit<>>;

struct of_malloc {
    void* allocate(std::size_t size) { return std::malloc(size); }
    void deallocate(void* pointer, std::size_t) { std::free(pointer); }
};
template <class Memory>
struct blocks_of {
    Memory memory;
    void* allocate(std::size_t size) { return memory.allocate({size, 16}).address; }
    void deallocate(void* pointer, std::size_t size) { memory.deallocate({pointer, size}); }
};
struct in_a_cache {
    using shared = allot::per_thread<arena>;
    shared memory;
    allot::thread_cache<shared> cache{memory};
    void* allocate(std::size_t size) { return cache.allocate({size, 16}).address; }
    void deallocate(void* pointer, std::size_t size) { cache.deallocate({pointer, size}); }
};

}  // namespace

std::vector<instructions_case> threads_cases() {
    return {
        {"per_thread/malloc", churn<of_malloc, 1024, any_size>},
        {"per_thread/allot_locked", churn<blocks_of<allot::synchronized<arena, allot::spin_lock>>, 1024, any_size>},
        {"per_thread/allot_cache", churn<in_a_cache, 1024, any_size>},
    };
}
