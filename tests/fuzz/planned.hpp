// planned: whatever a reader takes for buffers is planned, checked, written and drawn; or the planner says why it cannot be.
#pragma once

#include <picture.hpp>

#include <cstdlib>
#include <sstream>

template <class Read>
void read_and_plan(Read read) {
    try {
        const planner::input given = read();
        const planner::outcome made = planner::plan_input(given, false, [](std::size_t, allot::plan_progress) { return true; });
        if (!planner::mistake_in(given, made).empty()) std::abort();
        std::ostringstream out;
        planner::write_table(out, given, made);
        planner::write_json(out, given, made);
        planner::picture{given, made}.write(out);
        if (out.str().empty()) std::abort();
    } catch (const planner::input_error& why) {
        if (*why.what() == '\0') std::abort();
    }
}
