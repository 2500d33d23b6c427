// SPDX-License-Identifier: BSL-1.0
// validate_branches: `validate_graph` for a program with branches and loops: on every path, each operator reads what it
// expects, at the offsets of a plan.
//
//     const auto found = allot::validate_branches(graph, next, offsets, capacity);
//     if (found.kind != allot::graph_violation_kind::none) report(found.what(), found.first, found.second);
//
//     tensors and memory are cut into pieces     x │ x0 │ x1 │    y │ y0 │ y1 │    memory │ m0 │ m1 │ m2 │
//     before each operator, classes of pieces    {x0, y0, m0} {x1, m1} {y1} {m2}
//     that have the same bytes on each path
//
// An operator gives the pieces of a tensor that it writes the class of the viewed pieces, or a new one, and then its
// memory. Where paths meet, two pieces stay in one class only if all paths agree. A tensor is intact if each of its
// pieces is in the class of its memory. Different paths may agree for different reasons, which this does not see: a
// plan that it accepts is valid, and a valid plan may be refused.
//
// It shares no code with `share_branches` and `find_lifetimes`. It does not check that the peak is minimal.
//
// When to use: to check the offsets of a program with `next` from any source, before the program uses them.
// When not to use: the operators run one after the other (`validate_graph`).
//
// Complexity: O(s (p + t)) for s operators, p pieces and t tensors without loops; a loop repeats its operators until
// the classes stay. The pieces are the runs of bytes between all ends of tensors, views and their rows.
// Memory: 4 bytes for each operator and piece, and about 200 bytes for each piece, on the heap.
// Thread safety: the function has no state.
#pragma once

#include <allot/plan/validate_graph.hpp>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Tensors and memory, cut into pieces. A piece of a tensor is a piece of the memory, and a piece of each of its views.
class tensor_pieces {
public:
    tensor_pieces(const operator_graph& graph, std::span<const std::uint64_t> offsets, std::span<const row_layout> rows)
        : graph_{graph}, offsets_{offsets}, rows_(graph.tensors.size()), first_(graph.tensors.size() + 1) {
        std::ranges::copy(rows, rows_.begin());
        for (std::uint32_t i = 0; i != rows_.size(); ++i) {
            const std::uint64_t row = rows_[i].size == 0 ? size(i) : rows_[i].size;
            for (std::uint64_t at = 0; at < size(i); at += row) cut(i, at);
            cut(i, size(i));
        }
        for (const graph_alias& each : graph.aliases) {
            const std::uint64_t row = each.rows.size == 0 ? size(each.part) : each.rows.size;
            for (std::uint64_t at = 0; each.kind == alias_kind::view && at < size(each.part); at += row)
                cut(each.part, at);
        }
        while (!work_.empty()) {
            const auto [tensor, byte] = work_.back();
            work_.pop_back();
            follow(tensor, byte);
        }
        for (const auto& [tensor, byte] : cuts_)
            if (byte != size(tensor)) begins_.push_back(byte), ++first_[tensor + 1];
        for (std::size_t i = 1; i != first_.size(); ++i) first_[i] += first_[i - 1];
        const std::vector<std::uint64_t> addresses(addresses_.begin(), addresses_.end());
        for (std::uint32_t i = 0; i != rows_.size(); ++i)
            for (std::size_t piece = first_[i]; piece != first_[i + 1]; ++piece)
                memory_.push_back(static_cast<std::size_t>(
                    std::ranges::lower_bound(addresses, address(i, begins_[piece])) - addresses.begin()));
    }

