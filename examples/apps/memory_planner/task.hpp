// SPDX-License-Identifier: BSL-1.0
// task: plans an input as the options say.
//
//     options ──► apply: memories, alignment ──► plan_chosen: one of the planners ──► mistake_of: its validator
#pragma once

#include "options.hpp"
#include "paging.hpp"

namespace planner {

/// Returns whether the memories of the options are for all buffers.
[[nodiscard]] inline bool is_spread(const input& given, const options& chosen) {
    return given.memories.size() == 1 && chosen.memories.size() > 1;
}

/// Applies the memories and the alignment of the options.
inline void apply(const options& chosen, input& given) {
    for (allot::plan_buffer& buffer : given.buffers) buffer.align = std::max(buffer.align, chosen.align);
    if (chosen.capacity) {
        if (given.memories.size() != 1)
            throw usage_error{"the file has several memories; give --memory NAME:BYTES instead of --capacity"};
        given.memories[0].capacity = *chosen.capacity;
    }
    if (given.memories.size() == 1 && chosen.memories.size() == 1) given.memories[0].name = chosen.memories[0].name;
    if (is_spread(given, chosen)) return;
    for (const memory& wanted : chosen.memories) {
        const auto found = std::find_if(given.memories.begin(), given.memories.end(),
                                        [&](const memory& m) { return m.name == wanted.name; });
        if (found == given.memories.end()) throw usage_error{given.path + " has no memory \"" + wanted.name + "\""};
        found->capacity = wanted.capacity;
    }
}

/// Plans an input to which the options were applied. With a budget, it plans until `watch(memory,
/// allot::plan_progress)` returns true or no plan can be lower.
template <class Watch>
[[nodiscard]] outcome plan_chosen(input& given, const options& chosen, Watch watch) {
    const bool until_stopped = chosen.budget.has_value();
    if (chosen.moves && !is_spread(given, chosen))
        throw usage_error{given.path + " assigns buffers to memories itself; --moves cannot be used with it"};
    if (chosen.pages) return in_pages(given, *chosen.pages, until_stopped, watch);
    if (!is_spread(given, chosen)) return plan_input(given, until_stopped, watch);
    return chosen.moves ? spread_with_moves(given, chosen.memories, until_stopped, watch)
                        : spread(given, chosen.memories, until_stopped, watch);
}

/// Returns the mistake in the plan as a sentence; empty if it is valid.
[[nodiscard]] inline std::string mistake_of(const input& given, const options& chosen, const outcome& made) {
    return chosen.pages ? mistake_in_pages(given, made) : mistake_in(given, made);
}

}  // namespace planner
