// SPDX-License-Identifier: BSL-1.0
// share_branches: `share_bytes` for a program with branches and loops.
//
//     // If: operator 0 continues with operator 1 or 2, and both with operator 3.
//     const std::uint32_t either[] = {1, 2}, last[] = {3};
//     const std::span<const std::uint32_t> next[] = {either, last, {}, {}};
//     const allot::graph_sharing shared = allot::share_branches(graph, next);
//     const auto made = allot::plan(shared.problem());
//     made->places[i].offset + shared.shift[i];                              // the offset of tensor i
//
//     Then   y = Relu(x)    y overwrites x, also if the other branch    Loop   v = Relu(u)    v overwrites u, and the
//     Else   y = Neg(x)     reads x: only one of them runs              next iteration reads v
//
// Several operators may write a tensor: each branch of an `If` writes its result, and a loop writes its variables. An
// alias is a permission for all operators that read its one tensor and write the other one.
//
// An output overwrites an input if both are live together only at operators that have this permission, and no path
// leads from there to a read of the input. A view shares bytes with its tensor if one operator writes the view, and no
// operator writes the bytes of the tensor while the view is live. Otherwise a view of all bytes may still overwrite its
// tensor. Tensors that several operators write are consecutive.
//
// When to use: before `plan`, for the operators of a program with `If`, `Loop` and `Scan`.
// When not to use: the operators run one after the other. Use `share_bytes`, which also makes views of a tensor that is
// overwritten later.
//
// Complexity: that of `share_bytes`, times the lifetimes of a tensor; and the views of views.
// Memory: that of `share_bytes`, and about 100 bytes for each lifetime and operator, on the heap.
// Thread safety: the function has no state.
#pragma once

#include <allot/plan/detail/branched_lives.hpp>
#include <allot/plan/share_bytes.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace detail {

/// The aliases of a program that hold on each path.
class branched_aliases {
public:
    branched_aliases(const operator_graph& graph, const branched_lives& lives)
        : graph_{graph},
          lives_{lives},
          tensors_(graph.tensors.begin(), graph.tensors.end()),
          writers_(graph.tensors.size()),
          sources_(graph.tensors.size()) {
        for (std::uint32_t now = 0; now != graph.operators.size(); ++now)
            for (const std::uint32_t tensor : graph.operators[now].writes) writers_[tensor].push_back(now);
        for (std::size_t i = 0; i != tensors_.size(); ++i)
            if (!is_written_once(i)) tensors_[i].is_output = true;  // its bytes are consecutive
        std::vector<std::vector<std::uint32_t>> views(graph.operators.size());
        for (std::uint32_t i = 0; i != graph.aliases.size(); ++i) {
            const graph_alias& each = graph.aliases[i];
            if (each.kind == alias_kind::overwrite) add(each, i);
            else if (const auto by = only_writer(each); by != by_caller) views[by].push_back(i);
            else overwrite(i);
        }
        std::vector<bool> written(tensors_.size());
        for (std::size_t i = 0; i != tensors_.size(); ++i) written[i] = tensors_[i].is_input;
        for (std::uint32_t now = 0; now != graph.operators.size(); ++now) {
            for (const std::uint32_t i : views[now]) {
                const auto [from, to] = ends(graph.aliases[i], now);
                if (written[from] && keeps(from, to)) view(i, from, to);
                else overwrite(i);
            }
            for (const std::uint32_t tensor : graph.operators[now].writes) written[tensor] = true;
        }
        // `share` tries the aliases in their order.
        std::vector<std::size_t> order(given_.size());
        for (std::size_t i = 0; i != order.size(); ++i) order[i] = i;
        std::ranges::sort(order, {}, [&](std::size_t i) { return given_[i]; });
        std::vector<graph_alias> aliases;
        std::vector<std::uint32_t> given;
        for (const std::size_t i : order) aliases.push_back(aliases_[i]), given.push_back(given_[i]);
        aliases_ = std::move(aliases);
        given_ = std::move(given);
    }

    /// Returns the graph with these aliases. It is a view of this object.
    [[nodiscard]] operator_graph graph() const noexcept { return {tensors_, graph_.operators, aliases_}; }
    /// Returns the index of the alias of the program that an alias of `graph` is.
    [[nodiscard]] std::uint32_t given(std::uint32_t alias) const noexcept { return given_[alias]; }

private:
    /// Tensors of a view: the operator reads `from` and writes `to`.
    struct view_ends {
        std::uint32_t from = 0, to = 0;
    };