    /// Returns the number of pieces of all tensors.
    [[nodiscard]] std::size_t count() const noexcept { return begins_.size(); }
    /// Returns the number of pieces of the memory.
    [[nodiscard]] std::size_t count_in_memory() const noexcept { return addresses_.size(); }
    [[nodiscard]] std::size_t first(std::uint32_t tensor) const noexcept { return first_[tensor]; }
    [[nodiscard]] std::size_t end(std::uint32_t tensor) const noexcept { return first_[tensor + 1]; }
    /// Returns the piece of the memory that is a piece of a tensor.
    [[nodiscard]] std::size_t in_memory(std::size_t piece) const noexcept { return memory_[piece]; }
    [[nodiscard]] row_layout rows(std::uint32_t tensor) const noexcept { return rows_[tensor]; }
    /// Calls `visit(piece of the whole, piece of the part)` for all pieces of a view.
    template <class Visit>
    void each_viewed(const graph_alias& view, Visit visit) const {
        for (std::size_t piece = first(view.part); piece != end(view.part); ++piece) {
            const std::uint64_t byte = inside({view.offset, view.rows}, begins_[piece]);
            const auto from = begins_.begin() + static_cast<std::ptrdiff_t>(first(view.whole));
            const auto until = begins_.begin() + static_cast<std::ptrdiff_t>(end(view.whole));
            visit(static_cast<std::size_t>(std::lower_bound(from, until, byte) - begins_.begin()), piece);
        }
    }

private:
    struct run_place {
        std::uint64_t offset = 0;
        row_layout rows{};
    };

    [[nodiscard]] std::uint64_t size(std::uint32_t tensor) const noexcept { return graph_.tensors[tensor].size; }
    [[nodiscard]] static std::uint64_t inside(run_place at, std::uint64_t byte) noexcept {
        return at.offset + (at.rows.size == 0 ? byte : byte / at.rows.size * at.rows.stride + byte % at.rows.size);
    }
    [[nodiscard]] std::uint64_t address(std::uint32_t tensor, std::uint64_t byte) const noexcept {
        return inside({offsets_[tensor], rows_[tensor]}, byte);
    }
    void cut(std::uint32_t tensor, std::uint64_t byte) {
        if (size(tensor) != 0 && cuts_.emplace(tensor, byte).second) work_.emplace_back(tensor, byte);
    }
    /// Cuts a tensor at the place of a cut of its whole, or of the memory. `place` is that of the tensor.
    void cut_at(std::uint32_t tensor, run_place place, std::uint64_t at) {
        if (at < place.offset) return;
        const std::uint64_t rest = at - place.offset;
        const auto [row, stride] = place.rows;
        if (row == 0 && rest <= size(tensor)) cut(tensor, rest);
        if (row != 0 && rest % stride <= row && rest / stride < size(tensor) / row)
            cut(tensor, rest / stride * row + rest % stride);
    }
    void cut_memory(std::uint64_t address) {
        if (!addresses_.insert(address).second) return;
        for (std::uint32_t i = 0; i != rows_.size(); ++i) cut_at(i, {offsets_[i], rows_[i]}, address);
    }
    /// Makes the cuts that follow from one: in the memory, and in tensors that are views of this one, or that it views.
    void follow(std::uint32_t tensor, std::uint64_t byte) {
        const auto both_sides = [&](run_place place, auto make) {
            if (byte != size(tensor)) make(inside(place, byte));
            if (byte != 0) make(inside(place, byte - 1) + 1);
        };
        both_sides({offsets_[tensor], rows_[tensor]}, [&](std::uint64_t at) { cut_memory(at); });
        for (const graph_alias& each : graph_.aliases) {
            if (each.kind != alias_kind::view) continue;
            const run_place place{each.offset, each.rows};
            if (each.part == tensor) both_sides(place, [&](std::uint64_t at) { cut(each.whole, at); });
            if (each.whole == tensor) cut_at(each.part, place, byte);
        }
    }

    operator_graph graph_;
    std::span<const std::uint64_t> offsets_;
    std::vector<row_layout> rows_;                               // by tensor
    std::set<std::pair<std::uint32_t, std::uint64_t>> cuts_;     // tensor and byte
    std::vector<std::pair<std::uint32_t, std::uint64_t>> work_;  // cuts to follow
    std::set<std::uint64_t> addresses_;                          // cuts of the memory
    std::vector<std::uint64_t> begins_;                          // by piece, in the order of the tensors
    std::vector<std::size_t> first_, memory_;                    // by tensor; by piece
};

