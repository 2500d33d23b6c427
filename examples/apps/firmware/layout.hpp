// SPDX-License-Identifier: BSL-1.0
// layout: the compiler places each tensor, in fast memory first, and otherwise in slow memory. If the two sections are
// too small, this header does not compile; plan_shortfall<N> in the message is the number of missing bytes.
#pragma once

#include "config.hpp"

#include <allot/plan/static_memories.hpp>

#include <array>

namespace firmware {

template <options Options>
struct layout {
    static constexpr const network& net = *Options.runs;
    static constexpr auto buffers = [] {
        std::array<allot::plan_buffer, net.tensors.size()> aligned{};
        for (std::size_t i = 0; i != aligned.size(); ++i) {
            aligned[i] = net.tensors[i];
            aligned[i].align = Options.tensor_align;
        }
        return aligned;
    }();
    static constexpr allot::plan_memory memories[] = {{.capacity = Options.fast_bytes},
                                                      {.capacity = Options.slow_bytes, .cost = 1}};
    static constexpr allot::memories_problem problem{.buffers = {.buffers = buffers}, .memories = memories};
    static constexpr auto plan =
        allot::plan_memories<problem, allot::memories_options{.effort = Options.planning_effort, .remember = 0}>();
    static constexpr auto fast = plan.in(0), slow = plan.in(1);
};

}  // namespace firmware
