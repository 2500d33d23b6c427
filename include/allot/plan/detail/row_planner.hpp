// SPDX-License-Identifier: BSL-1.0
// row_planner: divides buffers among memories, one memory after the other.
//
//     plan_memories ──► rows that fit holes of memory 0 ──► … of memory 1 ──► … ──► a first plan with divided buffers
//     whole buffers ──► row_fill: memory 0 ──► plan_memories: the other rows in the other memories ──► row_fill …
//
// The rows of the first plan leave the places of the other rows as they are, so it always exists. In the second one,
// buffers move between memories, and it may fail. The better plan is kept.
//
// Complexity: see rows.hpp. Memory: on the heap. Thread safety: not synchronized.
#pragma once

#include <allot/plan/detail/crowded_steps.hpp>
#include <allot/plan/detail/merge.hpp>
#include <allot/plan/detail/row_fill.hpp>
#include <allot/plan/memories.hpp>
#include <allot/plan/rows_problem.hpp>

#include <bit>
#include <vector>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Watch>
class row_planner {
public:
    /// Precondition: the problem is valid.
    row_planner(const rows_problem& problem, const memories_options& options, Watch& watch)
        : given_{problem.memories}, rows_{problem.rows}, options_{options}, watch_{&watch} {}

    [[nodiscard]] plan_error run() {
        const bool any = find_what_divides();
        const auto whole = plan_memories(
            given_, options_, [this](const memories_progress& now) { return stopped_ = stopped_ || (*watch_)(now); });
        if (!whole) return whole.error();
        static_cast<memories_plan&>(best_) = *whole;
        best_.whole_cost = whole->cost;
        best_.whole_unplaced = whole->unplaced;
        if (!any) return {};
        best_.bound = bound(false);
        best_.which = unholdable();
        if (!is_done()) improve(*whole, false);
        if (!is_done()) improve(*whole, true);
        if (best_.unplaced == 0)
            best_.status = best_.cost <= best_.bound ? plan_status::optimal : plan_status::feasible;
        else best_.status = is_impossible() ? plan_status::infeasible : plan_status::out_of_budget;
        if (best_.status == plan_status::infeasible) best_.bound = bound(true);
        return {};
    }
    [[nodiscard]] rows_plan& best() noexcept { return best_; }

private:
    /// The rows of a buffer that are not placed yet.
    struct remainder {
        std::uint64_t rows = 0, bytes = 0;  // number of rows; of each row
    };

    [[nodiscard]] std::span<const plan_buffer> buffers() const noexcept { return given_.buffers.buffers; }
    [[nodiscard]] std::span<const plan_memory> memories() const noexcept { return given_.memories; }
    [[nodiscard]] std::uint64_t uses(std::size_t i) const noexcept { return given_.uses.empty() ? 1 : given_.uses[i]; }
    [[nodiscard]] memories_options with_effort(std::uint64_t share) const noexcept {
        memories_options made = options_;
        made.effort /= share;
        return made;
    }
    [[nodiscard]] bool is_done() { return (best_.unplaced == 0 && best_.cost <= best_.bound) || is_stopped(); }
    [[nodiscard]] bool is_stopped() {
        return stopped_ = stopped_ || (*watch_)(memories_progress{best_.cost, best_.unplaced, best_.bound});
    }

