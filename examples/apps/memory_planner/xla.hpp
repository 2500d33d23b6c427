// SPDX-License-Identifier: BSL-1.0
// xla: reads what XLA writes with --xla_dump_to: its buffer assignment and its live ranges.
//
//     allocation 3: size 512, preallocated-temp:           the values of temporary allocations are the buffers: all
//      value: <7 add.2 @0> (size=256,offset=0): f32[64]    other allocations have places of their own
//     BufferLiveRange:
//       add.2{}:4-9                                        the last step is included
//
// The first part is in NAME-buffer-assignment.txt, the second in NAME-live-range.txt; one file may have both. Some
// values are one buffer for XLA, and are `together` here: values that have the same bytes at the same time in XLA's
// plan (an operation in place), and values with the place and the size of a "(phi)" (the state of a loop, the result of
// branches). The second rule may join more values than necessary; the plan is valid then too. XLA writes no alignment:
// all buffers have the largest one, at most 256, that all its offsets have. Memory spaces ("color") are planned
// separately.
//
// Throws an `input_error`, one sentence with file and line, for any other text. Complexity: O(n log n) in the length.
#pragma once

#include "input.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

namespace planner {

class xla_reader {
public:
    explicit xla_reader(std::string path) : out_{std::move(path), "a buffer assignment of XLA"} {
        made_.columns = input_builder::columns;
        made_.memories.clear();
    }

    /// Reads a file with one part or both.
    void add(std::string_view text, std::string path) {
        where().path = std::move(path);
        section now = section::other;
        each_line(text, where(), [&](std::string_view line) {
            if (line.starts_with("allocation ")) {
                now = section::values;
                allocation(line);
            } else if (line == "BufferAssignment:") {
                now = section::values;
            } else if (line.ends_with("BufferLiveRange:")) {
                now = section::ranges;
                has_ranges_ = true;
            } else if (now == section::values && line.starts_with(" value: ")) {
                value(line);
            } else if (now == section::ranges && line.starts_with("    ")) {
                range(line.substr(4));
            } else if (!line.empty() && line[0] != ' ') {
                now = section::other;
            } else if (now == section::ranges) {
                now = section::other;
            }
        });
    }
    [[nodiscard]] bool has_values() const { return has_values_; }
    [[nodiscard]] bool has_ranges() const { return has_ranges_; }

    [[nodiscard]] input read() {
        if (!has_values_) refuse("the buffer assignment is missing; it is in the file NAME-buffer-assignment.txt");
        if (!has_ranges_)
            refuse("the live ranges (\"BufferLiveRange:\") are missing; they are in the file NAME-live-range.txt");
        std::uint64_t offsets = 256;  // its lowest bit is the alignment
        for (const found& each : values_) offsets |= each.offset;
        for (const found& each : values_) {
            where() = each.where;
            const auto range = ranges_.find(each.name);
            if (range == ranges_.end()) refuse("the value " + each.name + " has no live range");
            const std::size_t index =
                out_.add(each.name, {each.size, range->second, offsets & (0 - offsets)}, each.memory);
            out_.add_row(index, id_of(each.name), range->second);
        }
        if (values_.empty()) refuse("no allocation is \"preallocated-temp\", so there is nothing to plan");
        join_phis();
        find_shared();
        made_.own_peak = own_;
        return std::move(made_);
    }

private:
    enum class section { other, values, ranges };
    struct found {
        std::string name;
        std::uint64_t size, offset;
        std::size_t allocation, memory;
        bool is_phi;
        place where;
    };

    [[nodiscard]] place& where() { return out_.where; }
    [[noreturn]] void refuse(const std::string& reason) const { out_.where.refuse(reason); }

    /// Returns the number between two texts of a line.
    [[nodiscard]] std::uint64_t number(std::string_view line, std::string_view before, std::string_view after) const {
        const std::size_t at = line.find(before);
        const std::size_t begin = at + before.size();
        const std::size_t end = at == std::string_view::npos ? at : line.find_first_of(after, begin);
        if (end == std::string_view::npos) refuse("the line has no \"" + std::string{before} + "NUMBER\"");
        return number_of<std::uint64_t>(out_.where, "the number after \"" + std::string{before} + "\"",
                                        line.substr(begin, end - begin));
    }

    /// allocation 17: size 153688, color 1, preallocated-temp:
    void allocation(std::string_view line) {
        has_values_ = true;
        ++allocations_;
        const std::uint64_t size = number(line, ": size ", ",:");
        allocation_size_ = size;
        is_planned_ = line.find(", preallocated-temp") != std::string_view::npos;
        if (!is_planned_) return;
        if (!allot::checked_add(own_, size, own_)) refuse("the sum of the allocations exceeds 64 bits");
        const std::uint64_t color =
            line.find(", color ") == std::string_view::npos ? 0 : number(line, ", color ", ",:");
        const auto [known, fresh] = memories_.emplace(color, made_.memories.size());
        if (fresh) made_.memories.push_back({color == 0 ? "temporary" : "color " + std::to_string(color)});
        memory_ = known->second;
    }

