// SPDX-License-Identifier: BSL-1.0
// ordered_lives: when the tensors of a graph are live, if its operators run in one order.
//
// Complexity: constant for a tensor. Not synchronized.
#pragma once

#include <allot/plan/graph.hpp>
#include <allot/plan/problem.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace allot {
inline namespace v1 {
namespace detail {

class ordered_lives {
public:
    ordered_lives(const operator_graph& graph, std::span<const std::uint32_t> order)
        : graph_{graph}, live_(graph.tensors.size()) {
        const auto end = static_cast<std::int64_t>(std::max<std::size_t>(graph.operators.size(), 1));
        for (std::size_t i = 0; i != live_.size(); ++i) live_[i] = {0, graph.tensors[i].is_input ? 1 : 0};
        for (std::int64_t now = 0; const std::uint32_t each : order) {
            for (const std::uint32_t tensor : graph.operators[each].writes) live_[tensor] = {now, now + 1};
            for (const std::uint32_t tensor : graph.operators[each].reads) live_[tensor].until = now + 1;
            ++now;
        }
        for (std::size_t i = 0; i != live_.size(); ++i)
            if (graph.tensors[i].is_output) live_[i].until = end;
    }

    /// Returns the first position at which a tensor is live, and the position after the last one.
    [[nodiscard]] lifetime hull(std::uint32_t tensor) const noexcept { return live_[tensor]; }
    [[nodiscard]] bool overlap(std::uint32_t a, std::uint32_t b) const noexcept { return live_[a].overlaps(live_[b]); }
    /// Returns whether two tensors are live together only at an operator that reads one last and writes the other one.
    /// `may_take(in, out)` states whether `out` may have the bytes of `in`, which its operator reads.
    template <class MayTake>
    [[nodiscard]] bool take_turns(std::uint32_t a, std::uint32_t b, MayTake may_take) const {
        const auto takes = [&](std::uint32_t in, std::uint32_t out) {
            return !graph_.tensors[in].is_output && live_[in].until == live_[out].from + 1 && may_take(in, out);
        };
        return takes(a, b) || takes(b, a);
    }
    /// Calls `visit(position)` for each position at which a tensor is live.
    template <class Visit>
    void each_step(std::uint32_t tensor, Visit visit) const {
        for (std::int64_t now = live_[tensor].from; now != live_[tensor].until; ++now) visit(now);
    }

private:
    operator_graph graph_;
    std::vector<lifetime> live_;  // by tensor
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
