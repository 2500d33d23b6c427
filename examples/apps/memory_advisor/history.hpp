// SPDX-License-Identifier: BSL-1.0
// history: the blocks of a recording as buffers. The steps are the operations: a block lives from the operation that
// allocates it to the one that deallocates it.
//
// The memory of the recorded allocator, and that of an allocator that gets the same calls without knowing the next ones,
// are reported next to them.
//
//     operation   0: allocate a   1: allocate b   2: deallocate a   3: allocate c
//     buffers     a: [0, 2)       b: [1, 4)                         c: [3, 4)       the rest lives to the end
#pragma once

#include "../memory_planner/input.hpp"
#include "../memory_viewer/replayed.hpp"

#include <allot/inspect/event_log.hpp>
#include <allot/inspect/snapshot.hpp>
#include <allot/inspect/trace.hpp>

#include <span>
#include <unordered_map>
#include <utility>

namespace advisor {

using planner::input_error;

/// The blocks, and the bytes of an allocator without a plan.
struct recording {
    planner::input blocks;
    std::string allocator{};  // empty if its bytes are unknown
    std::uint64_t held = 0;
};

class recorded_blocks {
public:
    explicit recorded_blocks(std::string path) { made_.path = std::move(path); }

    /// Adds a block, and returns its index.
    std::size_t begin(std::uint64_t size, std::uint64_t align, std::string_view tag = {}) {
        const std::size_t i = made_.buffers.size();
        made_.buffers.push_back({.size = size, .live = {now_, now_ + 1}, .align = align});
        made_.names.push_back("block " + std::to_string(i) + (tag.empty() ? "" : " " + std::string{tag}));
        made_.memory_of.push_back(0);
        is_live_.push_back(true);
        if (!allot::checked_add(sum_, size, sum_) || sum_ > planner::unlimited / 4)
            throw input_error{made_.path + ": the sum of the sizes exceeds 62 bits"};
        return i;
    }
    void end(std::size_t i) {
        made_.buffers[i].live.until = std::max(now_, made_.buffers[i].live.from + 1);
        is_live_[i] = false;
    }
    void next() { ++now_; }

    [[nodiscard]] planner::input finish() {
        for (std::size_t i = 0; i != made_.buffers.size(); ++i)
            if (is_live_[i]) made_.buffers[i].live.until = std::max(now_, made_.buffers[i].live.from + 1);
        if (made_.buffers.empty()) throw input_error{made_.path + ": the recording contains no blocks"};
        return std::move(made_);
    }

private:
    planner::input made_;
    std::vector<bool> is_live_;
    std::int64_t now_ = 0;
    std::uint64_t sum_ = 0;
};

/// Throws the error of a reader.
template <class Reading>
void require(const Reading& read, const std::string& path) {
    if (!read) throw input_error{path + ": " + read.error.what() + ", at byte " + std::to_string(read.error.position)};
}

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
    recorded_blocks blocks{path};
    std::vector<std::size_t> in_slot(read.value.slots);
    for (const allot::trace_operation& each : read.value.operations) {
        if (each.action == allot::trace_action::allocate) in_slot[each.slot] = blocks.begin(each.size, each.align());
        else if (each.action == allot::trace_action::deallocate) blocks.end(in_slot[each.slot]);
        blocks.next();
    }
    recording made{blocks.finish()};
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
    recorded_blocks blocks{path};
    std::unordered_map<std::uint64_t, std::size_t> live;       // by address
    std::unordered_map<std::uint64_t, std::uint64_t> regions;  // sizes by address
    std::uint64_t held = 0, most_held = 0;
    const auto end = [&](std::uint64_t address) {
        if (const auto found = live.find(address); found != live.end()) {
            blocks.end(found->second);
            live.erase(found);
        }
    };
    for (const allot::memory_event& each : read.value.events) {
        if (each.action == allot::memory_action::allocate || each.action == allot::memory_action::resize) {
            end(each.address);
            live[each.address] =
                blocks.begin(each.size, std::uint64_t{1} << each.align_log2, read.value.name_of(each.tag));
        } else if (each.action == allot::memory_action::deallocate) {
            end(each.address);
        } else if (each.action == allot::memory_action::reset) {
            while (!live.empty()) end(live.begin()->first);
        } else if (each.action == allot::memory_action::acquire_region) {
            held += each.size - std::exchange(regions[each.address], each.size);
            most_held = std::max(most_held, held);
        } else if (each.action == allot::memory_action::release_region) {
            held -= std::exchange(regions[each.address], 0);
        }
        blocks.next();
    }
    return {blocks.finish(), most_held == 0 ? "" : "the recorded allocator: its regions", most_held};
}

}  // namespace advisor