    /// Reads the buffers that may be divided. Returns whether there are any.
    [[nodiscard]] bool find_what_divides() {
        const std::size_t count = buffers().size();
        const std::uint64_t all = ~std::uint64_t{0} >> (64 - memories().size());
        stays_.assign(count, false);
        for (const plan_fixed& each : given_.buffers.fixed) stays_[each.buffer] = true;
        for (const auto pairs : {given_.buffers.together, given_.buffers.apart, given_.separate})
            for (const plan_pair& each : pairs) stays_[each.first] = stays_[each.second] = true;
        bool any = false;
        for (std::size_t i = 0; i != count; ++i) {
            const std::uint64_t rows = stays_[i] || rows_.empty() || buffers()[i].size == 0 ? 1 : rows_[i];
            all_.push_back({std::max<std::uint64_t>(rows, 1), buffers()[i].size / std::max<std::uint64_t>(rows, 1)});
            allowed_.push_back(given_.allowed.empty() ? all : given_.allowed[i] & all);
            for (std::size_t m = 0; m != memories().size(); ++m)
                if (all_[i].bytes > memories()[m].capacity) allowed_[i] &= ~bit(m);
            if (!std::has_single_bit(allowed_[i]) && allowed_[i] != 0 && rows > 1) any = true;
            else all_[i] = {1, buffers()[i].size};
        }
        return any;
    }
    [[nodiscard]] static constexpr std::uint64_t bit(std::size_t memory) noexcept { return std::uint64_t{1} << memory; }
    /// Returns the bytes of whole rows that a memory can hold of a buffer.
    [[nodiscard]] std::uint64_t most_bytes(std::size_t i, std::size_t m) const noexcept {
        return std::min(memories()[m].capacity / all_[i].bytes, all_[i].rows) * all_[i].bytes;
    }

    // ---- proofs ----------------------------------------------------------------------------------------------------

