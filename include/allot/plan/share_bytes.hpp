// SPDX-License-Identifier: BSL-1.0
// share_bytes: selects the aliases of a graph that save memory, and makes a planning problem of them.
//
//     const allot::graph_sharing shared = allot::share_bytes(graph, order);     // operators in the given order
//     const auto made = allot::plan(shared.problem());
//     made->places[i].offset + shared.shift[i];                                 // the offset of tensor i
//
//     Concat of a, b to c             bytes                        The tensors of a group are at fixed distances. The
//       without views                   ▲  ┌────┬──────┐           planner sees buffers that share an offset: a with
//       a + b + c at this step          │  │ b  │      │           size(a), b with size(a) + size(b), and c. Below b,
//       with views                      ├──┴─┬──┤  c   │           bytes of a are already in use.
//       c                               │ a  │  │      │
//                                       └────┴──┴──────┴──► time
//
// An alias is taken if no tensor loses bytes that a later operator reads, and if it lowers the live bytes of the steps
// that it concerns, or their sum without raising their maximum. The aliases are tried in the given order. An alias
// whose offset is not a multiple of the part's alignment is not taken.
//
// The group of a tensor has one offset, which can make the plan harder. If the plan is above its bound, compare it with
// a plan of the graph without aliases.
//
// When to use: before `plan`, for operators that can work in place, and for reshaping, splitting and concatenation.
// When not to use: for views with strides, such as a concatenation of columns: their bytes are not consecutive.
//
// Complexity: for each alias, the steps of its tensors, and the product of the sizes of the two groups.
// Memory: about 100 bytes a tensor on the heap.
// Thread safety: the function has no state.
#pragma once

#include <allot/plan/detail/graph_contents.hpp>
#include <allot/plan/graph.hpp>
#include <allot/plan/problem.hpp>