    [[nodiscard]] bool is_written_once(std::size_t tensor) const noexcept {
        return writers_[tensor].size() + (graph_.tensors[tensor].is_input ? 1 : 0) == 1;
    }
    /// Returns whether an operator that writes `to` reads `from`.
    [[nodiscard]] bool leads(std::uint32_t from, std::uint32_t to) const noexcept {
        return std::ranges::any_of(writers_[to], [&](std::uint32_t by) { return reads(graph_, by, from); });
    }
    [[nodiscard]] view_ends ends(const graph_alias& alias, std::uint32_t by) const noexcept {
        return reads(graph_, by, alias.whole) ? view_ends{alias.whole, alias.part} : view_ends{alias.part, alias.whole};
    }
    /// Returns the only operator that makes a view, or `by_caller`.
    [[nodiscard]] std::uint32_t only_writer(const graph_alias& alias) const noexcept {
        const bool is_part = leads(alias.whole, alias.part);
        const std::uint32_t made = is_part ? alias.part : alias.whole;
        if (is_part == leads(alias.part, alias.whole) || !is_written_once(made)) return by_caller;
        return writers_[made][0];
    }
    /// Returns whether no operator writes bytes of `from`, or of a tensor that it views, while `to` is live.
    [[nodiscard]] bool keeps(std::uint32_t from, std::uint32_t to) const noexcept {
        const auto keeps_one = [&](std::uint32_t source) {
            return std::ranges::none_of(writers_[source], [&](std::uint32_t by) { return lives_.is_live(to, by); });
        };
        return keeps_one(from) && std::ranges::all_of(sources_[from], keeps_one);
    }
    void add(const graph_alias& alias, std::uint32_t index) {
        aliases_.push_back(alias);
        given_.push_back(index);
    }
    void view(std::uint32_t index, std::uint32_t from, std::uint32_t to) {
        add(graph_.aliases[index], index);
        std::vector<std::uint32_t>& all = sources_[to];
        all.push_back(from);
        all.insert(all.end(), sources_[from].begin(), sources_[from].end());
        std::ranges::sort(all);
        all.erase(std::unique(all.begin(), all.end()), all.end());
    }
    /// A copy of all bytes may be at the place of its source.
    void overwrite(std::uint32_t index) {
        const auto& [whole, part, offset, kind, rows] = graph_.aliases[index];
        if (rows.size != 0 || graph_.tensors[whole].size != graph_.tensors[part].size) return;
        const bool is_part = leads(whole, part);
        if (is_part != leads(part, whole))
            add({is_part ? whole : part, is_part ? part : whole, 0, alias_kind::overwrite}, index);
    }

    operator_graph graph_;
    const branched_lives& lives_;
    std::vector<graph_tensor> tensors_;
    std::vector<std::vector<std::uint32_t>> writers_;  // by tensor
    std::vector<std::vector<std::uint32_t>> sources_;  // by tensor: those whose bytes it has
    std::vector<graph_alias> aliases_;
    std::vector<std::uint32_t> given_;  // by alias
};

}  // namespace detail

/// Returns the buffers of a program. `next[i]` lists the operators that can follow operator `i`, as in `flow_step`: the
/// number of operators is the end, and no operators mean the one after it.
///
/// Precondition: `find_lifetimes` accepts the program, and the aliases are inside their tensors. Throws the exceptions
/// of the heap.
[[nodiscard]] inline graph_sharing share_branches(const operator_graph& graph,
                                                  std::span<const std::span<const std::uint32_t>> next) {
    const detail::branched_lives lives{graph, next};
    const detail::branched_aliases valid{graph, lives};
    graph_sharing made = detail::share(valid.graph(), lives);
    for (std::uint32_t& each : made.aliases) each = valid.given(each);
    for (std::uint32_t i = 0; i != graph.tensors.size(); ++i) {
        made.buffers[i].live = lives.lives(i)[0];
        for (const lifetime live : lives.lives(i).subspan(1)) made.revivals.push_back({i, live});
    }
    return made;
}

}  // namespace v1
}  // namespace allot
