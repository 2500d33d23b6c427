// SPDX-License-Identifier: BSL-1.0
// row_fill: the rows of buffers that lie in one memory. The other rows of a buffer lie elsewhere.
//
//     offset                           A buffer is placed in the hole that holds most of its rows. If a hole holds all
//       ▲   ┌─────┐      ┌───────┐     of them, it is placed in the lowest or in the smallest such hole.
//       │   │  b  │  c   │   d   │
//       │   └─────┤ (3/8)├───────┤     Ruin and recreate: the buffers around a moment are removed, and candidates are
//       │         │      │   a   │     added in a different order. The change is undone if the worth falls.
//       └─────────┴──────┴───────┴──► time
//
// Complexity: a placement visits the buffers that live in the part, and counts them. Memory: `space`. Thread safety:
// none.
#pragma once

#include <allot/plan/detail/fill_candidates.hpp>
#include <allot/plan/detail/fill_holes.hpp>
#include <allot/plan/detail/loads.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace detail {

/// Rows of a buffer in one memory.
struct rows_at {
    std::uint64_t rows = 0, offset = 0;
};
/// Rows in one memory, by buffer.
struct rows_in_memory {
    std::uint64_t *rows = nullptr, *offset = nullptr;
};
/// The rows that a memory may hold, by buffer: their number, the bytes of each, and the value of each.
struct row_choices {
    std::uint64_t *rows = nullptr, *bytes = nullptr, *value = nullptr;
};

class row_fill {
public:
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem) noexcept {
        const std::size_t buffers = problem.buffers.size(), sections = most_lives(problem),
                          changes = most_changes(buffers);
        return section_tree::space(problem) + prices::space(sections, buffers) + fill_candidates<>::space(buffers) +
               section_loads::space(sections) + plan_space{.u32 = buffers + changes, .u64 = 2 * changes};
    }
    /// The buffers of the problem are whole, and those that are fixed stay at their offsets. `at` has the rows so far,
    /// and gets the result. Preconditions: the problem has no pairs; the arrays have an element for each buffer.
    row_fill(const plan_problem& problem, row_choices choices, rows_in_memory at, plan_workspace workspace) noexcept
        : where_{problem, {}, workspace},
          price_{where_, most_lives(problem), problem.buffers.size(), workspace},
          candidates_{problem, where_, no_pairs_, workspace},
          load_{where_.count(), workspace},
          choices_{choices},
          at_{at},
          near_{workspace.cut_u32(problem.buffers.size())},
          changed_{workspace.cut_u32(most_changes(problem.buffers.size()))} {
        for (auto* array : {&before_.rows, &before_.offset})
            *array = workspace.cut_u64(most_changes(problem.buffers.size()));
    }
    row_fill(const row_fill&) = delete;  // its parts refer to each other

    /// Improves a plan. `list`: the buffers that the memory may hold. The others have no rows. Returns the effort.
    template <class Stop>
    std::uint64_t run(plan_array<const std::uint32_t> list, fill_values values, const plan_memory& memory,
                      std::uint64_t effort, Stop stop) noexcept {
        candidates_.begin(list, values, memory.capacity, memory.align);
        const std::uint64_t lost = candidates_.price(price_, effort);
        std::uint64_t most = 0;
        for (const std::uint32_t i : list) most += choices_.rows[i] * choices_.value[i];
        most -= std::min(lost, most);
        load_.clear();
        for (const std::uint32_t i : list) {
            const rows_at begin = at(i);
            at_.rows[i] = 0;
            apply(i, begin);
        }
        looked_at_ = 0;
        fill(candidates_.everywhere(), 0, effort / 4 + 4 * candidates_.count());
        std::uint64_t spent = 1 + looked_at_ / fill_holes<>::looks_a_placement;
        while (spent < effort && worth_ < most && !stop()) spent += ruin(effort - spent);
        return spent;
    }

