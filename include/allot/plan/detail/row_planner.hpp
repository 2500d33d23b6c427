// SPDX-License-Identifier: BSL-1.0
// row_planner: divides buffers among memories, one memory after the other.
//
//     plan_memories ──► rows that fit holes of memory 0 ──► … of memory 1 ──► … ──► a first plan with divided buffers
//     whole buffers ──► row_fill: memory 0 ──► plan_memories: the other rows in the other memories ──► row_fill …
//
// The rows of the first plan leave the places of the other rows as they are, so it always exists. In the second one,
// buffers move between memories, and it may fail. The better plan is kept.
//
// Complexity: see rows.hpp. Memory: `space`. Thread safety: not synchronized.
#pragma once

#include <allot/plan/detail/crowded_steps.hpp>
#include <allot/plan/detail/merge.hpp>
#include <allot/plan/detail/row_fill.hpp>
#include <allot/plan/memories.hpp>
#include <allot/plan/rows_problem.hpp>

#include <algorithm>
#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

/// Places of the parts of all buffers. A buffer whose `rest_memory` is `nowhere` is whole.
struct row_places {
    std::uint32_t *memory = nullptr, *rest_memory = nullptr;
    std::uint64_t *offset = nullptr, *rest_offset = nullptr, *size = nullptr;  // size of the first part
};

template <class Watch>
class row_planner {
public:
    [[nodiscard]] static constexpr plan_space space(const rows_problem& problem,
                                                    const memories_options& options) noexcept {
        const plan_problem& given = problem.memories.buffers;
        const std::size_t buffers = given.buffers.size();
        plan_space work = max(space_of_memories(problem.memories, options), row_fill::space(given));
        for (const std::uint64_t share : {4u, 8u})
            work = max(work, space_of_memories(problem.memories, with_effort(options, share)));
        work = max(work, space_of_least_cost(problem.memories, options));
        work = max(work, merge_space(given) + plan_space{.u64 = buffers} + crowded_steps<>::space(given));
        return plan_space{.u32 = 9 * buffers, .u64 = 20 * buffers, .buffers = buffers, .fixed = buffers} + work;
    }

    /// `places` and `needs` are arrays of the caller for `plan_memories_into`. Precondition: the problem is valid.
    row_planner(const rows_problem& problem, const memories_options& options, Watch& watch,
                std::span<memory_place> places, std::span<memory_needs> needs, plan_workspace workspace) noexcept
        : given_{problem.memories},
          rows_{problem.rows},
          options_{options},
          watch_{&watch},
          places_{places.first(problem.memories.buffers.buffers.size())},
          needs_{needs.first(problem.memories.memories.size())} {
        const std::size_t count = buffers().size();
        for (auto* array : {&stays_, &now_memory_, &whole_memory_, &list_, &must_be_here_, &made_.memory,
                            &made_.rest_memory, &best_.memory, &best_.rest_memory})
            *array = workspace.cut_u32(count);
        for (auto* array :
             {&all_rows_,         &all_bytes_,     &left_rows_,   &left_bytes_,       &allowed_,   &open_,
              &now_offset_,       &whole_offset_,  &value_,       &at_.rows,          &at_.offset, &choices_.rows,
              &choices_.bytes,    &choices_.value, &made_.offset, &made_.rest_offset, &made_.size, &best_.offset,
              &best_.rest_offset, &best_.size})
            *array = workspace.cut_u64(count);
        parts_ = cut(workspace.buffers, count);
        fixed_ = cut(workspace.fixed, count);
        workspace_ = workspace;
    }

