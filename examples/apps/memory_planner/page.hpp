// SPDX-License-Identifier: BSL-1.0
// page: a plan as one HTML file: the picture, the buffers of the critical step, and what is under the pointer.
//
//     file: infeasible: …
//     at step 7, 3 buffers of 90 bytes are live, …      explanations, if the plan does not fit
//     ┌──────────────────┬─┐
//     │ ▐██▌ picture     │ │ the critical step           pointer: the buffer, the step and its live bytes
//     └──────────────────┴─┘
//     buffers of the critical step: name, bytes, offset, steps      a pointer on a row marks the buffer
//
// The file needs no other one, and no network.
#pragma once

#include "explain.hpp"
#include "page_parts.hpp"  // page_style and page_script, made by CMake
#include "picture.hpp"

#include <algorithm>
#include <sstream>

namespace planner {

class page {
public:
    page(const input& given, const outcome& made, const std::vector<explanation>& why)
        : given_{given}, made_{made}, why_{why} {}

    void write(std::ostream& out) const {
        const std::string name = given_.path.substr(given_.path.find_last_of('/') + 1);
        out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>" << demo::escaped(name)
            << ": plan</title>\n<style>\n"
            << page_style << "</style>\n</head>\n<body>\n<pre id=\"summary\">";
        std::ostringstream text;
        write_line(text, given_, made_);
        write_explanations(text, why_);
        out << escaped_lines(text.str()) << "</pre>\n<div id=\"chart\">\n";
        picture{given_, made_, 1, true}.write(out);
        out << "</div>\n<div id=\"tip\"></div>\n";
        for (std::size_t m = 0; m != given_.memories.size(); ++m) critical(out, m);
        out << "<script id=\"data\" type=\"application/json\">[";
        const char* separator = "";
        const std::vector<std::size_t> groups = groups_of(given_);
        const auto life = [&](std::size_t i, allot::lifetime live) {
            out << separator << '[' << given_.memory_of[i] << ',' << given_.buffers[i].size << ',' << live.from << ','
                << live.until << ',' << groups[i] << ']';
            separator = ",";
        };
        for (std::size_t i = 0; i != given_.buffers.size(); ++i) life(i, given_.buffers[i].live);
        for (const allot::plan_revival& each : given_.revivals) life(each.buffer, each.live);
        out << "]</script>\n<script>\n" << page_script << "</script>\n</body>\n</html>\n";
    }

private:
    [[nodiscard]] static std::string escaped_lines(const std::string& text) {
        std::istringstream lines{text};
        std::string made;
        for (std::string line; std::getline(lines, line);) made += demo::escaped(line) + '\n';
        return made;
    }
    /// Writes the buffers that are live at the critical step of a memory, the largest one first.
    void critical(std::ostream& out, std::size_t m) const {
        const std::int64_t step = made_.memories[m].plan.step;
        std::vector<std::pair<std::size_t, allot::lifetime>> live;
        const auto add = [&](std::size_t i, allot::lifetime each) {
            if (given_.memory_of[i] == m && each.from <= step && step < each.until) live.push_back({i, each});
        };
        for (std::size_t i = 0; i != given_.buffers.size(); ++i) add(i, given_.buffers[i].live);
        for (const allot::plan_revival& each : given_.revivals) add(each.buffer, each.live);
        std::stable_sort(live.begin(), live.end(), [&](const auto& a, const auto& b) {
            return given_.buffers[a.first].size > given_.buffers[b.first].size;
        });
        std::vector<std::size_t> buffers;
        for (const auto& [i, each] : live) buffers.push_back(i);
        const std::uint64_t sum = live_bytes(given_, buffers);
        out << "<h2>" << demo::escaped(given_.memories[m].name) << ": " << live.size() << " buffers of " << bytes(sum)
            << " bytes are live at step " << step << ", the critical one</h2>\n"
            << "<table "
               "class=\"critical-step\"><tr><th>buffer</th><th>bytes</th><th>share</th><th>offset</th><th>steps</th></"
               "tr>\n";
        for (const auto& [i, each] : live)
            out << "<tr data-buffer=\"" << given_.whole_of(i) << "\"><td>" << demo::escaped(given_.names[i])
                << "</td><td>" << bytes(given_.buffers[i].size) << "</td><td>"
                << demo::fixed(
                       sum == 0 ? 0 : 100 * static_cast<double>(given_.buffers[i].size) / static_cast<double>(sum), 1)
                << " %</td><td>" << (made_.is_paged(i) ? "pages" : bytes(made_.offsets[i])) << "</td><td>" << each.from
                << " to " << each.until << "</td></tr>\n";
        out << "</table>\n";
    }

    const input& given_;
    const outcome& made_;
    const std::vector<explanation>& why_;
};

}  // namespace planner