namespace allot {
inline namespace v1 {

/// Buffers for the tensors of a graph, and the aliases that they use. Result of `share_bytes`.
struct graph_sharing {
    std::vector<plan_buffer> buffers;    ///< Buffer of each tensor. It begins `shift` bytes before the tensor.
    std::vector<plan_pair> together;     ///< Buffers of one group, which share an offset.
    std::vector<std::uint64_t> shift;    ///< Offset of each tensor in its buffer.
    std::vector<std::uint32_t> aliases;  ///< Indices of the aliases that are taken.

    /// Returns the problem to plan. It views this object.
    [[nodiscard]] plan_problem problem() const noexcept { return {.buffers = buffers, .together = together}; }
};

namespace detail {

/// Implementation of `share_bytes`.
class byte_sharer {
public:
    byte_sharer(const operator_graph& graph, std::span<const std::uint32_t> order)
        : graph_{graph},
          contents_{graph},
          live_(graph.tensors.size()),
          load_(graph.operators.size() + 1),
          overwritten_(graph.tensors.size()) {
        const std::size_t count = graph.tensors.size();
        const auto end = static_cast<std::int64_t>(std::max<std::size_t>(graph.operators.size(), 1));
        for (std::size_t i = 0; i != count; ++i) live_[i] = {0, graph.tensors[i].is_input ? 1 : 0};
        for (std::int64_t now = 0; const std::uint32_t each : order) {
            for (const std::uint32_t tensor : graph.operators[each].writes) live_[tensor] = {now, now + 1};
            for (const std::uint32_t tensor : graph.operators[each].reads) live_[tensor].until = now + 1;
            ++now;
        }
        for (const graph_alias& alias : graph.aliases)
            if (alias.kind == alias_kind::overwrite) overwritten_[alias.part].push_back(alias.whole);
        groups_.resize(count);
        group_of_.resize(count);
        position_.resize(count);
        for (std::uint32_t i = 0; i != count; ++i) {
            if (graph.tensors[i].is_output) live_[i].until = end;
            group_of_[i] = i;
            groups_[i] = {i};
            for (std::int64_t now = live_[i].from; now != live_[i].until; ++now)
                load_[at(now)] += graph.tensors[i].size;
        }
    }

    [[nodiscard]] graph_sharing run() {
        graph_sharing made;
        for (std::uint32_t i = 0; i != graph_.aliases.size(); ++i)
            if (join(graph_.aliases[i])) made.aliases.push_back(i);
        for (std::size_t i = 0; i != graph_.tensors.size(); ++i) {
            const std::uint64_t size = graph_.tensors[i].size;
            made.shift.push_back(position_[i]);
            made.buffers.push_back({.size = position_[i] + size, .live = live_[i], .align = graph_.tensors[i].align});
            if (groups_[group_of_[i]][0] != i) made.together.push_back({groups_[group_of_[i]][0], i});
        }
        return made;
    }

private:
    [[nodiscard]] static std::size_t at(std::int64_t step) noexcept { return static_cast<std::size_t>(step); }

    /// Takes an alias if it is valid and useful.
    [[nodiscard]] bool join(const graph_alias& alias) {
        const std::uint32_t a = group_of_[alias.whole], b = group_of_[alias.part];
        if (a == b) return position_[alias.part] == position_[alias.whole] + alias.offset;
        // Positions of group b move up by `up`, or those of group a by `down`.
        const std::uint64_t wanted = position_[alias.whole] + alias.offset, has = position_[alias.part];
        const std::uint64_t up = wanted > has ? wanted - has : 0, down = has > wanted ? has - wanted : 0;
        if (!is_aligned(groups_[a], down) || !is_aligned(groups_[b], up)) return false;
        for (const std::uint32_t first : groups_[a])
            for (const std::uint32_t second : groups_[b])
                if (!may_share(first, position_[first] + down, second, position_[second] + up)) return false;
        if (!lowers_load(a, down, b, up)) return false;
        for (const std::uint32_t each : groups_[a]) position_[each] += down;
        for (const std::uint32_t each : groups_[b]) {
            position_[each] += up;
            group_of_[each] = a;
            groups_[a].push_back(each);
        }
        groups_[b].clear();
        return true;
    }
    [[nodiscard]] bool is_aligned(const std::vector<std::uint32_t>& group, std::uint64_t distance) const noexcept {
        for (const std::uint32_t each : group)
            if (distance % graph_.tensors[each].align != 0) return false;
        return true;
    }
    /// Returns whether two tensors may be at these positions.
    [[nodiscard]] bool may_share(std::uint32_t a, std::uint64_t at_a, std::uint32_t b, std::uint64_t at_b) const {
        const std::uint64_t end_a = at_a + graph_.tensors[a].size, end_b = at_b + graph_.tensors[b].size;
        const std::uint64_t begin = std::max(at_a, at_b), end = std::min(end_a, end_b);
        if (begin >= end || !live_[a].overlaps(live_[b])) return true;
        if (contents_.are_equal(a, begin - at_a, b, begin - at_b, end - begin)) return true;
        return at_a == at_b && (overwrites(a, b) || overwrites(b, a));
    }
    /// Returns whether `out` takes the bytes of `in` at the only step at which both are live.
    [[nodiscard]] bool overwrites(std::uint32_t in, std::uint32_t out) const noexcept {
        if (graph_.tensors[in].is_output || live_[in].until != live_[out].from + 1) return false;
        return std::ranges::count(overwritten_[out], in) != 0;
    }

    /// Adds the highest byte of a group's live tensors at each step to `heights_`.
    void measure(const std::vector<std::uint32_t>& group, std::uint64_t distance) {
        for (const std::uint32_t each : group)
            for (std::int64_t now = live_[each].from; now != live_[each].until; ++now) {
                std::uint64_t& height = heights_[at(now - from_)];
                height = std::max(height, position_[each] + distance + graph_.tensors[each].size);
            }
    }
    /// Returns whether a group of both lowers the most live bytes of its steps, or their sum, and updates the load.
    [[nodiscard]] bool lowers_load(std::uint32_t a, std::uint64_t down, std::uint32_t b, std::uint64_t up) {
        from_ = live_[groups_[a][0]].from;
        std::int64_t until = from_;
        for (const std::uint32_t group : {a, b})
            for (const std::uint32_t each : groups_[group]) {
                from_ = std::min(from_, live_[each].from);
                until = std::max(until, live_[each].until);
            }
        const std::size_t steps = at(until - from_);
        heights_.assign(steps, 0);
        measure(groups_[a], 0);
        before_ = heights_;
        heights_.assign(steps, 0);
        measure(groups_[b], 0);
        for (std::size_t i = 0; i != steps; ++i) before_[i] += heights_[i];
        heights_.assign(steps, 0);
        measure(groups_[a], down);
        measure(groups_[b], up);
        std::uint64_t most = 0, most_before = 0, saved = 0, lost = 0;
        for (std::size_t i = 0; i != steps; ++i) {
            const std::uint64_t load = load_[at(from_) + i];
            most_before = std::max(most_before, load);
            most = std::max(most, load - before_[i] + heights_[i]);
            (heights_[i] > before_[i] ? lost : saved) +=
                heights_[i] > before_[i] ? heights_[i] - before_[i] : before_[i] - heights_[i];
        }
        if (most > most_before || (most == most_before && lost > saved)) return false;
        for (std::size_t i = 0; i != steps; ++i) load_[at(from_) + i] += heights_[i] - before_[i];
        return true;
    }

    operator_graph graph_;
    graph_contents contents_;
    std::vector<lifetime> live_;                           // by tensor: positions in the order
    std::vector<std::uint64_t> load_;                      // by step: live bytes
    std::vector<std::vector<std::uint32_t>> overwritten_;  // by output: the inputs whose bytes it may take
    std::vector<std::vector<std::uint32_t>> groups_;       // tensors at fixed distances; empty if merged into another
    std::vector<std::uint32_t> group_of_;                  // by tensor
    std::vector<std::uint64_t> position_;                  // by tensor: offset in its group
    std::vector<std::uint64_t> heights_, before_;          // by step from `from_` on
    std::int64_t from_ = 0;
};

}  // namespace detail

/// Returns the buffers of a graph whose operators run in `order`, the indices of all operators.
///
/// Precondition: `check_graph` accepts the graph, and each operator follows those that write its inputs. Throws the
/// exceptions of the heap.
[[nodiscard]] inline graph_sharing share_bytes(const operator_graph& graph, std::span<const std::uint32_t> order) {
    return detail::byte_sharer{graph, order}.run();
}

}  // namespace v1
}  // namespace allot
