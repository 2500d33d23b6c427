// SPDX-License-Identifier: BSL-1.0
// recorded: the blocks of a recording as buffers. The steps are the operations: a block lives from the operation that
// allocates it to the one that deallocates it.
//
//     operation   0: allocate a   1: allocate b   2: deallocate a   3: allocate c
//     buffers     a: [0, 2)       b: [1, 4)                         c: [3, 4)       the rest lives to the end
#pragma once

#include "input.hpp"

#include <allot/inspect/event_log.hpp>
#include <allot/inspect/trace.hpp>

#include <unordered_map>

namespace planner {

class recorded_blocks {
public:
    recorded_blocks(std::string path, std::string format) {
        made_.path = std::move(path);
        made_.format = std::move(format);
        made_.columns = input_builder::columns;
    }

    /// Adds a block, and returns its index.
    std::size_t begin(std::uint64_t size, std::uint64_t align, std::string_view tag = {}) {
        const std::size_t i = made_.buffers.size();
        made_.buffers.push_back({.size = size, .live = {now_, now_ + 1}, .align = align});
        made_.names.push_back("block " + std::to_string(i) + (tag.empty() ? "" : " " + std::string{tag}));
        made_.memory_of.push_back(0);
        is_live_.push_back(true);
        if (!allot::checked_add(sum_, size, sum_) || sum_ > unlimited / 4)
            throw input_error{made_.path + ": the sum of the sizes exceeds 62 bits"};
        return i;
    }
    void end(std::size_t i) {
        made_.buffers[i].live.until = std::max(now_, made_.buffers[i].live.from + 1);
        is_live_[i] = false;
    }
    void next() { ++now_; }

    [[nodiscard]] input finish() {
        for (std::size_t i = 0; i != made_.buffers.size(); ++i)
            if (is_live_[i]) made_.buffers[i].live.until = std::max(now_, made_.buffers[i].live.from + 1);
        for (std::size_t i = 0; i != made_.buffers.size(); ++i) {
            const allot::plan_buffer& each = made_.buffers[i];
            made_.rows.push_back({i, std::to_string(i) + ',' + std::to_string(each.live.from) + ',' +
                                         std::to_string(each.live.until) + ',' + std::to_string(each.size) + ',' +
                                         std::to_string(each.align)});
        }
        if (made_.buffers.empty()) throw input_error{made_.path + ": the recording contains no blocks"};
        return std::move(made_);
    }

private:
    input made_;
    std::vector<bool> is_live_;
    std::int64_t now_ = 0;
    std::uint64_t sum_ = 0;
};

/// Throws the error of a reader.
template <class Reading>
void require(const Reading& read, const std::string& path) {
    if (!read) throw input_error{path + ": " + read.error.what() + ", at byte " + std::to_string(read.error.position)};
}

[[nodiscard]] inline input blocks_of(const allot::trace& recorded, const std::string& path) {
    recorded_blocks blocks{path, "a trace"};
    std::vector<std::size_t> in_slot(recorded.slots);
    for (const allot::trace_operation& each : recorded.operations) {
        if (each.action == allot::trace_action::allocate) in_slot[each.slot] = blocks.begin(each.size, each.align());
        else if (each.action == allot::trace_action::deallocate) blocks.end(in_slot[each.slot]);
        blocks.next();
    }
    return blocks.finish();
}

[[nodiscard]] inline input blocks_of(const allot::event_log& recorded, const std::string& path) {
    recorded_blocks blocks{path, "an event log"};
    std::unordered_map<std::uint64_t, std::size_t> live;  // by address
    const auto end = [&](std::uint64_t address) {
        if (const auto found = live.find(address); found != live.end()) {
            blocks.end(found->second);
            live.erase(found);
        }
    };
    for (const allot::memory_event& each : recorded.events) {
        if (each.action == allot::memory_action::allocate || each.action == allot::memory_action::resize) {
            end(each.address);
            live[each.address] =
                blocks.begin(each.size, std::uint64_t{1} << each.align_log2, recorded.name_of(each.tag));
        } else if (each.action == allot::memory_action::deallocate) {
            end(each.address);
        } else if (each.action == allot::memory_action::reset) {
            while (!live.empty()) end(live.begin()->first);
        }
        blocks.next();
    }
    return blocks.finish();
}

}  // namespace planner
