// SPDX-License-Identifier: BSL-1.0
// capture: reads a compiler's capture of the buffers of a kernel, in the JSON of the project dsa-solver (README.md).
//
//     problem.pools                       memories, each with a capacity or null, and reserved ranges
//     problem.buffers                     allowed_pools: the memory of the buffer; live_intervals: at least one
//     problem.constraints.separations     pairs that share no byte          ──► apart, if both are in one memory
//     problem.constraints.colocations     pairs that share an offset        ──► together
//     problem.constraints.pinned_…        buffers with offsets              ──► fixed
//
// The costs of sharing (cost_model) are ignored. Throws an `input_error` with file and line for any other file, and for
// constraints that plans do not support: several allowed_pools, temporal_exclusions, exclusive pins.
//
#pragma once

#include "input.hpp"

#include <nlohmann/json_fwd.hpp>

namespace planner {

/// Reads a capture. `path` is used in messages.
[[nodiscard]] input read_capture(const nlohmann::json& whole, std::string path);

}  // namespace planner
