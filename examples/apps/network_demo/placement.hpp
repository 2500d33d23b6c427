// SPDX-License-Identifier: BSL-1.0
// placement: gives each tensor a memory and an offset before the network runs.
//
//     one arena            allot::plan decides all offsets
//     a window in rows     a tensor needs enough free rows, at any positions. The row allocator selects them at run
//                          time; allot::plan_memories plans the set of tensors in rows, so that few bytes spill
//
// allot's validator, which shares no code with the planner, checks every plan of offsets.
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
    std::size_t memory = 0;  // 0: the first; 1: the memory for spilled tensors
    std::size_t offset = 0;  // unused in rows
};

struct placement {
    std::vector<place> places;      // of each tensor
    std::size_t peaks[2] = {0, 0};  // of each memory: highest end of a tensor
    double seconds = 0;             // duration of planning
};

/// Returns the offsets in one arena of the chosen tensors of a network.
[[nodiscard]] inline allot::memory_plan plan_of(const network& net, const std::vector<std::size_t>& tensors,
                                                std::size_t align) {
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
        throw std::logic_error{"the validator rejects the plan"};
    return *std::move(made);
}

/// Returns the number of rows of a tensor.
[[nodiscard]] inline std::size_t rows_of(const tensor& which, std::size_t row) {
    return which.size / row + (which.size % row != 0);
}

/// The tensors in rows.
struct in_rows {
    std::vector<bool> chosen;      // by tensor
    std::size_t most_taken = 0;    // maximum rows at the same time
    std::size_t spilled = 0;       // bytes of the other tensors
    std::size_t most_spilled = 0;  // maximum of these bytes live at the same time
};

/// Chooses tensors in this order, as far as `rows` rows suffice in every step of their lifetimes.
[[nodiscard]] inline in_rows fill_rows(const network& net, const std::vector<std::size_t>& order, std::size_t row,
                                       std::size_t rows) {
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
            std::for_each(first, end,
                          [&](std::size_t& now) { made.most_taken = std::max(made.most_taken, now += need); });
        } else {
            others.push_back(mine);
            made.spilled += mine.size;
        }
    }
    made.most_spilled = most_live(others, net.duration());
    return made;
}

/// Returns the order in which to give tensors rows. The first ones are those that allot::plan_memories keeps in a
/// memory of the same size, in which each tensor has contiguous rows. These also fit as rows. Rows may fit further
/// tensors, because rows have no gaps.
[[nodiscard]] inline std::vector<std::size_t> planned_order(const network& net, std::size_t row, std::size_t rows) {
    std::vector<allot::plan_buffer> buffers;
    for (const tensor& each : net.tensors)
        buffers.push_back({.size = std::min(rows_of(each, row), rows + 1) * row,  // capped: cannot fit either
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

/// Chooses the tensors in rows with the fewest spilled bytes, then with the least memory for the spilled tensors. The
/// candidates are the planner's choice, and the program's order, smallest first, largest first, and least area first,
/// because the planner ignores that memory. On all six networks here the planner's choice spills as few bytes as
/// integer programming.
[[nodiscard]] inline in_rows choose_for_rows(const network& net, std::size_t row, std::size_t rows) {
    in_rows best = fill_rows(net, planned_order(net, row, rows), row, rows);
    std::vector<std::size_t> order(net.tensors.size());
    const auto try_smallest = [&](auto key) {
        for (std::size_t t = 0; t != order.size(); ++t) order[t] = t;
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
        in_rows next = fill_rows(net, order, row, rows);
        if (std::pair{next.spilled, next.most_spilled} < std::pair{best.spilled, best.most_spilled})
            best = std::move(next);
    };
    const auto size = [&](std::size_t t) { return static_cast<double>(net.tensors[t].size); };
    try_smallest([](std::size_t t) { return t; });
    try_smallest(size);
    try_smallest([&](std::size_t t) { return -size(t); });
    try_smallest(
        [&](std::size_t t) { return size(t) * static_cast<double>(net.tensors[t].last - net.tensors[t].first + 1); });
    return best;
}

/// Places all tensors in one arena; with rows, as many as fit in rows, and the others in an arena.
[[nodiscard]] inline placement place_tensors(const network& net, std::size_t align, std::size_t row = 0,
                                             std::size_t rows = 0) {
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
