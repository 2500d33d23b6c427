// SPDX-License-Identifier: BSL-1.0
// capture: reads what a compiler captured of a kernel's buffers, in the JSON of the project dsa-solver (README.md).
//
//     problem.pools                       memories, with a capacity or null, and ranges that are reserved
//     problem.buffers                     allowed_pools: the one that the buffer lies in; live_intervals: one or more
//     problem.constraints.separations     pairs that share no byte          ──► apart, where both lie in one memory
//     problem.constraints.colocations     pairs that share an offset        ──► together
//     problem.constraints.pinned_…        buffers with offsets              ──► fixed
//
// What should rather not share bytes (cost_model) is not heeded. Throws an `input_error` with file and line for what is no
// capture, and for what no plan could heed: several allowed_pools, temporal_exclusions, exclusive pins.
//
// In a file of its own, because this alone needs a JSON library.
#pragma once

#include "input.hpp"

namespace planner {

/// The path is for messages.
[[nodiscard]] input read_capture(std::string_view text, std::string path);

}  // namespace planner
