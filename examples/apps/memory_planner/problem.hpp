// SPDX-License-Identifier: BSL-1.0
// problem: reads and writes planning problems in JSON. plan.schema.json describes the format.
//
//     {"memories": [{"name": "fast", "capacity": 1024}, {"name": "slow", "cost": 3}],
//      "buffers": [{"id": "a", "size": 512, "alignment": 64, "live": [[0, 3], [5, 9]], "memories": ["fast"]}, …],
//      "together": [["a", "b"]], "apart": [["a", "c"]], "separate": [["b", "c"]],
//      "accesses": [{"buffer": "a", "step": 0, "write": true}]}
//
// If operators run on several queues, they state the uses of the buffers instead of lifetimes:
//
//     {"buffers": [{"id": "a", "size": 512}, {"id": "b", "size": 256}],
//      "operators": [{"queue": "copy", "uses": ["a"]}, {"queue": "compute", "uses": ["a", "b"], "after": [0]}]}
//
// A plan is a problem in which each buffer has an offset, and with several memories one memory. It can be read again.
//
// The reader has its own source file because only it and captures need a JSON library.
#pragma once

#include "planning.hpp"

#include <ostream>

namespace planner {

/// Parses a problem, or a capture of a compiler, which has the member "problem". `path` is used in messages.
[[nodiscard]] input read_json(std::string_view text, const std::string& path);

/// Writes a plan that has an offset for each buffer.
void write_plan(std::ostream& out, const input& given, const outcome& made);

}  // namespace planner