    [[nodiscard]] plan_error run() noexcept {
        const bool any = find_what_divides();
        const auto whole =
            plan_memories_into(given_, places_, needs_, workspace_, options_,
                               [this](const memories_progress& now) { return stopped_ = stopped_ || (*watch_)(now); });
        if (!whole) return whole.error();
        static_cast<memories_summary&>(summary_) = *whole;
        summary_.whole_cost = whole->cost;
        summary_.whole_unplaced = whole->unplaced;
        for (std::size_t i = 0; i != buffers().size(); ++i) {
            best_.memory[i] = whole_memory_[i] = places_[i].memory;
            best_.offset[i] = whole_offset_[i] = places_[i].offset;
            best_.size[i] = buffers()[i].size;
            best_.rest_memory[i] = memory_place::nowhere;
        }
        if (!any) return {};
        summary_.bound = bound(false);
        summary_.which = unholdable();
        if (!is_done()) improve(false);
        if (!is_done()) improve(true);
        if (summary_.unplaced == 0)
            summary_.status = summary_.cost <= summary_.bound ? plan_status::optimal : plan_status::feasible;
        else summary_.status = is_impossible() ? plan_status::infeasible : plan_status::out_of_budget;
        if (summary_.status == plan_status::infeasible) summary_.bound = bound(true);
        return {};
    }
    /// Writes the best plan to the arrays of the caller, and returns its summary.
    [[nodiscard]] rows_summary write(std::span<row_split> splits) noexcept {
        for (memory_needs& each : needs_) each = {};
        for (std::size_t i = 0; i != buffers().size(); ++i) {
            const auto need = [&](const memory_place& part) {
                memory_needs& of = needs_[part.memory];
                if (part.size != 0) of.peak = std::max(of.peak, part.offset + part.size);
                of.align = std::max({of.align, buffers()[i].align, memories()[part.memory].align});
            };
            places_[i] = {best_.memory[i], best_.offset[i], best_.size[i]};
            if (places_[i].memory == memory_place::nowhere) continue;
            need(places_[i]);
            if (best_.rest_memory[i] == memory_place::nowhere) continue;
            const memory_place rest{best_.rest_memory[i], best_.rest_offset[i], buffers()[i].size - best_.size[i]};
            splits[summary_.divided++] = {i, best_.size[i] / all_bytes_[i], rest};
            need(rest);
        }
        return summary_;
    }

private:
    [[nodiscard]] std::span<const plan_buffer> buffers() const noexcept { return given_.buffers.buffers; }
    [[nodiscard]] std::span<const plan_memory> memories() const noexcept { return given_.memories; }
    [[nodiscard]] std::uint64_t uses(std::size_t i) const noexcept { return given_.uses.empty() ? 1 : given_.uses[i]; }
    [[nodiscard]] std::uint64_t given_allowed(std::size_t i) const noexcept {
        return given_.allowed.empty() ? ~std::uint64_t{0} : given_.allowed[i];
    }
    [[nodiscard]] static constexpr memories_options with_effort(memories_options options,
                                                                std::uint64_t share) noexcept {
        options.effort /= share;
        return options;
    }
    [[nodiscard]] bool is_done() noexcept {
        return (summary_.unplaced == 0 && summary_.cost <= summary_.bound) || is_stopped();
    }
    [[nodiscard]] bool is_stopped() noexcept {
        return stopped_ = stopped_ || (*watch_)(memories_progress{summary_.cost, summary_.unplaced, summary_.bound});
    }
    /// Returns the problem with the buffers of `parts_` and the memories of `open_`.
    [[nodiscard]] memories_problem with_parts() const noexcept {
        memories_problem made = given_;
        made.buffers.buffers = parts_;
        made.allowed = {open_, buffers().size()};
        return made;
    }

    /// Reads the buffers that may be divided. Returns whether there are any.
    [[nodiscard]] bool find_what_divides() noexcept {
        const std::size_t count = buffers().size();
        const std::uint64_t all = ~std::uint64_t{0} >> (64 - memories().size());
        for (std::size_t i = 0; i != count; ++i) stays_[i] = 0;
        for (const plan_fixed& each : given_.buffers.fixed) stays_[each.buffer] = 1;
        for (const auto pairs : {given_.buffers.together, given_.buffers.apart, given_.separate})
            for (const plan_pair& each : pairs) stays_[each.first] = stays_[each.second] = 1;
        bool any = false;
        for (std::size_t i = 0; i != count; ++i) {
            const bool is_whole = stays_[i] != 0 || rows_.empty() || buffers()[i].size == 0 || rows_[i] == 0;
            all_rows_[i] = is_whole ? 1 : rows_[i];
            all_bytes_[i] = buffers()[i].size / all_rows_[i];
            allowed_[i] = given_allowed(i) & all;
            for (std::size_t m = 0; m != memories().size(); ++m)
                if (all_bytes_[i] > memories()[m].capacity) allowed_[i] &= ~bit(m);
            if (!std::has_single_bit(allowed_[i]) && allowed_[i] != 0 && all_rows_[i] > 1) {
                any = true;
                continue;
            }
            all_rows_[i] = 1;
            all_bytes_[i] = buffers()[i].size;
        }
        return any;
    }
    [[nodiscard]] static constexpr std::uint64_t bit(std::size_t memory) noexcept { return std::uint64_t{1} << memory; }
    /// Returns the bytes of whole rows that a memory can hold of a buffer.
    [[nodiscard]] std::uint64_t most_bytes(std::size_t i, std::size_t m) const noexcept {
        return std::min(memories()[m].capacity / all_bytes_[i], all_rows_[i]) * all_bytes_[i];
    }