/// Runs a program with classes of equal pieces.
class branch_simulation {
public:
    using next_operators = std::span<const std::span<const std::uint32_t>>;

    branch_simulation(const operator_graph& graph, next_operators next, std::span<const std::uint64_t> offsets,
                      std::span<const row_layout> rows)
        : graph_{graph},
          next_{next},
          offsets_{offsets},
          pieces_{graph, offsets, rows},
          before_(graph.operators.size() + 1),
          is_reached_(graph.operators.size() + 1),
          aliases_(graph.tensors.size()) {
        for (const graph_alias& each : graph.aliases) {
            aliases_[each.part].push_back(each);
            if (each.kind == alias_kind::view) aliases_[each.whole].push_back(each);
        }
    }

    [[nodiscard]] graph_violation run() {
        using enum graph_violation_kind;
        const auto end = static_cast<std::uint32_t>(graph_.operators.size());
        classes start(pieces_.count() + pieces_.count_in_memory());
        for (std::uint32_t i = 0; i != start.size(); ++i) start[i] = i;
        for (std::uint32_t i = 0; i != graph_.tensors.size(); ++i) {
            const bool is_input = graph_.tensors[i].is_input;
            if (pieces_.rows(i).size != 0 && (is_input || graph_.tensors[i].is_output)) return {not_strided, end, i};
            if (is_input) store(start, i);
        }
        for (std::uint32_t i = 0; i != graph_.tensors.size(); ++i)
            if (graph_.tensors[i].is_input && !is_intact(start, i)) return {mixed, end, i};
        std::set<std::uint32_t> work{0};
        meet(0, start);
        while (!work.empty()) {
            const std::uint32_t now = *work.begin();
            work.erase(work.begin());
            if (now == end) continue;
            const classes after = execute(now);
            const std::uint32_t following[] = {now + 1};
            for (const std::uint32_t next : next_[now].empty() ? std::span{following} : next_[now])
                if (meet(next, after)) work.insert(next);
        }
        for (std::uint32_t now = 0; now != end; ++now)
            if (const graph_violation found = check(now); found.kind != none) return found;
        for (std::uint32_t i = 0; i != graph_.tensors.size() && is_reached_[end]; ++i)
            if (graph_.tensors[i].is_output && !is_intact(before_[end], i)) return {output_lost, i, 0};
        return {};
    }

private:
    using classes = std::vector<std::uint32_t>;  // by piece of a tensor, then by piece of the memory

    [[nodiscard]] std::uint32_t& memory(classes& of, std::size_t piece) const {
        return of[pieces_.count() + pieces_.in_memory(piece)];
    }
    [[nodiscard]] bool is_intact_piece(const classes& at, std::size_t piece) const {
        return at[piece] == at[pieces_.count() + pieces_.in_memory(piece)];
    }
    [[nodiscard]] bool is_intact(const classes& at, std::uint32_t tensor) const {
        for (std::size_t piece = pieces_.first(tensor); piece != pieces_.end(tensor); ++piece)
            if (!is_intact_piece(at, piece)) return false;
        return true;
    }
    void store(classes& at, std::uint32_t tensor) const {
        for (std::size_t piece = pieces_.first(tensor); piece != pieces_.end(tensor); ++piece)
            memory(at, piece) = at[piece];
    }
    /// Calls `visit(view, whether out is the part)` for each view that an operator makes of `out`.
    template <class Visit>
    void each_view(const graph_operator& by, std::uint32_t out, Visit visit) const {
        const auto is_read = [&](std::uint32_t tensor) { return std::ranges::count(by.reads, tensor) != 0; };
        for (const graph_alias& each : aliases_[out]) {
            if (each.kind != alias_kind::view) continue;
            if (each.part == out && is_read(each.whole)) visit(each, true);
            else if (each.whole == out && is_read(each.part)) visit(each, false);
        }
    }
    /// Returns the classes after an operator has computed its results, before it writes them to the memory.
    [[nodiscard]] classes compute(std::uint32_t now) const {
        const classes& before = before_[now];
        classes after = before;
        auto fresh = static_cast<std::uint32_t>(before.size());
        for (const std::uint32_t out : graph_.operators[now].writes) {
            for (std::size_t piece = pieces_.first(out); piece != pieces_.end(out); ++piece) after[piece] = fresh++;
            each_view(graph_.operators[now], out, [&](const graph_alias& view, bool is_part) {
                pieces_.each_viewed(view, [&](std::size_t whole, std::size_t part) {
                    after[is_part ? part : whole] = before[is_part ? whole : part];
                });
            });
        }
        return after;
    }
    [[nodiscard]] classes execute(std::uint32_t now) const {
        classes after = compute(now);
        for (const std::uint32_t out : graph_.operators[now].writes) store(after, out);
        return after;
    }
    /// Keeps pieces in one class before an operator only if other classes agree. Returns whether that changed the
    /// classes, or whether they are the first ones there. The classes have consecutive numbers from 0 on.
    bool meet(std::uint32_t at, const classes& other) {
        const bool is_first = !is_reached_[at];
        is_reached_[at] = true;
        classes& has = before_[at];
        has.resize(other.size());
        std::unordered_map<std::uint64_t, std::uint32_t> made;
        std::uint32_t count = 0;
        for (std::size_t i = 0; i != has.size(); ++i) {
            count = std::max(count, has[i] + 1);
            const std::uint64_t both = (std::uint64_t{has[i]} << 32) + other[i];
            has[i] = made.try_emplace(both, static_cast<std::uint32_t>(made.size())).first->second;
        }
        return is_first || made.size() != count;
    }

