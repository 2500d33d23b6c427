// SPDX-License-Identifier: BSL-1.0
// bars: the advice as SVG: a bar for each planner, and below it the plans of the best other planner and of allot on one
// scale.
//
//     no sharing        ▐████████████████████▌ 64,512
//     TFLite Micro      ▐███████▌┊ 22,016
//     allot             ▐██████▌ ┊ 20,480            ┊ lower bound
//
//     best other │▐██▌▐█▌        allot │▐█▌▐██▌
#pragma once

#include "../memory_planner/picture.hpp"
#include "advice.hpp"

namespace advisor {

class bars {
public:
    bars(const input& given, const advice& made) : given_{given}, made_{made} {
        for (const row& each : made.rows)
            if (each.bytes != 0 && (!each.offsets.empty() || each.whose == row::now)) shown_.push_back(&each);
    }

    void write(std::ostream& out) const {
        const bool has_plans = given_.buffers.size() <= most_compared;  // a larger file is too large for viewers
        const double below = top + line_height * static_cast<double>(shown_.size());
        const double height = has_plans ? below - 40 + planner::picture::height : below + side;
        out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height
            << "\" viewBox=\"0 0 " << width << ' ' << height << "\">\n"
            << planner::picture::style << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
        demo::text(out, side, 34, "name", given_.path.substr(given_.path.find_last_of('/') + 1));
        demo::text(out, side, 56, "note",
                   std::to_string(given_.buffers.size()) +
                       " buffers; bytes of one memory, by planner; dashed: the lower "
                       "bound of every plan");
        for (std::size_t i = 0; i != shown_.size(); ++i)
            bar(out, *shown_[i], top + line_height * static_cast<double>(i));
        const double bound = left + length(made_.bound);
        demo::line(out, bound, top - 6, bound, below, "bound");
        if (has_plans) write_plans(out, below - 40);
        out << "</svg>\n";
    }

private:
    static constexpr double width = 1300, side = 24, left = 310, bar_width = 700, top = 84, line_height = 26;

    /// Returns the length of a bar. The highest plan has four fifths of the width. A larger sum is cut off.
    [[nodiscard]] double length(std::uint64_t bytes) const {
        std::uint64_t highest = 1;
        for (const row* each : shown_)
            if (each->whose != row::other) highest = std::max(highest, each->bytes);
        return std::min(bar_width, bar_width * 0.8 * static_cast<double>(bytes) / static_cast<double>(highest));
    }
    void bar(std::ostream& out, const row& of, double y) const {
        demo::text(out, left - 10, y + 14, of.whose == row::ours ? "title" : "note", of.name, "end");
        out << "<rect class=\""
            << (of.whose == row::ours     ? "c3"
                : of.whose == row::theirs ? "c2"
                                          : "reserved")
            << "\" x=\"" << left << "\" y=\"" << y << "\" width=\"" << demo::number(std::max(1.0, length(of.bytes)))
            << "\" height=\"18\"/>\n";
        demo::text(out, left + length(of.bytes) + 8, y + 14, "note",
                   planner::bytes(of.bytes) + " bytes" + (length(of.bytes) < bar_width ? "" : ", cut off"));
    }

    /// Draws the plans of the best other planner and of allot as memories of one input, on one scale.
    void write_plans(std::ostream& out, double y) const {
        input both;
        planner::outcome plans;
        both.memories.clear();
        std::uint64_t highest = 1;
        for (const row* each : {made_.best_of_theirs(), &made_.ours()}) {
            if (each == nullptr) continue;
            planner::planned_memory memory{.buffers = {},
                                           .plan = {.status = made_.status, .peak = each->bytes, .bound = made_.bound}};
            for (std::size_t i = 0; i != given_.buffers.size(); ++i) {
                memory.buffers.push_back(both.buffers.size());
                both.memory_of.push_back(both.memories.size());
                both.buffers.push_back(given_.buffers[i]);
                both.names.push_back(given_.names[i]);
                plans.offsets.push_back(each->offsets[i]);
            }
            highest = std::max(highest, each->bytes);
            both.memories.push_back({each->name});
            plans.memories.push_back(std::move(memory));
        }
        out << "<g transform=\"translate(0," << y << ")\">\n";
        planner::picture{both, plans, highest}.write_panels(out);
        out << "</g>\n";
    }

    const input& given_;
    const advice& made_;
    std::vector<const row*> shown_;
};

}  // namespace advisor