    // ---- proofs ----------------------------------------------------------------------------------------------------

    /// Returns a lower bound on the cost of all buffers, or of the placed ones. Of a buffer that exceeds a memory, only
    /// the bytes that fit all of its memories compete for room. The others cost what the cheapest memories charge.
    [[nodiscard]] std::uint64_t bound(bool of_placed) noexcept {
        std::uint64_t more = 0;
        for (std::size_t i = 0; i != buffers().size(); ++i) {
            parts_[i] = buffers()[i];
            if (of_placed && best_.memory[i] == memory_place::nowhere) parts_[i].size = 0;
            open_[i] = given_allowed(i);
            if (all_rows_[i] == 1 || parts_[i].size == 0) continue;
            open_[i] = allowed_[i];
            std::uint64_t least = parts_[i].size;
            for (std::uint64_t rest = allowed_[i]; rest != 0; rest &= rest - 1)
                least = std::min(least, most_bytes(i, static_cast<std::size_t>(std::countr_zero(rest))));
            const auto first = static_cast<std::size_t>(std::countr_zero(allowed_[i]));
            const auto next = static_cast<std::size_t>(std::countr_zero(allowed_[i] & (allowed_[i] - 1)));
            const std::uint64_t in_first = most_bytes(i, first);
            more += uses(i) *
                    ((parts_[i].size - in_first) * memories()[next].cost + (in_first - least) * memories()[first].cost);
            parts_[i].size = least;
        }
        return more + least_cost_of(with_parts(), options_, workspace_);
    }
    /// Returns the first buffer whose rows exceed any two of its memories, or the number of buffers.
    [[nodiscard]] std::size_t unholdable() const noexcept {
        for (std::size_t i = 0; i != buffers().size(); ++i) {
            std::uint64_t most = 0, second = 0;
            for (std::uint64_t rest = allowed_[i]; rest != 0 && buffers()[i].size != 0; rest &= rest - 1) {
                const std::uint64_t here = most_bytes(i, static_cast<std::size_t>(std::countr_zero(rest)));
                second = std::max(second, std::min(most, here));
                most = std::max(most, here);
            }
            if (all_rows_[i] != 1) most += second;
            if (buffers()[i].size != 0 ? most < buffers()[i].size : allowed_[i] == 0) return i;
        }
        return buffers().size();
    }
    /// Returns whether it is proved that not all buffers can have a place.
    [[nodiscard]] bool is_impossible() noexcept {
        if (summary_.which != buffers().size() || is_crowded()) return true;
        for (std::size_t i = 0; i != buffers().size(); ++i) {
            parts_[i] = buffers()[i];
            open_[i] = given_allowed(i);
            if (all_rows_[i] != 1) parts_[i].size = 0;
        }
        const auto made = plan_memories_into(with_parts(), places_, needs_, workspace_, with_effort(options_, 4));
        return made && made->status == plan_status::infeasible;
    }
    /// Returns whether the bytes that live at one step exceed all memories, or the one memory that they must live in,
    /// and stores that step.
    [[nodiscard]] bool is_crowded() noexcept {
        plan_workspace workspace = workspace_;
        plan_sizes sizes;
        const auto merged = merge_together(given_.buffers, workspace, sizes);
        if (!merged) return false;
        std::uint64_t* const allowed = workspace.cut_u64(buffers().size());
        for (std::size_t i = 0; i != buffers().size(); ++i) allowed[i] = ~std::uint64_t{0};
        for (std::size_t i = 0; i != buffers().size(); ++i) allowed[(*merged)[i]] &= allowed_[i];
        return crowded_steps<>{merged->problem, sizes, memories(), allowed, workspace}.find(summary_.step);
    }

    // ---- plans -----------------------------------------------------------------------------------------------------

