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
// Complexity: a placement visits the buffers that live in the part, and counts them. Memory: on the heap, about 200
// bytes a buffer. Thread safety: none.
#pragma once

#include <allot/plan/detail/fill_candidates.hpp>
#include <allot/plan/detail/fill_holes.hpp>
#include <allot/plan/detail/loads.hpp>

#include <vector>

namespace allot {
inline namespace v1 {
namespace detail {

/// Rows of a buffer in one memory.
struct rows_at {
    std::uint64_t rows = 0, offset = 0;
};

class row_fill {
public:
    /// The rows of a buffer that a memory may hold.
    struct choice {
        std::uint64_t rows = 0, bytes = 0, value = 0;  // number of rows; of each row
    };

    /// The buffers of the problem are whole, and those that are fixed stay at their offsets. Preconditions: the problem
    /// has no pairs; `choices` has an element for each buffer.
    row_fill(const plan_problem& problem, const std::vector<choice>& choices)
        : heap_{space(problem)},
          workspace_(heap_),
          where_{problem, {}, workspace_},
          price_{where_, most_lives(problem), problem.buffers.size(), workspace_},
          candidates_{problem, where_, no_pairs_, workspace_},
          load_{where_.count(), workspace_},
          choices_{&choices},
          at_(problem.buffers.size()) {}
    row_fill(const row_fill&) = delete;  // its parts refer to each other

    /// Improves a plan. `list`: the buffers that the memory may hold. `begin`: their rows so far. Returns the effort.
    template <class Stop>
    std::uint64_t run(std::span<const std::uint32_t> list, fill_values values, const plan_memory& memory,
                      const std::vector<rows_at>& begin, std::uint64_t effort, Stop stop) {
        candidates_.begin(list, values, memory.capacity, memory.align);
        const std::uint64_t lost = candidates_.price(price_, effort);
        std::uint64_t most = 0;
        for (const std::uint32_t i : list) most += of(i).rows * of(i).value;
        most -= std::min(lost, most);
        load_.clear();
        for (const std::uint32_t i : list) set(i, begin[i]);
        looked_at_ = 0;
        fill(candidates_.everywhere(), 0, effort / 4 + 4 * candidates_.count());
        std::uint64_t spent = 1 + looked_at_ / fill_holes::looks_a_placement;
        while (spent < effort && worth_ < most && !stop()) spent += ruin(effort - spent);
        return spent;
    }
    [[nodiscard]] const std::vector<rows_at>& rows() const noexcept { return at_; }

private:
    struct change {
        std::uint32_t buffer;
        rows_at before;
    };

    [[nodiscard]] static plan_space space(const plan_problem& problem) noexcept {
        const std::size_t buffers = problem.buffers.size(), sections = most_lives(problem);
        return section_tree::space(problem) + prices::space(sections, buffers) + fill_candidates::space(buffers) +
               section_loads::space(sections);
    }
    [[nodiscard]] const choice& of(std::uint32_t buffer) const noexcept { return (*choices_)[buffer]; }
    [[nodiscard]] bool is_complete(std::uint32_t buffer) const noexcept { return at_[buffer].rows == of(buffer).rows; }

    /// Changes the rows of a buffer, without a check for collisions.
    void set(std::uint32_t buffer, rows_at to) {
        const rows_at before = at_[buffer];
        changes_.push_back({buffer, before});
        worth_ += (to.rows - before.rows) * of(buffer).value;  // may wrap, and wraps back
        where_.each_span(buffer, [&](std::uint32_t from, std::uint32_t until) {
            if (before.rows != 0) load_.add(from, until, before.rows * of(buffer).bytes, false);
            if (to.rows != 0) load_.add(from, until, to.rows * of(buffer).bytes, true);
        });
        at_[buffer] = to;
    }
    void undo_changes() {
        for (std::size_t k = changes_.size(); k-- != 0;) {
            const change last = changes_[k];
            set(last.buffer, last.before);
        }
    }

    /// Collects the buffers that have rows here and live in these sections, in order of offsets.
    void look_at(section_range where) {
        near_.clear();
        looked_at_ += fill_holes::looks_a_placement;
        where_.each_living(where.from, where.until, [&](std::uint32_t i) {
            ++looked_at_;
            if (at_[i].rows != 0) near_.push_back(i);
        });
        candidates_.sort(near_.data(), near_.size(), [this](std::uint32_t i) { return at_[i].offset; });
    }
    /// Returns the largest number of rows for which each section has enough free bytes, contiguous or not.
    [[nodiscard]] std::uint64_t most_rows(std::uint32_t buffer) const noexcept {
        std::uint64_t load = 0;
        where_.each_span(
            buffer, [&](std::uint32_t from, std::uint32_t until) { load = std::max(load, load_.most(from, until)); });
        load -= at_[buffer].rows * of(buffer).bytes;
        const std::uint64_t room = candidates_.capacity() - std::min(load, candidates_.capacity());
        return std::min(room / of(buffer).bytes, of(buffer).rows);
    }
    /// Places a buffer with as many rows as possible. A buffer that has rows here may move and get more.
    void place(std::uint32_t buffer, bool smallest) {
        if (most_rows(buffer) <= at_[buffer].rows) return;
        look_at(candidates_.sections_of(buffer));
        rows_at best = at_[buffer];
        std::uint64_t top = 0, from = 0, least = ~std::uint64_t{0};
        const auto try_hole = [&](std::uint64_t end) {
            if (!checked_align_up(top, candidates_.align(buffer), from) || from >= end) return;
            const std::uint64_t rows = std::min((end - from) / of(buffer).bytes, of(buffer).rows);
            const bool is_better = rows == best.rows ? rows != 0 && smallest && end - top < least : rows > best.rows;
            if (!is_better) return;
            best = {rows, from};
            least = end - top;
        };
        for (const std::uint32_t other : near_) {
            const std::uint64_t begin = at_[other].offset, end = begin + at_[other].rows * of(other).bytes;
            if (other == buffer || end <= top || !where_.conflict(buffer, other)) continue;
            if (begin > top) try_hole(begin);
            top = std::max(top, end);
        }
        try_hole(candidates_.capacity());
        if (best.rows > at_[buffer].rows) set(buffer, best);
    }
    /// Places candidates of these sections with a limited effort, and returns the number of all.
    std::size_t fill(section_range where, unsigned noise_bits, std::uint64_t effort) {
        const auto tried = candidates_.in_order(where, noise_bits, [this](std::uint32_t i) { return is_complete(i); });
        for (const std::uint32_t i : tried) {
            if (looked_at_ > fill_holes::looks_for(effort)) break;
            place(i, noise_bits == 0 || candidates_.coin());
        }
        return tried.size();
    }
    /// Ruins a part and recreates it, with an effort of about `most`. Restores the plan if its worth would fall.
    /// Returns the effort.
    std::uint64_t ruin(std::uint64_t most) {
        const auto ruined = candidates_.some_part([this](std::uint32_t i) { return !is_complete(i); });
        if (!ruined.any) return 1;
        const std::uint64_t before = worth_;
        section_range around = ruined.where;
        const std::uint32_t spared = candidates_.below(4);
        changes_.clear();
        looked_at_ = 0;
        look_at(ruined.where);
        for (const std::uint32_t i : near_) {
            if (candidates_.is_fixed(i) || candidates_.below(4) < spared) continue;
            set(i, {});
            candidates_.widen(around, i);
        }
        if (candidates_.coin()) place(ruined.wanted, candidates_.coin());
        const std::size_t tried = fill(around, 4 + candidates_.below(6), most);
        if (worth_ < before) undo_changes();
        return 1 + tried / 4 + looked_at_ / fill_holes::looks_a_placement;
    }

    plan_heap heap_;
    plan_workspace workspace_;
    section_tree where_;
    prices price_;
    separation no_pairs_{};
    fill_candidates candidates_;
    section_loads load_;
    const std::vector<choice>* choices_;
    std::vector<rows_at> at_;          // by buffer
    std::vector<std::uint32_t> near_;  // buffers by offset
    std::vector<change> changes_;      // since the last part was ruined
    std::uint64_t worth_ = 0, looked_at_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
