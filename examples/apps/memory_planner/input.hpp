// SPDX-License-Identifier: BSL-1.0
// input: the planning problem as read from a file: named buffers, memories, and the rows of the table to write the plan
// to.
#pragma once

#include "../network_demo/input_error.hpp"

#include <allot/plan/moves.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace planner {

using demo::input_error;

inline constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

struct memory {
    std::string name;
    std::uint64_t capacity = unlimited;
    std::optional<std::uint64_t> cost{};  // of one byte in this memory
    std::vector<allot::plan_reserved> reserved{};
};

/// A row of the table to write the plan to. A buffer with several lifetimes has several rows.
struct row {
    std::size_t buffer = 0;
    std::string text;
};

struct input {
    std::string path;
    std::string columns;  // header of the rows
    std::vector<row> rows;

    // By buffer.
    std::vector<allot::plan_buffer> buffers;
    std::vector<std::string> names;
    std::vector<std::size_t> memory_of;

    std::optional<std::vector<std::size_t>> paged;  // buffers that may lie in pages; by default, all
    std::vector<allot::plan_access> accesses;       // if known
    std::vector<allot::plan_revival> revivals;
    std::vector<allot::plan_fixed> fixed;
    std::vector<allot::plan_pair> together, apart;
    std::vector<memory> memories{{"memory"}};
};

}  // namespace planner