    /// Divides buffers, and keeps the plan if it is better. `replans`: whether rows may leave their memories.
    void improve(bool replans) noexcept {
        const std::size_t count = buffers().size();
        for (std::size_t i = 0; i != count; ++i) {
            left_rows_[i] = all_rows_[i];
            left_bytes_[i] = all_bytes_[i];
            now_memory_[i] = whole_memory_[i];
            now_offset_[i] = whole_offset_[i];
            made_.memory[i] = made_.rest_memory[i] = memory_place::nowhere;
        }
        const auto add = [&](std::size_t i, memory_place part) {
            const bool is_first = made_.memory[i] == memory_place::nowhere;
            (is_first ? made_.memory : made_.rest_memory)[i] = part.memory;
            (is_first ? made_.offset : made_.rest_offset)[i] = part.offset;
            if (is_first) made_.size[i] = part.size;
        };
        for (std::uint32_t m = 0; m + 1 < memories().size(); ++m) {
            fill(m, replans);
            for (std::size_t i = 0; i != count; ++i) {
                const bool stays = stays_[i] != 0;
                if (stays ? now_memory_[i] != m : at_.rows[i] == 0) continue;
                const std::uint64_t rows = stays ? left_rows_[i] : at_.rows[i];
                add(i, {m, stays ? now_offset_[i] : at_.offset[i], rows * left_bytes_[i]});
                const std::uint64_t others = left_rows_[i] - rows;
                left_rows_[i] = others == 0 ? 0 : 1;
                left_bytes_[i] *= others;
            }
            if (replans && !place_remainders(m)) return;
        }
        for (std::size_t i = 0; i != count; ++i) {
            if (left_rows_[i] == 0) continue;
            if (now_memory_[i] == memory_place::nowhere) made_.memory[i] = made_.rest_memory[i] = now_memory_[i];
            else add(i, {now_memory_[i], now_offset_[i], left_rows_[i] * left_bytes_[i]});
        }
        keep_if_better();
    }

