// SPDX-License-Identifier: BSL-1.0
// validate_graph: runs the operators of a graph with symbols instead of bytes, and checks that each one reads what it
// expects, at the offsets of a plan.
//
//     std::vector<std::uint64_t> offsets;                                       // by tensor, for example of a plan
//     const auto found = allot::validate_graph(graph, order, offsets, capacity);
//     if (found.kind != allot::graph_violation_kind::none) report(found.what(), found.first, found.second);
//
//     memory    │ x, bytes 0 to 8        │ y, bytes 0 to 4 │            a map from addresses to contents
//     operator  reads x: the contents at the offset of x must be those of x
//               writes z: the contents at the offset of z are those of z; for a view, those of the viewed tensor
//     rows      the contents of a tensor are in several places, and an operator that reads or writes them must be able
//               to. Bytes of a view that are already in their place are neither read nor written.
//
// An operator may change the bytes of a tensor that it reads only by an alias of kind `overwrite`, at the same offset.
// The tensors that the caller writes must not share bytes, in any order of their writes. Those that it reads must have
// their contents after the last operator.
//
// It shares no code with `order_operators` and `share_bytes`. It does not check that the peak is minimal.
//
// When to use: to check an order and the offsets of a graph from any source, before a program uses them.
// When not to use: for buffers with lifetimes (validate.hpp).
//
// Complexity: O(n log n) for n runs of contents: one for each tensor or row of it, and one for each view in it.
// Memory: about 100 bytes for each run on the heap. Throws the exceptions of the heap.
// Thread safety: the function has no state.
#pragma once

#include <allot/plan/graph.hpp>

#include <algorithm>
#include <map>

