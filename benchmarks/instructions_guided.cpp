// SPDX-License-Identifier: BSL-1.0
// Passes of equal requests: a bump that is reset, best fit, and a guide of the second pass.
#include "instructions.hpp"

#include <allot/host/heap.hpp>
#include <allot/plan/guide.hpp>
#include <allot/plan/guided.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/bump.hpp>

namespace {

using namespace counting;

constexpr std::size_t requests = 256, window = 16;  // blocks that live at once

/// Keeps the blocks, because a block with metadata does not fit into the registers of `counting::block`. They are freed
/// in the order of their allocation.
template <class Memory>
struct passes_of {
    Memory memory;
    allot::block_of<Memory> held[requests];
    std::size_t in = 0, out = 0;

    explicit passes_of(auto... arguments) : memory{arguments...} {}
    void begin() { in = out = 0; }
    void* allocate(std::size_t size) {
        held[in] = memory.allocate({size, 16});
        return held[in++].address;
    }
    void deallocate(void*, std::size_t) { memory.deallocate(held[out++]); }
};

struct bump_passes : passes_of<allot::arena<storage, allot::bump<>>> {
    void begin() {
        memory.reset();
        passes_of::begin();
    }
};
constexpr allot::best_fit_options beside{.store = allot::node_store::side_table, .granule = 16};
using best_fit_arena = allot::arena<storage, allot::best_fit<beside>>;
using best_fit_passes = passes_of<best_fit_arena>;

struct guided_passes : passes_of<allot::guided<best_fit_arena>> {
    guided_passes() : passes_of{allot::layout{.size = capacity / 2, .align = 16}} {}
    void begin() {
        memory.begin_pass();
        if (const auto seen = memory.take_recording(); !seen.empty()) memory.use_guide(allot::make_guide(seen).value());
        passes_of::begin();
    }
};

/// Counts the calls of a pass after some others. Each block is freed when `window` later ones were allocated.
template <class State>
void passes(const std::string& name) {
    const auto operation = operations_of<State>();
    using handed = decltype(operation.allocate(nullptr, slot));
    const auto state = make_state<State>();
    count_empty<handed>(name, state.get());
    constexpr int warm_up = 6;
    for (int pass = 0; pass <= warm_up; ++pass) {
        state->begin();
        for (std::size_t i = 0; i != requests + window; ++i) {
            const std::size_t size = any_size[i % std::size(any_size)];
            if (pass != warm_up) {
                if (i >= window) operation.deallocate(state.get(), nullptr, size);
                if (i < requests) (void)operation.allocate(state.get(), size);
                continue;
            }
            if (i >= window)
                unknown(count_deallocate<handed>)(name + "/deallocate", operation, state.get(), size, nullptr);
            if (i < requests) (void)unknown(count_allocate<handed>)(name + "/allocate", operation, state.get(), size);
        }
    }
}

}  // namespace

std::vector<instructions_case> guided_cases() {
    return {
        {"guided/bump", passes<bump_passes>},
        {"guided/best_fit", passes<best_fit_passes>},
        {"guided/allot", passes<guided_passes>},
    };
}
