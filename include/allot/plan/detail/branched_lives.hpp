// SPDX-License-Identifier: BSL-1.0
// branched_lives: when the tensors of a program with branches and loops are live.
//
//     step s     2s: before it writes          a tensor that it reads
//                2s + 1: after it has written  a tensor that it writes, or that a later step reads
//
// Complexity: `overlap` and `take_turns` are linear in the lifetimes of two tensors, and in the steps at which both are
// live. Not synchronized.
#pragma once

#include <allot/plan/control_flow.hpp>
#include <allot/plan/graph.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace allot {
inline namespace v1 {
namespace detail {

class branched_lives {
public:
    using next_steps = std::span<const std::span<const std::uint32_t>>;

    branched_lives(const operator_graph& graph, next_steps next) : graph_{graph} {
        std::vector<std::uint32_t> inputs, outputs;
        for (std::uint32_t i = 0; i != graph.tensors.size(); ++i) {
            if (graph.tensors[i].is_input) inputs.push_back(i);
            if (graph.tensors[i].is_output) outputs.push_back(i);
        }
        std::vector<flow_step> steps, halves;
        std::vector<std::vector<std::uint32_t>> doubled(graph.operators.size());
        for (std::size_t i = 0; i != graph.operators.size(); ++i) {
            const graph_operator& each = graph.operators[i];
            for (const std::uint32_t after : next[i]) doubled[i].push_back(2 * after);
            steps.push_back({each.reads, each.writes, next[i]});
            halves.push_back({.reads = each.reads});
            halves.push_back({.writes = each.writes, .next = doubled[i]});
        }
        lives_ = sorted(find_lifetimes({graph.tensors.size(), inputs, outputs, steps}));
        halves_ = sorted(find_lifetimes({graph.tensors.size(), inputs, outputs, halves}));
    }

    /// Returns the first step at which a tensor is live, and the step after the last one.
    [[nodiscard]] lifetime hull(std::uint32_t tensor) const noexcept {
        return {lives_[tensor].front().from, lives_[tensor].back().until};
    }
    /// Returns the lifetimes of a tensor, in the order of the steps.
    [[nodiscard]] std::span<const lifetime> lives(std::uint32_t tensor) const noexcept { return lives_[tensor]; }
    [[nodiscard]] bool overlap(std::uint32_t a, std::uint32_t b) const noexcept {
        return !each_common(a, b, [](lifetime) { return false; });
    }
    /// Returns whether two tensors are live together only at operators that read one last and write the other one.
    /// `may_take(in, out)` states whether `out` may have the bytes of `in` if its operator reads that one.
    template <class MayTake>
    [[nodiscard]] bool take_turns(std::uint32_t a, std::uint32_t b, MayTake may_take) const {
        const bool may_b = may_take(a, b), may_a = may_take(b, a);
        if (!may_a && !may_b) return false;
        return each_common(a, b, [&](lifetime common) {
            for (std::int64_t now = common.from; now != common.until; ++now)
                if (!(may_b && takes(a, b, now)) && !(may_a && takes(b, a, now))) return false;
            return true;
        });
    }
    /// Returns whether a tensor is live at a step.
    [[nodiscard]] bool is_live(std::uint32_t tensor, std::int64_t step) const noexcept {
        return contains(lives_[tensor], step);
    }
    /// Calls `visit(step)` for each step at which a tensor is live.
    template <class Visit>
    void each_step(std::uint32_t tensor, Visit visit) const {
        for (const lifetime live : lives_[tensor])
            for (std::int64_t now = live.from; now != live.until; ++now) visit(now);
    }

private:
    using lifetimes = std::vector<lifetime>;

    /// Returns whether an operator reads `in` for the last time, and writes `out`.
    [[nodiscard]] bool takes(std::uint32_t in, std::uint32_t out, std::int64_t now) const noexcept {
        const graph_operator& each = graph_.operators[static_cast<std::size_t>(now)];
        return std::ranges::count(each.reads, in) != 0 && std::ranges::count(each.writes, out) != 0 &&
               !contains(halves_[in], 2 * now + 1) && !contains(halves_[out], 2 * now);
    }
    [[nodiscard]] static std::vector<lifetimes> sorted(const flow_lifetimes& found) {
        std::vector<lifetimes> made;
        for (const lifetime live : found.first) made.push_back({live});
        for (const plan_revival& each : found.revivals) made[each.buffer].push_back(each.live);
        return made;
    }
    [[nodiscard]] static bool contains(const lifetimes& lives, std::int64_t step) noexcept {
        const auto after = std::ranges::upper_bound(lives, step, {}, &lifetime::from);
        return after != lives.begin() && step < std::prev(after)->until;
    }
    /// Calls `visit` for each range of steps at which both tensors are live, until it returns false. Returns whether
    /// all calls returned true.
    template <class Visit>
    [[nodiscard]] bool each_common(std::uint32_t a, std::uint32_t b, Visit visit) const {
        for (std::size_t i = 0, j = 0; i != lives_[a].size() && j != lives_[b].size();) {
            const lifetime of_a = lives_[a][i], of_b = lives_[b][j];
            const lifetime common{std::max(of_a.from, of_b.from), std::min(of_a.until, of_b.until)};
            if (common.from < common.until && !visit(common)) return false;
            if (of_a.until <= of_b.until) ++i;
            else ++j;
        }
        return true;
    }

    operator_graph graph_;
    std::vector<lifetimes> lives_;   // by tensor, in steps
    std::vector<lifetimes> halves_;  // by tensor, in halves of steps
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
