// SPDX-License-Identifier: BSL-1.0
// The cost of counters: the same calls without and with `counted`.
#include "instructions.hpp"

#include <allot/compose/counted.hpp>
#include <allot/strategy/bump.hpp>
#include <allot/strategy/pool.hpp>

namespace {

using namespace counting;

template <class Memory>
struct blocks_of {
    Memory memory;
    void* allocate(std::size_t size) { return memory.allocate({size, 16}).address; }
    void deallocate(void* pointer, std::size_t size) { memory.deallocate({pointer, size}); }
};
using bumps = allot::arena<storage, allot::bump<>>;
using slots_in_band = allot::arena<storage, allot::pool<allot::pool_options{.slot = slot}>>;

}  // namespace

std::vector<instructions_case> counted_cases() {
    return {
        {"counted_bump/allot", frame<blocks_of<bumps>>},
        {"counted_bump/allot_counted", frame<blocks_of<allot::counted<bumps>>>},
        {"counted_pool/allot", churn<blocks_of<slots_in_band>, slots * 7 / 8, up_to_slot>},
        {"counted_pool/allot_counted", churn<blocks_of<allot::counted<slots_in_band>>, slots * 7 / 8, up_to_slot>},
    };
}
