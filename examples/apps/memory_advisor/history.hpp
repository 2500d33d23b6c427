// SPDX-License-Identifier: BSL-1.0
// history: the blocks of a recording as buffers, the memory of the recorded allocator, and that of an allocator that
// gets the same calls without knowing the next ones.
#pragma once

#include "../memory_planner/recorded.hpp"
#include "../memory_viewer/replayed.hpp"

#include <allot/inspect/snapshot.hpp>

#include <utility>

namespace advisor {

using planner::input_error, planner::require;

/// The blocks, and the bytes of an allocator without a plan.
struct recording {
    planner::input blocks;
    std::string allocator{};  // empty if its bytes are unknown
    std::uint64_t held = 0;
};

/// Returns the end of the highest block when the calls are replayed.
[[nodiscard]] inline std::uint64_t highest_end(const allot::event_log& log) {
    std::uint64_t highest = 0;
    for (const allot::memory_event& each : log.events)
        if (each.action == allot::memory_action::allocate) highest = std::max(highest, each.address + each.size);
    return highest;
}

[[nodiscard]] inline recording blocks_of_trace(std::span<const std::byte> bytes, const std::string& path) {
    const auto read = allot::read_trace(bytes);
    require(read, path);
    recording made{planner::blocks_of(read.value, path)};
    constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;  // of offsets, without memory
    if (read.value.peak <= most_bytes) {
        made.allocator = "allot::best_fit, without a plan";
        made.held = highest_end(viewer::replayed(read.value, "best_fit_side_table"));
    }
    return made;
}

[[nodiscard]] inline recording blocks_of_log(std::span<const std::byte> bytes, const std::string& path) {
    const auto read = allot::read_event_log(bytes);
    require(read, path);
    std::unordered_map<std::uint64_t, std::uint64_t> regions;  // sizes by address
    std::uint64_t held = 0, most_held = 0;
    for (const allot::memory_event& each : read.value.events) {
        if (each.action == allot::memory_action::acquire_region) {
            held += each.size - std::exchange(regions[each.address], each.size);
            most_held = std::max(most_held, held);
        } else if (each.action == allot::memory_action::release_region) {
            held -= std::exchange(regions[each.address], 0);
        }
    }
    return {planner::blocks_of(read.value, path), most_held == 0 ? "" : "the recorded allocator: its regions",
            most_held};
}

}  // namespace advisor
