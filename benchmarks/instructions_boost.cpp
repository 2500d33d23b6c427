// SPDX-License-Identifier: BSL-1.0
// The cost of Boost's extended allocator interface on top of an arena: a node, 100 nodes that are allocated and freed
// by one call each, and an array that grows in place.
#include "instructions.hpp"

#include <allot/adapt/boost_allocator.hpp>
#include <allot/strategy/best_fit.hpp>

#include <array>

namespace {

using namespace counting;

using arena_type = allot::arena<allot::host::buffer, allot::best_fit<>>;
struct alignas(16) node {
    std::byte bytes[slot];
};

struct of_arena {
    arena_type arena{allot::host::buffer{bytes}};
    void* allocate(std::size_t size) { return arena.allocate({size, alignof(node)}).address; }
    void deallocate(void* pointer, std::size_t size) { arena.deallocate({pointer, size, {}}); }
};

struct of_nodes {
    arena_type arena{allot::host::buffer{bytes}};
    allot::boost_allocator<node, arena_type> allocator{arena};
    void* allocate(std::size_t) { return allocator.allocate_one(); }
    void deallocate(void* pointer, std::size_t) { allocator.deallocate_one(static_cast<node*>(pointer)); }
};

/// 100 nodes, one by one.
struct of_single_nodes {
    arena_type arena{allot::host::buffer{bytes}};
    std::array<arena_type::block_type, 100> nodes{};
    void* allocate(std::size_t size) {
        for (auto& one : nodes) one = arena.allocate({size, alignof(node)});
        for (const auto& one : nodes) arena.deallocate(one);
        return nodes[0].address;
    }
};

/// 100 nodes together.
struct of_bursts {
    using adapter = allot::boost_allocator<node, arena_type>;
    arena_type arena{allot::host::buffer{bytes}};
    adapter allocator{arena};
    void* allocate(std::size_t) {
        adapter::multiallocation_chain chain;
        allocator.allocate_individual(100, chain);
        void* const first = &*chain.begin();
        allocator.deallocate_individual(chain);
        return first;
    }
};

/// An array that each call makes larger.
struct of_resize {
    arena_type arena{allot::host::buffer{bytes}};
    arena_type::block_type array = arena.allocate({slot, alignof(node)});
    void* allocate(std::size_t size) { return arena.resize(array, array.size + size) ? array.address : nullptr; }
};

struct of_commands {
    arena_type arena{allot::host::buffer{bytes}};
    allot::boost_allocator<std::byte, arena_type> allocator{arena};
    std::byte* array = allocator.allocate(slot);
    std::size_t held = slot;
    void* allocate(std::size_t size) {
        held += size;
        return allocator.allocation_command(boost::container::allocate_new | boost::container::expand_fwd, held, held,
                                            array);
    }
};

}  // namespace

std::vector<instructions_case> boost_cases() {
    return {
        {"boost_node/allot", churn<of_arena, 1024, one_size>},
        {"boost_node/allot_boost_allocator", churn<of_nodes, 1024, one_size>},
        {"boost_burst/allot", frame<of_single_nodes>},
        {"boost_burst/allot_boost_allocator", frame<of_bursts>},
        {"boost_grow/allot", frame<of_resize>},
        {"boost_grow/allot_boost_allocator", frame<of_commands>},
    };
}