    [[nodiscard]] graph_violation check(std::uint32_t now) const {
        using enum graph_violation_kind;
        if (!is_reached_[now]) return {};
        const graph_operator& each = graph_.operators[now];
        for (const std::uint32_t in : each.reads)
            if (!is_intact(before_[now], in)) return {lost, now, in};
        classes after = compute(now);
        if (const std::uint32_t found = find_unusable(each, after); found != by_caller)
            return {not_strided, now, found};
        for (const std::uint32_t out : each.writes) store(after, out);
        for (const std::uint32_t out : each.writes)
            if (!is_intact(after, out)) return {mixed, now, out};
        for (const std::uint32_t in : each.reads)
            for (const std::uint32_t out : each.writes)
                if (changes(after, out, in) && !may_overwrite(in, out)) return {overwritten, now, in};
        return {};
    }
    /// Returns a tensor whose rows an operator has to read or write, and cannot; or `by_caller`.
    [[nodiscard]] std::uint32_t find_unusable(const graph_operator& each, const classes& after) const {
        std::vector<std::uint32_t> used;
        bool computes = each.writes.empty();
        for (const std::uint32_t out : each.writes) {
            if (!is_intact(after, out)) used.push_back(out);
            std::size_t viewed = 0;
            each_view(each, out, [&](const graph_alias& view, bool is_part) {
                pieces_.each_viewed(view, [&](std::size_t whole, std::size_t part) {
                    ++viewed;
                    if (!is_intact_piece(after, is_part ? part : whole))
                        used.push_back(is_part ? view.whole : view.part);
                });
            });
            computes = computes || viewed != pieces_.end(out) - pieces_.first(out);
        }
        if (computes) used.insert(used.end(), each.reads.begin(), each.reads.end());
        for (const std::uint32_t tensor : used) {
            const std::uint64_t row = pieces_.rows(tensor).size;
            const auto is_it = [&](const strided_tensor& of) { return of.tensor == tensor && of.row == row; };
            if (row != 0 && std::ranges::none_of(each.strides, is_it)) return tensor;
        }
        return by_caller;
    }
    /// Returns whether bytes of `in` that are not intact are bytes of `out`.
    [[nodiscard]] bool changes(const classes& after, std::uint32_t out, std::uint32_t in) const {
        std::set<std::size_t> changed;
        for (std::size_t piece = pieces_.first(in); piece != pieces_.end(in); ++piece)
            if (!is_intact_piece(after, piece)) changed.insert(pieces_.in_memory(piece));
        for (std::size_t piece = pieces_.first(out); piece != pieces_.end(out); ++piece)
            if (changed.contains(pieces_.in_memory(piece))) return true;
        return false;
    }
    [[nodiscard]] bool may_overwrite(std::uint32_t in, std::uint32_t out) const {
        if (offsets_[in] != offsets_[out] || pieces_.rows(in) != pieces_.rows(out)) return false;
        return std::ranges::any_of(aliases_[out], [&](const graph_alias& each) {
            return each.kind == alias_kind::overwrite && each.whole == in && each.part == out;
        });
    }

