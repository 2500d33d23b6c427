// SPDX-License-Identifier: BSL-1.0
// remaining_problem: the part of a planning problem from one step on. Buffers that live at that step are fixed.
#pragma once

#include <allot/plan/planned.hpp>
#include <allot/plan/problem.hpp>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace allot {
inline namespace v1 {
namespace detail {

/// A template, so that only programs that call `replan_at` compile it.
template <class Problem>
class remaining_problem {
public:
    /// Precondition: there are as many steps before `step` as buffers.
    remaining_problem(const Problem& all, std::span<const plan_place> before, std::int64_t step)
        : all_{all}, step_{step}, past_{step}, states_(all.buffers.size()), numbers_(all.buffers.size(), none) {
        for (std::size_t i = 0; i != states_.size(); ++i) note(i, all.buffers[i].live);
        for (const plan_revival& each : all.revivals) note(each.buffer, each.live);
        for (const std::span<const plan_pair> pairs : {all.together, all.apart})
            for (const plan_pair& each : pairs)
                if (is_later(each.first) != is_later(each.second))
                    keep_past(is_later(each.first) ? each.second : each.first);
        for (std::size_t i = 0; i != states_.size(); ++i)
            if (is_later(i) || states_[i].is_kept) add(i, before[i]);
        for (std::size_t i = 0; i != states_.size(); ++i) add_lifetime(i, all.buffers[i].live);
        for (const plan_revival& each : all.revivals) add_lifetime(each.buffer, each.live);
        for (const plan_fixed& each : all.fixed)
            if (is_later(each.buffer) && !is_living(each.buffer))
                fixed_.push_back({numbers_[each.buffer], each.offset});
        add_pairs(all.together, together_);
        add_pairs(all.apart, apart_);
    }

    /// Returns the problem, which views this object.
    [[nodiscard]] Problem problem() const noexcept {
        return {buffers_, revivals_, fixed_, together_, apart_, all_.reserved};
    }
    /// Returns whether the buffer began before the step and lives at the step or later. It keeps its place.
    [[nodiscard]] bool is_living(std::size_t buffer) const noexcept {
        return states_[buffer].has_begun && states_[buffer].is_later;
    }
    /// Returns whether the buffer lives at the step or later.
    [[nodiscard]] bool is_later(std::size_t buffer) const noexcept { return states_[buffer].is_later; }
    /// Returns the number of a buffer in `problem`. Precondition: `is_later(buffer)`.
    [[nodiscard]] std::size_t operator[](std::size_t buffer) const noexcept { return numbers_[buffer]; }
    /// Returns whether `problem` has buffers that live no more, because later ones are together with them or apart.
    [[nodiscard]] bool has_past() const noexcept { return has_past_; }

private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    struct state {
        bool has_begun = false, is_later = false, is_kept = false, has_lifetime = false;
    };

    void note(std::size_t buffer, lifetime live) noexcept {
        states_[buffer].has_begun = states_[buffer].has_begun || live.from < step_;
        states_[buffer].is_later = states_[buffer].is_later || step_ < live.until;
    }
    void keep_past(std::size_t buffer) noexcept { has_past_ = states_[buffer].is_kept = true; }
    void add(std::size_t buffer, const plan_place& before) {
        numbers_[buffer] = buffers_.size();
        buffers_.push_back(all_.buffers[buffer]);
        if (is_later(buffer) && !is_living(buffer)) return;
        fixed_.push_back({numbers_[buffer], before.offset});
        buffers_.back().size = before.size;
        if (is_later(buffer)) return;
        --past_;  // buffers that have ended may share bytes: each has a step of its own
        buffers_.back().live = {past_, past_ + 1};
    }
    void add_lifetime(std::size_t buffer, lifetime live) {
        if (live.until <= step_) return;
        live.from = std::max(live.from, step_);
        if (!std::exchange(states_[buffer].has_lifetime, true)) buffers_[numbers_[buffer]].live = live;
        else revivals_.push_back({numbers_[buffer], live});
    }
    void add_pairs(std::span<const plan_pair> from, std::vector<plan_pair>& to) {
        for (const plan_pair& each : from)
            if (numbers_[each.first] != none && numbers_[each.second] != none)
                to.push_back({numbers_[each.first], numbers_[each.second]});
    }

    Problem all_;
    std::int64_t step_, past_;
    std::vector<state> states_;
    std::vector<std::size_t> numbers_;
    std::vector<plan_buffer> buffers_;
    std::vector<plan_revival> revivals_;
    std::vector<plan_fixed> fixed_;
    std::vector<plan_pair> together_, apart_;
    bool has_past_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