    /// Sets `at_` to the rows of each buffer in memory `m`: those of the current plan, and more.
    void fill(std::uint32_t m, bool replans) noexcept {
        std::size_t count = 0, fixed = 0;
        std::uint64_t worth = 0;
        for (std::uint32_t i = 0; i != buffers().size(); ++i) {
            parts_[i] = buffers()[i];
            parts_[i].size = left_rows_[i] * left_bytes_[i];
            at_.rows[i] = at_.offset[i] = value_[i] = 0;
            const bool stays = stays_[i] != 0, is_here = now_memory_[i] == m;
            const bool may_be_here =
                (allowed_[i] & bit(m)) != 0 && (replans || now_memory_[i] != memory_place::nowhere);
            if (parts_[i].size == 0 || !(stays ? is_here : is_here || may_be_here)) continue;
            const std::uint64_t later = allowed_[i] >> m >> 1;
            must_be_here_[i] = stays || later == 0 ? 1 : 0;
            choices_.rows[i] = must_be_here_[i] != 0 ? 1 : left_rows_[i];
            choices_.bytes[i] = must_be_here_[i] != 0 ? parts_[i].size : left_bytes_[i];
            if (choices_.bytes[i] > memories()[m].capacity) continue;
            if (stays) fixed_[fixed++] = {i, now_offset_[i]};
            if (is_here) {
                at_.rows[i] = choices_.rows[i];
                at_.offset[i] = now_offset_[i];
            }
            choices_.value[i] = std::max<std::uint64_t>(uses(i) * choices_.bytes[i] * saved(i, m), 1);
            worth += choices_.rows[i] * choices_.value[i];
            list_[count++] = i;
        }
        if (count == 0) return;
        const plan_array<const std::uint32_t> list{list_, count};

        // Scales the values such that their sum fits 64 bits, with those of buffers that must be here.
        unsigned shift = 0;
        while ((worth >> shift) >= ~std::uint64_t{0} / 4 / (count + 1)) ++shift;
        const std::uint64_t priceless = (worth >> shift) + ~std::uint64_t{0} / 4 / (count + 1) + 1;
        for (const std::uint32_t i : list) {
            choices_.value[i] =
                std::max<std::uint64_t>(choices_.value[i] >> shift, 1) + (must_be_here_[i] != 0 ? priceless : 0);
            value_[i] = choices_.rows[i] * choices_.value[i];
        }
        const plan_problem filled{.buffers = parts_, .revivals = given_.buffers.revivals, .fixed = fixed_.first(fixed)};
        row_fill filling{filled, choices_, at_, workspace_};
        const std::uint64_t effort = replans ? options_.effort / (memories().size() - 1) : 0;
        summary_.effort +=
            filling.run(list, {value_, priceless}, memories()[m], effort, [this] { return is_stopped(); });
        for (const std::uint32_t i : list)  // in the rows of the remainder
            if (at_.rows[i] != 0 && must_be_here_[i] != 0) at_.rows[i] = left_rows_[i];
    }
    /// Returns the cost that a use of a byte in memory `m` saves.
    [[nodiscard]] std::uint64_t saved(std::size_t i, std::size_t m) const noexcept {
        const std::uint32_t other = now_memory_[i];
        const std::uint64_t later = allowed_[i] >> m >> 1;
        if (other == memory_place::nowhere || later == 0) return 4 * memories().back().cost + 1 - memories()[m].cost;
        return memories()[other > m ? other : m + 1 + static_cast<std::size_t>(std::countr_zero(later))].cost -
               memories()[m].cost;
    }
    /// Places the remainders in the memories after `m`. Returns false if there is no such plan.
    [[nodiscard]] bool place_remainders(std::uint32_t m) noexcept {
        for (std::size_t i = 0; i != buffers().size(); ++i) {
            parts_[i] = buffers()[i];
            parts_[i].size = left_rows_[i] * left_bytes_[i];
            const bool is_anywhere = left_rows_[i] == 0 || buffers()[i].size == 0;
            open_[i] = is_anywhere ? given_allowed(i) : given_allowed(i) & ~std::uint64_t{1} << m;
        }
        const auto made = plan_memories_into(with_parts(), places_, needs_, workspace_, with_effort(options_, 8),
                                             [this](const memories_progress&) { return is_stopped(); });
        if (!made) return false;
        summary_.effort += made->effort;
        for (std::size_t i = 0; i != buffers().size(); ++i) {
            now_memory_[i] = places_[i].memory;
            now_offset_[i] = places_[i].offset;
        }
        return true;
    }
    void keep_if_better() noexcept {
        std::uint64_t cost = 0, spilled = 0, unplaced = 0;
        for (std::size_t i = 0; i != buffers().size(); ++i) {
            const auto add = [&](std::uint32_t memory, std::uint64_t size) {
                cost += size * uses(i) * memories()[memory].cost;
                if (memory != 0) spilled += size;
            };
            if (made_.memory[i] == memory_place::nowhere) {
                ++unplaced;
                made_.offset[i] = 0;
                made_.size[i] = buffers()[i].size;
                continue;
            }
            add(made_.memory[i], made_.size[i]);
            if (made_.rest_memory[i] != memory_place::nowhere)
                add(made_.rest_memory[i], buffers()[i].size - made_.size[i]);
        }
        if (unplaced > summary_.unplaced || (unplaced == summary_.unplaced && cost >= summary_.cost)) return;
        summary_.cost = cost;
        summary_.spilled = spilled;
        summary_.unplaced = unplaced;
        std::swap(made_, best_);
    }

    memories_problem given_;
    std::span<const std::uint64_t> rows_;
    memories_options options_;
    Watch* watch_;
    std::span<memory_place> places_;
    std::span<memory_needs> needs_;
    rows_summary summary_{};
    // By buffer. A row has `bytes`.
    std::uint64_t *all_rows_ = nullptr, *all_bytes_ = nullptr;       // of the whole buffer
    std::uint64_t *left_rows_ = nullptr, *left_bytes_ = nullptr;     // not placed yet, in the plan that is being made
    std::uint64_t* allowed_ = nullptr;                               // memories that may hold one of its rows, as bits
    std::uint64_t* open_ = nullptr;                                  // memories of a derived problem
    std::uint32_t* stays_ = nullptr;                                 // 1: is never divided nor moved
    std::uint32_t *now_memory_ = nullptr, *whole_memory_ = nullptr;  // of the rows that are left; of whole buffers
    std::uint64_t *now_offset_ = nullptr, *whole_offset_ = nullptr;
    std::uint32_t *list_ = nullptr, *must_be_here_ = nullptr;  // of one memory
    std::uint64_t* value_ = nullptr;
    row_choices choices_{};
    rows_in_memory at_{};
    row_places made_{}, best_{};
    plan_array<plan_buffer> parts_{};
    plan_array<plan_fixed> fixed_{};
    plan_workspace workspace_{};
    bool stopped_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