    /// Returns a lower bound on the cost of all buffers, or of the placed ones. Of a buffer that exceeds a memory, only
    /// the bytes that fit all of its memories compete for room. The others cost what the cheapest memories charge.
    [[nodiscard]] std::uint64_t bound(bool of_placed) const {
        std::vector<plan_buffer> some{buffers().begin(), buffers().end()};
        std::vector<std::uint64_t> allowed = allowed_;
        std::uint64_t more = 0;
        for (std::size_t i = 0; i != some.size(); ++i) {
            if (of_placed && best_.places[i].memory == memory_place::nowhere) some[i].size = 0;
            if (all_[i].rows == 1 || some[i].size == 0) {
                allowed[i] = given_.allowed.empty() ? ~std::uint64_t{0} : given_.allowed[i];
                continue;
            }
            std::uint64_t least = some[i].size;
            for (std::uint64_t rest = allowed[i]; rest != 0; rest &= rest - 1)
                least = std::min(least, most_bytes(i, static_cast<std::size_t>(std::countr_zero(rest))));
            const auto first = static_cast<std::size_t>(std::countr_zero(allowed[i]));
            const auto next = static_cast<std::size_t>(std::countr_zero(allowed[i] & (allowed[i] - 1)));
            const std::uint64_t in_first = most_bytes(i, first);
            more += uses(i) *
                    ((some[i].size - in_first) * memories()[next].cost + (in_first - least) * memories()[first].cost);
            some[i].size = least;
        }
        memories_problem relaxed = given_;
        relaxed.buffers.buffers = some;
        relaxed.allowed = allowed;
        return more + least_cost_of(relaxed, options_);
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
            const bool is_divisible = all_[i].rows != 1;
            if (buffers()[i].size != 0 ? most + (is_divisible ? second : 0) < buffers()[i].size : allowed_[i] == 0)
                return i;
        }
        return buffers().size();
    }
    /// Returns whether it is proved that not all buffers can have a place.
    [[nodiscard]] bool is_impossible() {
        if (best_.which != buffers().size() || is_crowded()) return true;
        std::vector<plan_buffer> others{buffers().begin(), buffers().end()};
        for (std::size_t i = 0; i != others.size(); ++i)
            if (all_[i].rows != 1) others[i].size = 0;
        memories_problem relaxed = given_;
        relaxed.buffers.buffers = others;
        const auto made = plan_memories(relaxed, with_effort(4));
        return made && made->status == plan_status::infeasible;
    }
    /// Returns whether the bytes that live at one step exceed all memories, or the one memory that they must live in,
    /// and stores that step.
    [[nodiscard]] bool is_crowded() {
        const plan_problem& given = given_.buffers;
        plan_heap heap{merge_space(given) + plan_space{.u64 = buffers().size()} + crowded_steps::space(given)};
        plan_workspace workspace = heap;
        plan_sizes sizes;
        const auto merged = merge_together(given, workspace, sizes);
        if (!merged) return false;
        std::uint64_t* const allowed = workspace.cut_u64(buffers().size());
        for (std::size_t i = 0; i != buffers().size(); ++i) allowed[i] = ~std::uint64_t{0};
        for (std::size_t i = 0; i != buffers().size(); ++i) allowed[(*merged)[i]] &= allowed_[i];
        return crowded_steps{merged->problem, sizes, memories(), allowed, workspace}.find(best_.step);
    }

    // ---- plans -----------------------------------------------------------------------------------------------------

    /// Divides buffers, and keeps the plan if it is better. `replans`: whether rows may leave their memories.
    void improve(const memories_plan& whole, bool replans) {
        const std::size_t count = buffers().size();
        left_ = all_;
        now_ = whole.places;
        std::vector<memory_place> first(count), rest(count);
        const auto add = [&](std::size_t i, memory_place part) {
            (first[i].memory == memory_place::nowhere ? first[i] : rest[i]) = part;
        };
        for (std::uint32_t m = 0; m + 1 < memories().size(); ++m) {
            const std::vector<rows_at> filled = fill(m, replans);
            for (std::size_t i = 0; i != count; ++i) {
                if (stays_[i] ? now_[i].memory != m : filled[i].rows == 0) continue;
                const std::uint64_t rows = stays_[i] ? left_[i].rows : filled[i].rows, size = rows * left_[i].bytes;
                add(i, {m, stays_[i] ? now_[i].offset : filled[i].offset, size});
                left_[i] = rows == left_[i].rows ? remainder{} : remainder{1, (left_[i].rows - rows) * left_[i].bytes};
            }
            if (replans && !place_remainders(m)) return;
        }
        for (std::size_t i = 0; i != count; ++i) {
            if (left_[i].rows == 0) continue;
            if (now_[i].memory == memory_place::nowhere) first[i] = rest[i] = {};
            else add(i, {now_[i].memory, now_[i].offset, left_[i].rows * left_[i].bytes});
        }
        keep_if_better(first, rest);
    }

    /// Returns the rows of each buffer in memory `m`: those of `now_`, and more.
    [[nodiscard]] std::vector<rows_at> fill(std::uint32_t m, bool replans) {
        const std::size_t count = buffers().size();
        std::vector<plan_buffer> parts{buffers().begin(), buffers().end()};
        std::vector<plan_fixed> fixed;
        std::vector<std::uint32_t> list;
        std::vector<row_fill::choice> choices(count);
        std::vector<rows_at> begin(count);
        std::vector<bool> must_be_here(count, false);
        std::uint64_t worth = 0;
        for (std::uint32_t i = 0; i != count; ++i) {
            parts[i].size = left_[i].rows * left_[i].bytes;
            const bool is_here = now_[i].memory == m, is_unplaced = now_[i].memory == memory_place::nowhere;
            const bool may_be_here = (allowed_[i] & bit(m)) != 0 && (replans || !is_unplaced);
            if (parts[i].size == 0 || !(stays_[i] ? is_here : is_here || may_be_here)) continue;
            const std::uint64_t later = allowed_[i] >> m >> 1;
            must_be_here[i] = stays_[i] || later == 0;
            choices[i] = {left_[i].rows, left_[i].bytes};
            if (must_be_here[i]) choices[i] = {1, parts[i].size};
            if (choices[i].bytes > memories()[m].capacity) continue;
            if (stays_[i]) fixed.push_back({i, now_[i].offset});
            if (is_here) begin[i] = {choices[i].rows, now_[i].offset};
            choices[i].value = std::max<std::uint64_t>(uses(i) * choices[i].bytes * saved(i, m), 1);
            worth += choices[i].rows * choices[i].value;
            list.push_back(i);
        }
        if (list.empty()) return begin;

        // Scales the values such that their sum fits 64 bits, with those of buffers that must be here.
        unsigned shift = 0;
        while ((worth >> shift) >= ~std::uint64_t{0} / 4 / (list.size() + 1)) ++shift;
        const std::uint64_t priceless = (worth >> shift) + ~std::uint64_t{0} / 4 / (list.size() + 1) + 1;
        std::vector<std::uint64_t> values(count);
        for (const std::uint32_t i : list) {
            choices[i].value =
                std::max<std::uint64_t>(choices[i].value >> shift, 1) + (must_be_here[i] ? priceless : 0);
            values[i] = choices[i].rows * choices[i].value;
        }
        row_fill filled{{.buffers = parts, .revivals = given_.buffers.revivals, .fixed = fixed}, choices};
        const std::uint64_t effort = replans ? options_.effort / (memories().size() - 1) : 0;
        best_.effort +=
            filled.run(list, {values.data(), priceless}, memories()[m], begin, effort, [this] { return is_stopped(); });
        std::vector<rows_at> made = filled.rows();
        for (const std::uint32_t i : list)  // in the rows of the remainder
            if (made[i].rows != 0 && must_be_here[i]) made[i].rows = left_[i].rows;
        return made;
    }
    /// Returns the cost that a use of a byte in memory `m` saves.
    [[nodiscard]] std::uint64_t saved(std::size_t i, std::size_t m) const noexcept {
        const std::uint32_t other = now_[i].memory;
        const std::uint64_t later = allowed_[i] >> m >> 1;
        if (other == memory_place::nowhere || later == 0) return 4 * memories().back().cost + 1 - memories()[m].cost;
        return memories()[other > m ? other : m + 1 + static_cast<std::size_t>(std::countr_zero(later))].cost -
               memories()[m].cost;
    }
    /// Places the remainders in the memories after `m`. Returns false if there is no such plan.
    [[nodiscard]] bool place_remainders(std::uint32_t m) {
        std::vector<plan_buffer> parts{buffers().begin(), buffers().end()};
        std::vector<std::uint64_t> allowed(parts.size());
        for (std::size_t i = 0; i != parts.size(); ++i) {
            parts[i].size = left_[i].rows * left_[i].bytes;
            const std::uint64_t any = given_.allowed.empty() ? ~std::uint64_t{0} : given_.allowed[i];
            allowed[i] = left_[i].rows == 0 || buffers()[i].size == 0 ? any : any & ~std::uint64_t{1} << m;
        }
        memories_problem problem = given_;
        problem.buffers.buffers = parts;
        problem.allowed = allowed;
        const auto made =
            plan_memories(problem, with_effort(8), [this](const memories_progress&) { return is_stopped(); });
        if (!made) return false;
        best_.effort += made->effort;
        now_ = made->places;
        return true;
    }
    void keep_if_better(const std::vector<memory_place>& first, const std::vector<memory_place>& rest) {
        rows_plan made;
        static_cast<memories_summary&>(made) = best_;
        made.whole_cost = best_.whole_cost;
        made.whole_unplaced = best_.whole_unplaced;
        made.cost = made.spilled = made.unplaced = 0;
        made.places = first;
        made.needs.resize(memories().size());
        const auto add = [&](std::size_t i, const memory_place& part) {
            made.cost += part.size * uses(i) * memories()[part.memory].cost;
            if (part.memory != 0) made.spilled += part.size;
            memory_needs& need = made.needs[part.memory];
            if (part.size != 0) need.peak = std::max(need.peak, part.offset + part.size);
            need.align = std::max({need.align, buffers()[i].align, memories()[part.memory].align});
        };
        for (std::size_t i = 0; i != buffers().size(); ++i) {
            if (first[i].memory == memory_place::nowhere) {
                ++made.unplaced;
                made.places[i].size = buffers()[i].size;
                continue;
            }
            add(i, first[i]);
            if (rest[i].memory == memory_place::nowhere) continue;
            add(i, rest[i]);
            made.splits.push_back({i, first[i].size / all_[i].bytes, rest[i]});
        }
        if (made.unplaced < best_.unplaced || (made.unplaced == best_.unplaced && made.cost < best_.cost))
            best_ = std::move(made);
    }

    memories_problem given_;
    std::span<const std::uint64_t> rows_;
    memories_options options_;
    Watch* watch_;
    std::vector<remainder> all_, left_;   // by buffer: of the whole buffer; of the plan that is being made
    std::vector<std::uint64_t> allowed_;  // by buffer: the memories that may hold one of its rows, as bits
    std::vector<bool> stays_;             // by buffer: whether it is never divided nor moved
    std::vector<memory_place> now_;       // by buffer: place of the remainder
    rows_plan best_;
    bool stopped_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
