// SPDX-License-Identifier: BSL-1.0
// remaining_problem: the part of a planning problem from one step on. Buffers that live at that step are fixed, and so
// are later buffers that are together with one that has ended. Buffers that have ended are left out, or added where
// later ones are apart from them.
#pragma once

#include <allot/plan/detail/together_groups.hpp>
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
    remaining_problem(const Problem& all, std::span<const plan_place> before, std::int64_t step, bool with_past)
        : all_{all},
          before_{before},
          step_{step},
          past_{step},
          states_(all.buffers.size()),
          numbers_(all.buffers.size(), none) {
        for (std::size_t i = 0; i != states_.size(); ++i) note(i, all.buffers[i].live);
        for (const plan_revival& each : all.revivals) note(each.buffer, each.live);
        for (const plan_pair& each : all.apart)
            if (with_past && is_later(each.first) != is_later(each.second))
                states_[is_later(each.first) ? each.second : each.first].is_kept = true;
        for (std::size_t i = 0; i != states_.size(); ++i)
            if (is_later(i) || states_[i].is_kept) add(i);
        for (std::size_t i = 0; i != states_.size(); ++i) add_lifetime(i, all.buffers[i].live);
        for (const plan_revival& each : all.revivals) add_lifetime(each.buffer, each.live);
        for (const plan_fixed& each : all.fixed)
            if (is_later(each.buffer) && !is_living(each.buffer))
                fixed_.push_back({numbers_[each.buffer], each.offset});
        for (const plan_pair& each : all.together)
            if (is_later(each.first) != is_later(each.second))
                fixed_.push_back(is_later(each.first) ? plan_fixed{numbers_[each.first], before[each.second].offset}
                                                      : plan_fixed{numbers_[each.second], before[each.first].offset});
        add_together(all.together);
        for (const plan_pair& each : all.apart)
            if (numbers_[each.first] != none && numbers_[each.second] != none)
                apart_.push_back({numbers_[each.first], numbers_[each.second]});
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
    /// Returns the buffer with a number in `problem`, or the number without such a buffer.
    [[nodiscard]] std::size_t buffer_of(std::size_t number) const noexcept {
        const auto at = std::find(numbers_.begin(), numbers_.end(), number);
        return at == numbers_.end() ? number : static_cast<std::size_t>(at - numbers_.begin());
    }
    /// Returns whether these places of `problem` are apart from the buffers that have ended.
    [[nodiscard]] bool are_apart_from_past(std::span<const plan_place> places) const noexcept {
        return std::all_of(all_.apart.begin(), all_.apart.end(), [&](const plan_pair& each) {
            if (is_later(each.first) == is_later(each.second)) return true;
            const auto& [later, ended] = is_later(each.first) ? each : plan_pair{each.second, each.first};
            const plan_place& a = places[numbers_[later]];
            const plan_place& b = before_[ended];
            return a.size == 0 || b.size == 0 || a.offset >= b.offset + b.size || b.offset >= a.offset + a.size;
        });
    }

private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    struct state {
        bool has_begun = false, is_later = false, is_kept = false, has_lifetime = false;
    };

    void note(std::size_t buffer, lifetime live) noexcept {
        states_[buffer].has_begun = states_[buffer].has_begun || live.from < step_;
        states_[buffer].is_later = states_[buffer].is_later || step_ < live.until;
    }
    void add(std::size_t buffer) {
        numbers_[buffer] = buffers_.size();
        buffers_.push_back(all_.buffers[buffer]);
        if (is_later(buffer) && !is_living(buffer)) return;
        fixed_.push_back({numbers_[buffer], before_[buffer].offset});
        buffers_.back().size = before_[buffer].size;
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
    /// Chains the buffers of each group, because a buffer that is left out may be the only link between two others.
    void add_together(std::span<const plan_pair> pairs) {
        if (pairs.empty()) return;
        std::vector<std::uint32_t> group(states_.size());
        std::vector<std::size_t> last(states_.size(), none);
        find_groups_together(group, pairs);
        for (std::size_t i = 0; i != states_.size(); ++i) {
            if (numbers_[i] == none) continue;
            std::size_t& previous = last[group[i]];
            if (previous != none) together_.push_back({previous, numbers_[i]});
            previous = numbers_[i];
        }
    }

    Problem all_;
    std::span<const plan_place> before_;
    std::int64_t step_, past_;
    std::vector<state> states_;
    std::vector<std::size_t> numbers_;
    std::vector<plan_buffer> buffers_;
    std::vector<plan_revival> revivals_;
    std::vector<plan_fixed> fixed_;
    std::vector<plan_pair> together_, apart_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
