// SPDX-License-Identifier: BSL-1.0
// dividing: plans of several memories in which buffers are divided by rows.
//
//     number of rows of each buffer ──► allot::plan_rows ──► allot::validate_rows ──► an input of parts, a row for each
//
// The parts of a buffer `b` with 12 rows, of which 5 lie in the first memory, are `b[0:5]` and `b[5:12]`.
#pragma once

#include "planning.hpp"

#include <allot/plan/rows.hpp>
#include <allot/plan/validate_rows.hpp>

#include <algorithm>
#include <unordered_set>

namespace planner {

/// Turns an input into one of the parts of its buffers: the first parts in place of the buffers, the others behind all.
class divider {
public:
    divider(input& given, const allot::rows_plan& plan) : given_{given}, rest_of_(given.buffers.size(), none) {
        for (const allot::row_split& split : plan.splits) divide(split, plan.places[split.buffer].size);
        for (std::size_t k = 0, all = given.revivals.size(); k != all; ++k)
            if (const std::size_t rest = rest_of_[given.revivals[k].buffer]; rest != none)
                given.revivals.push_back({rest, given.revivals[k].live});
        divide_rows();
    }

private:
    static constexpr std::size_t none = ~std::size_t{0};

    void divide(const allot::row_split& split, std::uint64_t first_size) {
        const std::size_t i = split.buffer;
        const std::uint64_t rows = given_.row_counts[i];
        rest_of_[i] = given_.buffers.size();
        given_.part_of.push_back(i);
        given_.buffers.push_back({split.rest.size, given_.buffers[i].live, given_.buffers[i].align});
        given_.buffers[i].size = first_size;
        given_.row_counts.push_back(rows - split.rows);
        given_.row_counts[i] = split.rows;
        given_.memory_of.push_back(split.rest.memory);
        if (!given_.uses.empty()) given_.uses.push_back(given_.uses[i]);
        if (!given_.allowed.empty()) given_.allowed.push_back(given_.allowed[i]);
        given_.names.push_back(given_.names[i] + range(split.rows, rows));
        given_.names[i] += range(0, split.rows);
    }
    [[nodiscard]] static std::string range(std::uint64_t from, std::uint64_t until) {
        return '[' + std::to_string(from) + ':' + std::to_string(until) + ']';
    }

    /// Replaces each row of the table by those of its parts.
    void divide_rows() {
        const std::vector<std::string> columns = fields_of(given_.columns);
        const auto is_id = [](const std::string& name) {
            return name == "id" || name == "buffer" || name == "buffer_id";
        };
        const auto id_at =
            static_cast<std::size_t>(std::find_if(columns.begin(), columns.end(), is_id) - columns.begin());
        std::unordered_set<std::string> ids;
        for (const row& each : given_.rows) ids.insert(fields_of(each.text)[id_at]);
        std::vector<std::string> id_of(given_.buffers.size());
        std::vector<row> made;
        for (const row& each : given_.rows) {
            const std::size_t rest = rest_of_[each.buffer];
            if (rest == none) {
                made.push_back(each);
                continue;
            }
            std::vector<std::string> fields = fields_of(each.text);
            const std::string id = fields[id_at];
            for (const std::size_t part : {each.buffer, rest}) {
                if (id_of[part].empty()) {
                    const std::uint64_t first = given_.row_counts[each.buffer];
                    id_of[part] = id + (part == rest ? range(first, first + given_.row_counts[rest]) : range(0, first));
                    while (!ids.insert(id_of[part]).second) id_of[part] += '\'';
                }
                std::string text;
                for (std::size_t at = 0; at != columns.size(); ++at)
                    (text += at == id_at             ? id_of[part]
                             : columns[at] == "size" ? std::to_string(given_.buffers[part].size)
                             : columns[at] == "rows" ? std::to_string(given_.row_counts[part])
                                                     : fields[at]) += ',';
                text.pop_back();
                made.push_back({part, std::move(text)});
            }
        }
        given_.rows = std::move(made);
    }
    [[nodiscard]] static std::vector<std::string> fields_of(const std::string& line) {
        std::vector<std::string> fields(1);
        for (const char c : line) {
            if (c == ',') fields.emplace_back();
            else fields.back() += c;
        }
        return fields;
    }

    input& given_;
    std::vector<std::size_t> rest_of_;  // by buffer: its second part, or none
};

/// Like `spread`, but buffers may be divided by rows. The input becomes one of parts.
template <class Watch>
[[nodiscard]] outcome spread_by_rows(input& given, bool until_stopped, Watch watch) {
    const std::vector<allot::plan_memory> memories = costs_of(given.memories);
    const allot::rows_problem problem{choice_in(given, memories), given.row_counts};
    const auto make = [&](const allot::memories_options& options, auto watched) {
        return allot::plan_rows(problem, options, watched);
    };
    const allot::rows_plan plan =
        plan_with_effort(given, make, [](const allot::rows_plan& each) { return each.cost; }, until_stopped, watch);
    if (const auto found = allot::validate_rows(problem, plan); found.kind != allot::memories_violation_kind::none)
        throw std::logic_error{given.path + ": the validator found a mistake in the plan: " + found.what()};
    if (plan.unplaced != 0) refuse_without_room(given, plan, ", even in parts");
    outcome made;
    made.spilled = plan.spilled;
    made.cost = spread_cost{plan.cost, plan.bound};
    made.divided.emplace();
    if (plan.whole_unplaced == 0) made.divided->whole_cost = plan.whole_cost;
    for (std::size_t i = 0; i != given.buffers.size(); ++i) {
        given.memory_of[i] = plan.places[i].memory;
        made.offsets.push_back(plan.places[i].offset);
    }
    for (const allot::row_split& split : plan.splits) {
        made.offsets.push_back(split.rest.offset);
        made.divided->names.push_back(given.names[split.buffer]);
    }
    divider{given, plan};
    add_memories(made, given, plan.status, plan.needs);
    return made;
}

}  // namespace planner