private:
    /// Most changes between two states: each buffer is removed, and placed, and the wanted one is placed twice.
    [[nodiscard]] static constexpr std::size_t most_changes(std::size_t buffers) noexcept { return 2 * buffers + 1; }

    [[nodiscard]] rows_at at(std::uint32_t buffer) const noexcept { return {at_.rows[buffer], at_.offset[buffer]}; }
    [[nodiscard]] bool is_complete(std::uint32_t buffer) const noexcept {
        return at_.rows[buffer] == choices_.rows[buffer];
    }

    /// Changes the rows of a buffer, without a check for collisions.
    void apply(std::uint32_t buffer, rows_at to) noexcept {
        const rows_at before = at(buffer);
        const std::uint64_t bytes = choices_.bytes[buffer];
        worth_ += (to.rows - before.rows) * choices_.value[buffer];  // may wrap, and wraps back
        where_.each_span(buffer, [&](std::uint32_t from, std::uint32_t until) {
            if (before.rows != 0) load_.add(from, until, before.rows * bytes, false);
            if (to.rows != 0) load_.add(from, until, to.rows * bytes, true);
        });
        at_.rows[buffer] = to.rows;
        at_.offset[buffer] = to.offset;
    }
    /// Changes the rows of a buffer, and records the change.
    void set(std::uint32_t buffer, rows_at to) noexcept {
        changed_[changes_] = buffer;
        before_.rows[changes_] = at_.rows[buffer];
        before_.offset[changes_++] = at_.offset[buffer];
        apply(buffer, to);
    }
    void undo_changes() noexcept {
        for (; changes_ != 0; --changes_)
            apply(changed_[changes_ - 1], {before_.rows[changes_ - 1], before_.offset[changes_ - 1]});
    }

    /// Collects the buffers that have rows here and live in these sections, in order of offsets.
    void look_at(section_range where) noexcept {
        near_count_ = 0;
        looked_at_ += fill_holes<>::looks_a_placement;
        where_.each_living(where.from, where.until, [&](std::uint32_t i) {
            ++looked_at_;
            if (at_.rows[i] != 0) near_[near_count_++] = i;
        });
        candidates_.sort(near_, near_count_, [this](std::uint32_t i) { return at_.offset[i]; });
    }
    [[nodiscard]] plan_array<const std::uint32_t> near_buffers() const noexcept { return {near_, near_count_}; }
    /// Returns the largest number of rows for which each section has enough free bytes, contiguous or not.
    [[nodiscard]] std::uint64_t most_rows(std::uint32_t buffer) const noexcept {
        std::uint64_t load = 0;
        where_.each_span(
            buffer, [&](std::uint32_t from, std::uint32_t until) { load = std::max(load, load_.most(from, until)); });
        load -= at_.rows[buffer] * choices_.bytes[buffer];
        const std::uint64_t room = candidates_.capacity() - std::min(load, candidates_.capacity());
        return std::min(room / choices_.bytes[buffer], choices_.rows[buffer]);
    }
    /// Places a buffer with as many rows as possible. A buffer that has rows here may move and get more.
    void place(std::uint32_t buffer, bool smallest) noexcept {
        if (most_rows(buffer) <= at_.rows[buffer]) return;
        look_at(candidates_.sections_of(buffer));
        const std::uint64_t bytes = choices_.bytes[buffer];
        rows_at best = at(buffer);
        std::uint64_t top = 0, from = 0, least = ~std::uint64_t{0};
        const auto try_hole = [&](std::uint64_t end) {
            if (!checked_align_up(top, candidates_.align(buffer), from) || from >= end) return;
            const std::uint64_t rows = std::min((end - from) / bytes, choices_.rows[buffer]);
            const bool is_better = rows == best.rows ? rows != 0 && smallest && end - top < least : rows > best.rows;
            if (!is_better) return;
            best = {rows, from};
            least = end - top;
        };
        for (const std::uint32_t other : near_buffers()) {
            const std::uint64_t begin = at_.offset[other], end = begin + at_.rows[other] * choices_.bytes[other];
            if (other == buffer || end <= top || !where_.conflict(buffer, other)) continue;
            if (begin > top) try_hole(begin);
            top = std::max(top, end);
        }
        try_hole(candidates_.capacity());
        if (best.rows > at_.rows[buffer]) set(buffer, best);
    }
    /// Places candidates of these sections with a limited effort, and returns the number of all.
    std::size_t fill(section_range where, unsigned noise_bits, std::uint64_t effort) noexcept {
        const auto tried = candidates_.in_order(where, noise_bits, [this](std::uint32_t i) { return is_complete(i); });
        for (const std::uint32_t i : tried) {
            if (looked_at_ > fill_holes<>::looks_for(effort)) break;
            place(i, noise_bits == 0 || candidates_.coin());
        }
        return tried.size();
    }
    /// Ruins a part and recreates it, with an effort of about `most`. Restores the plan if its worth would fall.
    /// Returns the effort.
    std::uint64_t ruin(std::uint64_t most) noexcept {
        const auto ruined = candidates_.some_part([this](std::uint32_t i) { return !is_complete(i); });
        if (!ruined.any) return 1;
        const std::uint64_t before = worth_;
        section_range around = ruined.where;
        const std::uint32_t spared = candidates_.below(4);
        changes_ = 0;
        looked_at_ = 0;
        look_at(ruined.where);
        for (const std::uint32_t i : near_buffers()) {
            if (candidates_.is_fixed(i) || candidates_.below(4) < spared) continue;
            set(i, {});
            candidates_.widen(around, i);
        }
        if (candidates_.coin()) place(ruined.wanted, candidates_.coin());
        const std::size_t tried = fill(around, 4 + candidates_.below(6), most);
        if (worth_ < before) undo_changes();
        return 1 + tried / 4 + looked_at_ / fill_holes<>::looks_a_placement;
    }

    section_tree where_;
    prices price_;
    separation no_pairs_{};
    fill_candidates<> candidates_;
    section_loads load_;
    row_choices choices_;
    rows_in_memory at_;
    std::uint32_t *near_, *changed_;  // buffers by offset; buffers in the order of their changes
    rows_in_memory before_{};         // by change: the rows before it
    std::size_t near_count_ = 0, changes_ = 0;
    std::uint64_t worth_ = 0, looked_at_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
