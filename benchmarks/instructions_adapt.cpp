// SPDX-License-Identifier: BSL-1.0
// The cost of the standard's interfaces on top of an arena: memory_resource and std_allocator.
#include "instructions.hpp"

#include <allot/adapt/memory_resource.hpp>
#include <allot/adapt/std_allocator.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/deferred.hpp>

namespace {

using namespace counting;

/// Blocks of bytes with an alignment known only at run time, as in a virtual call.
template <class Strategy>
struct of_arena {
    using arena_type = allot::arena<allot::host::buffer, Strategy>;
    arena_type arena{allot::host::buffer{bytes}};
    std::size_t align = 16;
    void* allocate(std::size_t size) { return arena.allocate({size, align}).address; }
    void deallocate(void* pointer, std::size_t size) { arena.deallocate({pointer, size, {}}); }
};

template <class Strategy>
struct of_resource : of_arena<Strategy> {
    allot::memory_resource<typename of_arena<Strategy>::arena_type> resource{this->arena};
    std::pmr::memory_resource* any = unknown_resource(&resource);
    void* allocate(std::size_t size) { return any->allocate(size, this->align); }
    void deallocate(void* pointer, std::size_t size) { any->deallocate(pointer, size, this->align); }

private:
    static std::pmr::memory_resource* unknown_resource(std::pmr::memory_resource* resource) {
        asm volatile("" : "+r"(resource));
        return resource;
    }
};

/// Blocks of words with an alignment known at compile time.
struct alignas(16) two_words {
    std::byte bytes[16];
};

template <class Strategy>
struct of_arena_words : of_arena<Strategy> {
    void* allocate(std::size_t size) { return this->arena.allocate({size * 16, 16}).address; }
    void deallocate(void* pointer, std::size_t size) { this->arena.deallocate({pointer, size * 16, {}}); }
};

template <class Strategy>
struct of_std_allocator : of_arena<Strategy> {
    allot::std_allocator<two_words, typename of_arena<Strategy>::arena_type> allocator{this->arena};
    void* allocate(std::size_t size) { return allocator.allocate(size); }
    void deallocate(void* pointer, std::size_t size) { allocator.deallocate(static_cast<two_words*>(pointer), size); }
};

inline constexpr std::size_t words[] = {1, 2, 3, 4, 1, 7, 2, 3};
using best_fit = allot::best_fit<>;
using deferred = allot::deferred<allot::best_fit<>>;

}  // namespace

std::vector<instructions_case> adapt_cases() {
    return {
        {"adapt_best_fit/allot", churn<of_arena<best_fit>, 1024, any_size>},
        {"adapt_best_fit/allot_memory_resource", churn<of_resource<best_fit>, 1024, any_size>},
        {"adapt_best_fit_words/allot", churn<of_arena_words<best_fit>, 1024, words>},
        {"adapt_best_fit_words/allot_std_allocator", churn<of_std_allocator<best_fit>, 1024, words>},
        {"adapt_deferred/allot", churn<of_arena<deferred>, 1024, any_size>},
        {"adapt_deferred/allot_memory_resource", churn<of_resource<deferred>, 1024, any_size>},
        {"adapt_deferred_words/allot", churn<of_arena_words<deferred>, 1024, words>},
        {"adapt_deferred_words/allot_std_allocator", churn<of_std_allocator<deferred>, 1024, words>},
    };
}