    ///  value: <74 arg_tuple.3{1} (phi) @0> (size=76800,offset=0): f32[64,300]{1,0}
    void value(std::string_view line) {
        if (!is_planned_) return;
        const std::size_t begin = line.find('<'), space = line.find(' ', begin), end = line.rfind("> (size=");
        const std::size_t at = end == std::string_view::npos ? end : line.rfind(" @", end);
        if (begin == std::string_view::npos || at == std::string_view::npos || space >= at)
            refuse("the value does not have the form <NUMBER NAME @MEMORY> (size=BYTES,offset=BYTES)");
        std::string_view name = line.substr(space + 1, at - space - 1);
        const bool is_phi = name.ends_with(" (phi)");
        if (is_phi) name.remove_suffix(6);
        std::string full{name};
        if (!full.ends_with('}')) full += "{}";
        if (!names_.insert(full).second) refuse("the value " + full + " is assigned twice");
        const std::string_view rest = line.substr(end + 2);
        const std::uint64_t size = number(rest, "size=", ",)"), offset = number(rest, "offset=", ",)");
        if (offset > allocation_size_ || size > allocation_size_ - offset)
            refuse("the value " + full + " is not within the " + std::to_string(allocation_size_) +
                   " bytes of its allocation");
        values_.push_back({std::move(full), size, offset, allocations_, memory_, is_phi, out_.where});
    }

    /// arg_tuple.3{1}:13-17
    void range(std::string_view line) {
        const std::size_t colon = line.rfind(':');
        const std::size_t dash = colon == std::string_view::npos ? colon : line.find('-', colon + 2);
        if (dash == std::string_view::npos) refuse("the live range does not have the form NAME{INDEX}:FIRST-LAST");
        const auto first = number_of<std::int64_t>(where(), "the first step", line.substr(colon + 1, dash - colon - 1));
        const auto last = number_of<std::int64_t>(where(), "the last step", line.substr(dash + 1));
        if (last < first || last == std::numeric_limits<std::int64_t>::max())
            refuse("the last step, " + std::to_string(last) + ", is not one of " + std::to_string(first) +
                   " and later");
        std::string name{line.substr(0, colon)};
        if (const auto [known, fresh] = ranges_.emplace(name, allot::lifetime{first, last + 1}); !fresh)
            refuse("the value " + name + " has two live ranges");
    }

    /// Joins the values with the place and the size of a phi.
    void join_phis() {
        std::map<std::array<std::uint64_t, 3>, std::vector<std::size_t>> places;
        for (std::size_t i = 0; i != values_.size(); ++i)
            places[{values_[i].allocation, values_[i].offset, values_[i].size}].push_back(i);
        for (const auto& [where, members] : places) {
            if (std::none_of(members.begin(), members.end(), [&](std::size_t i) { return values_[i].is_phi; }))
                continue;
            for (std::size_t i = 1; i < members.size(); ++i) made_.together.push_back({members[0], members[i]});
        }
    }
    /// Finds values with the same bytes at the same time in XLA's plan.
    void find_shared() {
        std::vector<std::size_t> order(values_.size());
        for (std::size_t i = 0; i != order.size(); ++i) order[i] = i;
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return std::pair{values_[a].allocation, made_.buffers[a].live.from} <
                   std::pair{values_[b].allocation, made_.buffers[b].live.from};
        });
        std::map<std::uint64_t, std::set<std::pair<std::uint64_t, std::size_t>>> live;  // by offset: sizes, and values
        std::multimap<std::int64_t, std::size_t> ends;
        std::size_t allocation = 0;
        for (const std::size_t i : order) {
            const found& mine = values_[i];
            const allot::lifetime now = made_.buffers[i].live;
            if (std::exchange(allocation, mine.allocation) != mine.allocation) live.clear(), ends.clear();
            for (; !ends.empty() && ends.begin()->first <= now.from; ends.erase(ends.begin())) {
                const std::size_t ended = ends.begin()->second;
                const auto group = live.find(values_[ended].offset);
                group->second.erase({values_[ended].size, ended});
                if (group->second.empty()) live.erase(group);
            }
            if (mine.size == 0) continue;
            const auto same = live.lower_bound(mine.offset), next = live.upper_bound(mine.offset);
            if (next != live.end() && next->first - mine.offset < mine.size)
                refuse_overlap(mine, values_[next->second.begin()->second]);
            if (same != live.begin()) {
                const auto& [offset, group] = *std::prev(same);
                const auto [size, largest] = *group.rbegin();
                if (mine.offset - offset < size) refuse_overlap(mine, values_[largest]);
            }
            auto& group = live[mine.offset];
            if (!group.empty()) made_.together.push_back({group.begin()->second, i});
            group.emplace(mine.size, i);
            ends.emplace(now.until, i);
        }
    }
    [[noreturn]] void refuse_overlap(const found& one, const found& other) {
        where() = one.where;
        refuse("the value " + one.name + " shares bytes with " + other.name +
               " at another offset, which plans do not support");
    }

    input_builder out_;
    input& made_ = out_.made;
    std::map<std::uint64_t, std::size_t> memories_;  // by color
    std::vector<found> values_;
    std::set<std::string> names_;
    std::unordered_map<std::string, allot::lifetime> ranges_;
    std::size_t allocations_ = 0, memory_ = 0;  // allocations so far
    std::uint64_t own_ = 0, allocation_size_ = 0;
    bool is_planned_ = false, has_values_ = false, has_ranges_ = false;
};

}  // namespace planner