    operator_graph graph_;
    next_operators next_;
    std::span<const std::uint64_t> offsets_;
    tensor_pieces pieces_;
    std::vector<classes> before_;                    // by operator, and at the end
    std::vector<bool> is_reached_;                   // by operator, and at the end
    std::vector<std::vector<graph_alias>> aliases_;  // by part, and views also by whole
};

/// Returns whether the tensors and operators of a program exist, and its views are inside their tensors. The error has
/// the index of an alias or an operator.
[[nodiscard]] inline graph_error check_program(const operator_graph& graph,
                                               std::span<const std::span<const std::uint32_t>> next) {
    using enum graph_refusal;
    const auto is_missing = [&](std::uint32_t tensor) { return tensor >= graph.tensors.size(); };
    for (std::size_t i = 0; i != graph.tensors.size(); ++i)
        if (!is_alignment(graph.tensors[i].align)) return {bad_alignment, i};
    if (next.size() != graph.operators.size()) return {no_such_tensor, next.size()};
    for (std::size_t i = 0; i != graph.operators.size(); ++i) {
        const auto& [reads, writes, strides] = graph.operators[i];
        if (std::ranges::any_of(reads, is_missing) || std::ranges::any_of(writes, is_missing) ||
            std::ranges::any_of(next[i], [&](std::uint32_t each) { return each > graph.operators.size(); }))
            return {no_such_tensor, i};
    }
    for (std::size_t i = 0; i != graph.aliases.size(); ++i) {
        const auto& [whole, part, offset, kind, rows] = graph.aliases[i];
        if (is_missing(whole) || is_missing(part)) return {unrelated_alias, i};
        if (kind == alias_kind::overwrite) continue;
        const std::uint64_t size = graph.tensors[whole].size, bytes = graph.tensors[part].size;
        if (offset > size || bytes > size - offset) return {outside_whole, i};
        if (rows.size == 0 || bytes == 0) continue;
        if (rows.stride < rows.size || bytes % rows.size != 0) return {bad_rows, i};
        const std::uint64_t others = bytes / rows.size - 1;
        if (rows.size > size - offset || others > (size - offset - rows.size) / rows.stride) return {outside_whole, i};
    }
    return {};
}

}  // namespace detail

/// Returns a violation that it finds, or a violation of kind `none` if the plan is valid on every path.
///
/// `next[i]` lists the operators that can follow operator `i`: the number of operators is the end, and no operators
/// mean the one after it. `offsets` has the offset of each tensor, and `rows` its rows; no rows mean that the bytes
/// of each tensor are consecutive. No tensor exceeds `capacity` bytes. Several operators may write a tensor, and an
/// alias is a permission for all operators that read its one tensor and write the other one.
[[nodiscard]] inline graph_violation validate_branches(const operator_graph& graph,
                                                       std::span<const std::span<const std::uint32_t>> next,
                                                       std::span<const std::uint64_t> offsets, std::uint64_t capacity,
                                                       std::span<const row_layout> rows = {}) {
    using enum graph_violation_kind;
    if (const graph_error error = detail::check_program(graph, next); error.reason != graph_refusal::none)
        return {bad_graph, error.which, 0};
    if (const graph_violation found = detail::check_places(graph, offsets, capacity, rows); found.kind != none)
        return found;
    return detail::branch_simulation{graph, next, offsets, rows}.run();
}

}  // namespace v1
}  // namespace allot
