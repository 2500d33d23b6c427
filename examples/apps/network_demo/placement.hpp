// SPDX-License-Identifier: BSL-1.0
// placement: gives each tensor a memory and an offset, before anything runs.
//
//     one arena            allot::plan decides all offsets
//     a window in rows     a tensor needs as many free rows as hold it, wherever they are. Which ones is the row allocator's
//                          business when it runs; which tensors are in rows is planned, by allot::plan_memories, so that
//                          few bytes spill
//
// Every plan of offsets is checked by allot's validator, which knows nothing of how plans are made.
#pragma once

#include "network.hpp"

#include <allot/plan/memories.hpp>
#include <allot/plan/plan.hpp>
#include <allot/plan/validate.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

namespace demo {

struct place {
    std::size_t memory = 0;  // 0 the first, 1 what the first had no room for
    std::size_t offset = 0;  // nothing in rows
};

struct placement {
    std::vector<place> places;      // of each tensor
    std::size_t peaks[2] = {0, 0};  // of each memory, the bytes that it is used up to
    double seconds = 0;             // that planning took
};

/// Offsets in one arena of the chosen tensors of a network.
[[nodiscard]] inline allot::memory_plan plan_of(const network& net, const std::vector<std::size_t>& tensors, std::size_t align) {
    std::vector<allot::plan_buffer> buffers;
    for (const std::size_t t : tensors) {
        const tensor& each = net.tensors[t];
        buffers.push_back({.size = each.size,
                           .live = {static_cast<std::int64_t>(each.first), static_cast<std::int64_t>(each.last) + 1},
                           .align = align});
    }
    const allot::plan_problem problem{.buffers = buffers};
    auto made = allot::plan(problem);
    if (!made) throw std::runtime_error{"the tensors cannot be planned"};
    std::vector<std::uint64_t> offsets;
    for (const allot::plan_place& each : made->places) offsets.push_back(each.offset);
    allot::plan_heap workspace{allot::validate_space(problem)};
    if (allot::validate(problem, offsets, made->peak, workspace).kind != allot::plan_violation_kind::none)
        throw std::logic_error{"the planner made a mistake"};
    return *std::move(made);
}

/// How many rows a tensor takes.
[[nodiscard]] inline std::size_t rows_of(const tensor& which, std::size_t row) { return which.size / row + (which.size % row != 0); }

/// What rows have room for.
struct in_rows {
    std::vector<bool> chosen;      // by tensor
    std::size_t most_taken = 0;    // rows at once
    std::size_t spilled = 0;       // bytes of the others
    std::size_t most_spilled = 0;  // of these, live at once
};

/// The tensors, one after the other, that `rows` rows have room for in every step of their lives.
[[nodiscard]] inline in_rows fill_rows(const network& net, const std::vector<std::size_t>& order, std::size_t row, std::size_t rows) {
    in_rows made{std::vector<bool>(net.tensors.size())};
    std::vector<std::size_t> taken(net.duration(), 0);  // by step
    std::vector<tensor> others;
    for (const std::size_t t : order) {
        const tensor& mine = net.tensors[t];
        const std::size_t need = rows_of(mine, row);
        const auto first = taken.begin() + static_cast<std::ptrdiff_t>(mine.first);
        const auto end = taken.begin() + static_cast<std::ptrdiff_t>(mine.last) + 1;
        made.chosen[t] = need <= rows && *std::max_element(first, end) <= rows - need;
        if (made.chosen[t]) {
            std::for_each(first, end, [&](std::size_t& now) { made.most_taken = std::max(made.most_taken, now += need); });
        } else {
            others.push_back(mine);
            made.spilled += mine.size;
        }
    }
    made.most_spilled = most_live(others, net.duration());
    return made;
}

/// The tensors in the order in which to give them rows: first those that allot::plan_memories keeps in a memory as large as
/// the rows, of which every tensor takes whole rows in one piece. What has room there has room in rows; and what that memory
/// lost to gaps, rows may still have.
[[nodiscard]] inline std::vector<std::size_t> planned_order(const network& net, std::size_t row, std::size_t rows) {
    std::vector<allot::plan_buffer> buffers;
    for (const tensor& each : net.tensors)
        buffers.push_back({.size = std::min(rows_of(each, row), rows + 1) * row,  // what is too large is so, however large
                           .live = {static_cast<std::int64_t>(each.first), static_cast<std::int64_t>(each.last) + 1}});
    const allot::plan_memory memories[] = {{.capacity = rows * row}, {.cost = 1}};
    const auto made = allot::plan_memories({.buffers = {.buffers = buffers}, .memories = memories});
    if (!made) throw std::runtime_error{"the tensors cannot be planned"};
    std::vector<std::size_t> order;
    for (const std::uint32_t memory : {0U, 1U})
        for (std::size_t t = 0; t != net.tensors.size(); ++t)
            if (made->places[t].memory == memory) order.push_back(t);
    return order;
}

/// What spills the fewest bytes, and then needs the least memory for these: the planner's choice, which spilled as few as
/// integer programming on all six networks here; or, as it knows nothing of that memory, the program's order, small ones
/// first, large ones first, or those of the least area.
[[nodiscard]] inline in_rows choose_for_rows(const network& net, std::size_t row, std::size_t rows) {
    in_rows best = fill_rows(net, planned_order(net, row, rows), row, rows);
    std::vector<std::size_t> order(net.tensors.size());
    const auto try_smallest = [&](auto key) {
        for (std::size_t t = 0; t != order.size(); ++t) order[t] = t;
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
        in_rows next = fill_rows(net, order, row, rows);
        if (std::pair{next.spilled, next.most_spilled} < std::pair{best.spilled, best.most_spilled}) best = std::move(next);
    };
    const auto size = [&](std::size_t t) { return static_cast<double>(net.tensors[t].size); };
    try_smallest([](std::size_t t) { return t; });
    try_smallest(size);
    try_smallest([&](std::size_t t) { return -size(t); });
    try_smallest([&](std::size_t t) { return size(t) * static_cast<double>(net.tensors[t].last - net.tensors[t].first + 1); });
    return best;
}

/// All tensors in one arena; or, with rows, as many as these have room for, and the others in an arena.
[[nodiscard]] inline placement place_tensors(const network& net, std::size_t align, std::size_t row = 0, std::size_t rows = 0) {
    const auto begin = std::chrono::steady_clock::now();
    placement made{std::vector<place>(net.tensors.size())};
    std::vector<std::size_t> others;
    const in_rows kept = row == 0 ? in_rows{std::vector<bool>(net.tensors.size())} : choose_for_rows(net, row, rows);
    for (std::size_t t = 0; t != net.tensors.size(); ++t)
        if (!kept.chosen[t]) others.push_back(t);
    const std::size_t memory = row == 0 ? 0 : 1;
    const allot::memory_plan plan = plan_of(net, others, align);
    for (std::size_t i = 0; i != others.size(); ++i)
        made.places[others[i]] = {memory, static_cast<std::size_t>(plan.places[i].offset)};
    made.peaks[0] = kept.most_taken * row;
    made.peaks[memory] = static_cast<std::size_t>(plan.peak);
    made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return made;
}

}  // namespace demo
