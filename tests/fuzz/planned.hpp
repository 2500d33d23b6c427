// planned: plans the buffers that a reader accepts, with offsets and in pages. Checks, writes and draws the results. An
// error must have a message.
#pragma once

#include <paging.hpp>
#include <picture.hpp>

#include <bit>
#include <cstdlib>
#include <sstream>

/// Writes the result in all formats.
inline void show(const planner::input& given, const planner::outcome& made) {
    std::ostringstream out;
    planner::write_table(out, given, made);
    planner::write_json(out, given, made);
    planner::picture{given, made}.write(out);
    if (out.str().empty()) std::abort();
}

/// Plans the buffers that `read` returns.
template <class Read>
void read_and_plan(Read read) {
    try {
        planner::input given = read();
        const auto stop = [](std::size_t, allot::plan_progress) { return true; };
        const planner::outcome made =
            given.chooses ? planner::spread(given, false, stop) : planner::plan_input(given, false, stop);
        if (!planner::mistake_in(given, made).empty()) std::abort();
        show(given, made);

        std::uint64_t page_size = 1, sum = 0;  // several hundred pages with the alignment of the buffers
        for (const allot::plan_buffer& each : given.buffers) {
            sum += each.size;
            page_size = std::max(page_size, each.align);
        }
        const planner::outcome paged =
            planner::in_pages(given, std::max(page_size, std::bit_floor(sum / 500 + 1)), false, stop);
        if (!planner::mistake_in_pages(given, paged).empty()) std::abort();
        show(given, paged);
    } catch (const planner::no_room& reason) {
        if (*reason.what() == '\0') std::abort();
    } catch (const planner::input_error& reason) {
        if (*reason.what() == '\0') std::abort();
    }
}