namespace allot {
inline namespace v1 {

/// Kind of a violation. `first` and `second` are the members of `graph_violation`.
enum class graph_violation_kind : unsigned char {
    none,         ///< The plan is valid.
    bad_graph,    ///< The graph is invalid: `check_graph` returns the reason.
    bad_order,    ///< The order does not contain each operator once. `first` is a position of the order.
    no_offset,    ///< There are fewer or more offsets than tensors.
    misaligned,   ///< The offset of tensor `first` is not a multiple of its alignment.
    outside,      ///< Tensor `first` exceeds the capacity.
    lost,         ///< Operator `first` reads tensor `second`, whose bytes contain something else.
    overwritten,  ///< Operator `first` changes tensor `second` while it reads it, without an alias.
    mixed,        ///< Operator `first`, or the caller before the first one, writes two tensors to the same bytes;
                  ///< `second` is one of them. For the caller, `first` is the number of operators.
    output_lost,  ///< Tensor `first` is an output of the graph, and its bytes contain something else at the end.
    bad_rows,     ///< The rows of tensor `first` overlap or do not divide it, or rows of other tensors are missing.
    not_strided,  ///< Operator `first`, or the caller after the last one, needs tensor `second` without its rows.
};

/// Returns a human-readable description of the kind.
[[nodiscard]] constexpr const char* to_string(graph_violation_kind kind) noexcept {
    switch (kind) {
        case graph_violation_kind::none: return "the plan is valid";
        case graph_violation_kind::bad_graph: return "the graph is invalid";
        case graph_violation_kind::bad_order: return "the order does not contain each operator once";
        case graph_violation_kind::no_offset: return "the number of offsets is not the number of tensors";
        case graph_violation_kind::misaligned: return "an offset is not a multiple of the alignment";
        case graph_violation_kind::outside: return "a tensor exceeds the capacity";
        case graph_violation_kind::lost: return "an operator reads bytes that contain something else";
        case graph_violation_kind::overwritten: return "an operator changes a tensor while it reads it";
        case graph_violation_kind::mixed: return "an operator or the caller writes two tensors to the same bytes";
        case graph_violation_kind::output_lost: return "an output of the graph contains something else at the end";
        case graph_violation_kind::bad_rows: return "the rows of a tensor overlap or do not divide it";
        case graph_violation_kind::not_strided: return "an operator cannot read or write a tensor whose rows are apart";
    }
    return "unknown";
}

/// A violation: its kind, and the indices that it concerns.
struct graph_violation {
    graph_violation_kind kind = graph_violation_kind::none;  ///< Kind of the violation.
    std::size_t first = 0;                                   ///< Index of an operator or a tensor.
    std::size_t second = 0;                                  ///< Index of a tensor, or 0.

    /// Returns a human-readable description of the kind.
    [[nodiscard]] constexpr const char* what() const noexcept { return to_string(kind); }
    /// Compares all members.
    friend constexpr bool operator==(graph_violation, graph_violation) = default;
};

namespace detail {

/// Runs a graph with symbols. A symbol is a byte of the tensor that it was first written to.
class graph_simulation {
public:
    graph_simulation(const operator_graph& graph, std::span<const std::uint64_t> offsets,
                     std::span<const row_layout> rows)
        : graph_{graph},
          offsets_{offsets},
          rows_(graph.tensors.size()),
          written_(graph.tensors.size()),
          contents_(graph.tensors.size()),
          aliases_(graph.tensors.size()) {
        std::ranges::copy(rows, rows_.begin());
        for (const graph_alias& alias : graph.aliases) {
            aliases_[alias.part].push_back(alias);
            if (alias.kind == alias_kind::view) aliases_[alias.whole].push_back(alias);
        }
    }

    [[nodiscard]] graph_violation run(std::span<const std::uint32_t> order) {
        using enum graph_violation_kind;
        for (std::uint32_t i = 0; i != graph_.tensors.size(); ++i) {
            if (rows_[i].size != 0 && (graph_.tensors[i].is_input || graph_.tensors[i].is_output))
                return {not_strided, graph_.operators.size(), i};
            if (!graph_.tensors[i].is_input) continue;
            contents_[i] = {{0, graph_.tensors[i].size, i, 0}};
            written_[i] = true;
            store(i);
        }
        for (std::uint32_t i = 0; i != graph_.tensors.size(); ++i)
            if (graph_.tensors[i].is_input && !is_intact(i)) return {mixed, graph_.operators.size(), i};
        for (const std::uint32_t now : order)
            if (const graph_violation found = execute(now); found.kind != none) return found;
        for (std::size_t i = 0; i != graph_.tensors.size(); ++i)
            if (graph_.tensors[i].is_output && !is_intact(i)) return {output_lost, i, 0};
        return {};
    }

private:
    struct symbols {
        std::uint64_t at = 0, size = 0;  // in a tensor
        std::uint32_t tensor = 0;        // that the symbols name
        std::uint64_t byte = 0;          // first byte of it
    };
    struct cell {
        std::uint64_t end = 0;
        std::uint32_t tensor = 0;
        std::uint64_t byte = 0;
    };

    struct viewed {
        std::uint64_t at = 0, size = 0;  // in the tensor that the operator writes
        std::uint32_t source = 0;        // tensor that it reads
    };

    [[nodiscard]] graph_violation execute(std::uint32_t now) {
        using enum graph_violation_kind;
        const graph_operator& each = graph_.operators[now];
        for (const std::uint32_t tensor : each.reads)
            if (!is_intact(tensor)) return {lost, now, tensor};
        std::vector<std::uint32_t> used;  // tensors whose bytes it reads or writes
        bool only_views = !each.writes.empty();
        for (const std::uint32_t tensor : each.writes) {
            const std::vector<viewed> views = compute(each, tensor);
            if (!is_intact(tensor)) used.push_back(tensor);
            std::uint64_t sum = 0;
            for (const viewed& view : views) {
                sum += view.size;
                if (!is_intact(tensor, view.at, view.at + view.size)) used.push_back(view.source);
            }
            if (sum != graph_.tensors[tensor].size) only_views = false;
        }
        if (!only_views) used.insert(used.end(), each.reads.begin(), each.reads.end());
        for (const std::uint32_t tensor : used)
            if (!can_use(each, tensor)) return {not_strided, now, tensor};
        for (const std::uint32_t tensor : each.writes) store(tensor);
        for (const std::uint32_t tensor : each.writes)
            if (!is_intact(tensor)) return {mixed, now, tensor};
        for (const std::uint32_t in : each.reads) {
            if (is_intact(in)) continue;
            for (const std::uint32_t out : each.writes)
                if (changes(out, in) && !may_overwrite(in, out)) return {overwritten, now, in};
        }
        return {};
    }
    [[nodiscard]] bool can_use(const graph_operator& each, std::uint32_t tensor) const noexcept {
        return rows_[tensor].size == 0 || std::ranges::any_of(each.strides, [&](const strided_tensor& of) {
                   return of.tensor == tensor && of.row == rows_[tensor].size;
               });
    }
    /// Calls `visit(address, byte, size)` for the runs of bytes [from, until) of a tensor, until it returns false.
    template <class Visit>
    bool each_run(std::size_t tensor, std::uint64_t from, std::uint64_t until, Visit visit) const {
        const auto [row, stride] = rows_[tensor];
        while (from < until) {
            const std::uint64_t skip = row == 0 ? from : from / row * stride + from % row;
            const std::uint64_t size = row == 0 ? until - from : std::min(until - from, row - from % row);
            if (!visit(offsets_[tensor] + skip, from, size)) return false;
            from += size;
        }
        return true;
    }
    /// Returns whether bytes of `in` that are not intact are bytes of `out`.
    [[nodiscard]] bool changes(std::uint32_t out, std::uint32_t in) const {
        struct run {
            std::uint64_t begin = 0, end = 0;  // addresses
            std::uint64_t byte = 0;            // of `in`, at `begin`
        };
        std::vector<run> runs;
        each_run(in, 0, graph_.tensors[in].size, [&](std::uint64_t address, std::uint64_t byte, std::uint64_t size) {
            runs.push_back({address, address + size, byte});
            return true;
        });
        const auto is_unchanged = [&](std::uint64_t address, std::uint64_t, std::uint64_t size) {
            for (auto each = std::ranges::upper_bound(runs, address, {}, &run::end);
                 each != runs.end() && each->begin < address + size; ++each) {
                const std::uint64_t from = std::max(address, each->begin), until = std::min(address + size, each->end);
                if (!is_intact(in, each->byte + (from - each->begin), each->byte + (until - each->begin))) return false;
            }
            return true;
        };
        return !each_run(out, 0, graph_.tensors[out].size, is_unchanged);
    }
    [[nodiscard]] bool may_overwrite(std::uint32_t in, std::uint32_t out) const noexcept {
        if (offsets_[in] != offsets_[out] || rows_[in] != rows_[out]) return false;
        return std::ranges::any_of(aliases_[out], [&](const graph_alias& alias) {
            return alias.kind == alias_kind::overwrite && alias.whole == in && alias.part == out;
        });
    }

    /// Sets the contents that an operator gives to `out`: those of its views, else symbols of its own. Returns the
    /// bytes of views.
    std::vector<viewed> compute(const graph_operator& by, std::uint32_t out) {
        const auto is_read = [&](std::uint32_t tensor) { return std::ranges::count(by.reads, tensor) != 0; };
        std::map<std::uint64_t, symbols> found;  // by their first byte in `out`
        std::vector<viewed> views;
        for (const graph_alias& alias : aliases_[out]) {
            if (alias.kind != alias_kind::view) continue;
            const bool is_part = alias.part == out && is_read(alias.whole);
            if (!is_part && !(alias.whole == out && is_read(alias.part))) continue;
            const std::uint64_t size = graph_.tensors[alias.part].size;
            const std::uint64_t row = alias.rows.size == 0 ? size : alias.rows.size;
            for (std::uint64_t in_part = 0, in_whole = alias.offset; in_part < size; in_part += row) {
                if (is_part) copy(alias.whole, in_whole, row, in_part, found);
                else copy(alias.part, in_part, row, in_whole, found);
                views.push_back({is_part ? in_part : in_whole, row, is_part ? alias.whole : alias.part});
                in_whole += alias.rows.stride;
            }
        }
        std::uint64_t done = 0;
        std::vector<symbols>& made = contents_[out];
        const auto own = [&](std::uint64_t end) {
            if (done < end) made.push_back({done, end - done, out, done});
        };
        for (const auto& [at, each] : found) {
            own(at);
            made.push_back(each);
            done = at + each.size;
        }
        own(graph_.tensors[out].size);
        written_[out] = true;
        return views;
    }
    /// Copies the symbols of bytes [from, from + size) of a tensor to `to` and the following bytes of another one.
    void copy(std::uint32_t tensor, std::uint64_t from, std::uint64_t size, std::uint64_t to,
              std::map<std::uint64_t, symbols>& target) const {
        for (auto each = first_at(tensor, from); each != contents_[tensor].end() && each->at < from + size; ++each) {
            const std::uint64_t begin = std::max(each->at, from), end = std::min(each->at + each->size, from + size);
            if (begin >= end) continue;
            const std::uint64_t at = to + (begin - from);
            target.insert_or_assign(at, symbols{at, end - begin, each->tensor, each->byte + (begin - each->at)});
        }
    }
    /// Returns the last symbols of a tensor that begin at a byte or before it, or the first ones.
    [[nodiscard]] std::vector<symbols>::const_iterator first_at(std::size_t tensor, std::uint64_t byte) const {
        const auto after = std::ranges::upper_bound(contents_[tensor], byte, {}, &symbols::at);
        return after == contents_[tensor].begin() ? after : std::prev(after);
    }

    /// Ends the cell that contains `at` there, and begins another one.
    void split(std::uint64_t at) {
        auto after = memory_.upper_bound(at);
        if (after == memory_.begin()) return;
        const auto has = std::prev(after);
        const auto [end, tensor, byte] = has->second;
        if (has->first == at || end <= at) return;
        has->second.end = at;
        memory_.emplace_hint(after, at, cell{end, tensor, byte + (at - has->first)});
    }
    void store(std::uint32_t tensor) {
        for (const symbols& each : contents_[tensor])
            each_run(tensor, each.at, each.at + each.size,
                     [&](std::uint64_t begin, std::uint64_t byte, std::uint64_t size) {
                         split(begin);
                         split(begin + size);
                         memory_.erase(memory_.lower_bound(begin), memory_.lower_bound(begin + size));
                         memory_.emplace(begin, cell{begin + size, each.tensor, each.byte + (byte - each.at)});
                         return true;
                     });
    }
    /// Returns whether bytes [from, until) of a tensor contain what was written to it.
    [[nodiscard]] bool is_intact(std::size_t tensor, std::uint64_t from, std::uint64_t until) const {
        for (auto each = first_at(tensor, from); each != contents_[tensor].end() && each->at < until; ++each) {
            const auto has = [&](std::uint64_t address, std::uint64_t byte, std::uint64_t size) {
                return holds(address, address + size, each->tensor, each->byte + (byte - each->at));
            };
            if (!each_run(tensor, std::max(from, each->at), std::min(until, each->at + each->size), has)) return false;
        }
        return true;
    }
    [[nodiscard]] bool is_intact(std::size_t tensor) const {
        return written_[tensor] && is_intact(tensor, 0, graph_.tensors[tensor].size);
    }
    /// Returns whether the memory from `at` to `end` contains bytes of a tensor.
    [[nodiscard]] bool holds(std::uint64_t at, std::uint64_t end, std::uint32_t tensor, std::uint64_t byte) const {
        while (at < end) {
            const auto after = memory_.upper_bound(at);
            if (after == memory_.begin()) return false;
            const auto& [begin, has] = *std::prev(after);
            if (has.end <= at || has.tensor != tensor || has.byte + (at - begin) != byte) return false;
            byte += has.end - at;
            at = has.end;
        }
        return true;
    }

    operator_graph graph_;
    std::span<const std::uint64_t> offsets_;
    std::vector<row_layout> rows_;                   // by tensor
    std::vector<bool> written_;                      // by tensor
    std::vector<std::vector<symbols>> contents_;     // by tensor
    std::vector<std::vector<graph_alias>> aliases_;  // by part, and views also by whole
    std::map<std::uint64_t, cell> memory_;           // by first byte
};

/// Returns whether the offsets are aligned, and all tensors are inside the capacity.
[[nodiscard]] inline graph_violation check_places(const operator_graph& graph, std::span<const std::uint64_t> offsets,
                                                  std::uint64_t capacity, std::span<const row_layout> rows) {
    using enum graph_violation_kind;
    if (offsets.size() != graph.tensors.size()) return {no_offset, offsets.size(), 0};
    if (!rows.empty() && rows.size() != graph.tensors.size()) return {bad_rows, rows.size(), 0};
    for (std::size_t i = 0; i != offsets.size(); ++i) {
        const graph_tensor& tensor = graph.tensors[i];
        if (offsets[i] % tensor.align != 0) return {misaligned, i, 0};
        std::uint64_t bytes = tensor.size;
        if (!rows.empty() && rows[i].size != 0 && bytes != 0) {
            const auto [row, stride] = rows[i];
            if (stride < row || bytes % row != 0) return {bad_rows, i, 0};
            const std::uint64_t others = bytes / row - 1;  // rows after the first one
            if (row > capacity || others > (capacity - row) / stride) return {outside, i, 0};
            bytes = others * stride + row;
        }
        if (bytes > capacity || offsets[i] > capacity - bytes) return {outside, i, 0};
    }
    return {};
}

}  // namespace detail

/// Returns the first violation that it finds, or a violation of kind `none` if the plan is valid.
///
/// `order` has the indices of all operators, `offsets` the offset of each tensor, and `rows` the rows of each tensor;
/// no rows mean that the bytes of each tensor are consecutive. No tensor exceeds `capacity` bytes.
[[nodiscard]] inline graph_violation validate_graph(const operator_graph& graph, std::span<const std::uint32_t> order,
                                                    std::span<const std::uint64_t> offsets, std::uint64_t capacity,
                                                    std::span<const row_layout> rows = {}) {
    using enum graph_violation_kind;
    if (const graph_error error = check_graph(graph); error.reason != graph_refusal::none)
        return {bad_graph, error.which, 0};
    std::vector<bool> seen(graph.operators.size());
    for (std::size_t i = 0; i != order.size(); ++i) {
        if (order[i] >= seen.size() || seen[order[i]]) return {bad_order, i, 0};
        seen[order[i]] = true;
    }
    if (order.size() != seen.size()) return {bad_order, order.size(), 0};
    if (const graph_violation found = detail::check_places(graph, offsets, capacity, rows); found.kind != none)
        return found;
    return detail::graph_simulation{graph, offsets, rows}.run(order);
}

}  // namespace v1
}  // namespace allot
