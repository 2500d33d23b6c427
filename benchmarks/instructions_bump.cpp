// SPDX-License-Identifier: BSL-1.0
// Consecutive blocks with sizes from a table, aligned to 16.
#include "instructions.hpp"

#include <allot/strategy/bump.hpp>

#include <memory_resource>

namespace {

using namespace counting;

struct bump_by_hand {
    alignas(16) std::byte bytes[capacity];
    std::byte* cursor = bytes + capacity;
    void* allocate(std::size_t size) {
        if (size > static_cast<std::size_t>(cursor - bytes)) return nullptr;
        const auto at = (reinterpret_cast<std::uintptr_t>(cursor) - size) & ~std::uintptr_t{15};
        return cursor = reinterpret_cast<std::byte*>(at);
    }
};

template <class Arena>
struct bump_of_allot {
    Arena arena;
    void* allocate(std::size_t size) { return arena.allocate({size, 16}).address; }
};
using bump_down = bump_of_allot<allot::arena<storage, allot::bump<>>>;
using bump_up =
    bump_of_allot<allot::arena<storage, allot::bump<allot::bump_options{.direction = allot::direction::up}>>>;

/// The compiler does not know the alignment of the base.
struct bump_over_buffer : bump_of_allot<allot::arena<allot::host::buffer, allot::bump<>>> {
    bump_over_buffer() : bump_of_allot{decltype(arena){allot::host::buffer{bytes}}} {}
};

struct bump_of_pmr {
    std::pmr::monotonic_buffer_resource resource{bytes, capacity, std::pmr::null_memory_resource()};
    void* allocate(std::size_t size) { return resource.allocate(size, 16); }
};

}  // namespace

std::vector<instructions_case> bump_cases() {
    return {
        {"bump/by_hand", frame<bump_by_hand>},          {"bump/allot", frame<bump_down>},
        {"bump/allot_upward", frame<bump_up>},          {"bump/allot_over_a_buffer", frame<bump_over_buffer>},
        {"bump/std_pmr_monotonic", frame<bump_of_pmr>},
    };
}
