// SPDX-License-Identifier: BSL-1.0
// certificate: writes a plan with the proof of its lower bound, for check_certificate.py.
//
//     {"certificate": 1, "status": "optimal",
//      "memories": [{"name": "memory", "capacity": null, "reserved": [], "peak": 5120, "bound": 5120,
//                    "section": {"step": 1, "buffers": [0, 1]}}],
//      "buffers": [{"name": "a", "size": 4096, "align": 1, "lives": [[0, 2]], "memory": 0, "offset": 0}, …],
//      "fixed": [], "together": [], "apart": []}
//
// The section of a memory has the buffers that live at its fullest step. They share no bytes, so no plan is lower than
// the sum of their sizes.
#pragma once

#include "../network_demo/table.hpp"
#include "planning.hpp"

#include <algorithm>
#include <ostream>

namespace planner {

class certificate {
public:
    certificate(const input& given, const outcome& made) : given_{given}, made_{made} {
        lives_.resize(given.buffers.size());
        for (std::size_t i = 0; i != given.buffers.size(); ++i) lives_[i].push_back(given.buffers[i].live);
        for (const allot::plan_revival& each : given.revivals) lives_[each.buffer].push_back(each.live);
    }

    void write(std::ostream& out) const {
        std::string status = to_string(made_.status());
        std::replace(status.begin(), status.end(), ' ', '_');
        out << "{\"certificate\": 1, \"status\": \"" << status << "\",\n\"memories\": [";
        for (std::size_t m = 0; m != given_.memories.size(); ++m) write_memory(out << (m == 0 ? "\n" : ",\n"), m);
        out << "],\n\"buffers\": [";
        for (std::size_t i = 0; i != given_.buffers.size(); ++i) write_buffer(out << (i == 0 ? "\n" : ",\n"), i);
        out << "],\n\"fixed\": [";
        for (const allot::plan_fixed& each : given_.fixed)
            write_pair(out, each.buffer, each.offset, &each == given_.fixed.data());
        out << "],\n\"together\": [";
        for (const allot::plan_pair& each : given_.together)
            write_pair(out, each.first, each.second, &each == given_.together.data());
        out << "],\n\"apart\": [";
        for (const allot::plan_pair& each : given_.apart)
            write_pair(out, each.first, each.second, &each == given_.apart.data());
        out << "]}\n";
    }

private:
    template <class First, class Second>
    static void write_pair(std::ostream& out, First first, Second second, bool is_first) {
        out << (is_first ? "" : ", ") << '[' << first << ", " << second << ']';
    }
    void write_memory(std::ostream& out, std::size_t m) const {
        const memory& of = given_.memories[m];
        const allot::plan_summary& plan = made_.memories[m].plan;
        out << "{\"name\": " << demo::quoted(of.name) << ", \"capacity\": ";
        if (of.capacity == unlimited) out << "null";
        else out << of.capacity;
        out << ", \"reserved\": [";
        for (const allot::plan_reserved& each : of.reserved)
            write_pair(out, each.offset, each.size, &each == of.reserved.data());
        out << "], \"peak\": " << plan.peak << ", \"bound\": " << plan.bound
            << ", \"section\": {\"step\": " << plan.step << ", \"buffers\": [";
        bool is_first = true;
        for (const std::size_t i : made_.memories[m].buffers)
            for (const allot::lifetime live : lives_[i]) {
                if (plan.step < live.from || plan.step >= live.until) continue;
                out << (is_first ? "" : ", ") << i;
                is_first = false;
            }
        out << "]}}";
    }
    void write_buffer(std::ostream& out, std::size_t i) const {
        out << "{\"name\": " << demo::quoted(given_.names[i]) << ", \"size\": " << given_.buffers[i].size
            << ", \"align\": " << given_.buffers[i].align << ", \"lives\": [";
        for (const allot::lifetime& live : lives_[i]) write_pair(out, live.from, live.until, &live == lives_[i].data());
        out << "], \"memory\": " << given_.memory_of[i] << ", \"offset\": " << made_.offsets[i] << '}';
    }

    const input& given_;
    const outcome& made_;
    std::vector<std::vector<allot::lifetime>> lives_;  // by buffer
};

}  // namespace planner
