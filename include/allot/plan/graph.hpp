// SPDX-License-Identifier: BSL-1.0
// graph: operators that read and write tensors, and the tensors that may share bytes: the input of `order_operators`,
// `share_bytes` and `validate_graph`.
//
//     const allot::graph_tensor tensors[] = {
//         {.size = 64, .is_input = true}, {.size = 64}, {.size = 64, .is_output = true}};
//     const std::uint32_t x[] = {0}, y[] = {1}, z[] = {2};
//     const allot::graph_operator operators[] = {{.reads = x, .writes = y}, {.reads = y, .writes = z}};
//     const allot::graph_alias aliases[] = {{.whole = 1, .part = 2, .kind = allot::alias_kind::overwrite}};
//     const allot::operator_graph graph{tensors, operators, aliases};
//
//     alias        operators                        meaning
//     overwrite    Relu, Add                        the output may take the bytes of an input that nothing reads later
//     view         Reshape: all of the input        both tensors have the same bytes from `offset` on, so that one
//                  Split: the output in the input   place serves both, and the operator copies nothing
//                  Concat: the input in the output
//     with `rows`  Split, Slice, Concat along an    the same for each row of the part: row i is at byte
//                  inner dimension                  `offset + i * rows.stride` of the whole
//
// An alias is a permission. The kernels must support it: a kernel of Add reads both elements before it writes the
// result, and a kernel of Concat skips an input that is in its place. A view with rows also needs kernels that read and
// write the part with a distance between its rows: each operator lists such tensors in `strides`.
//
// When to use: the operators of a program are known, and their order or the sharing of bytes is open.
// When not to use: only lifetimes are known. Use `plan_problem`.
//
// Complexity: plain data; `check_graph` is O(n log n) for n tensors, views, and rows of views.
// Memory: three spans. `check_graph` needs about 50 bytes a tensor, view and row of a view on the heap.
// Thread safety: any number of concurrent readers.
#pragma once

#include <allot/core/arithmetic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace allot {
inline namespace v1 {

/// A tensor of a graph.
struct graph_tensor {
    std::uint64_t size = 0;   ///< Size in bytes.
    std::uint64_t align = 1;  ///< Alignment of the offset in bytes, a power of two.
    bool is_input = false;    ///< Whether the caller writes it before the first operator.
    bool is_output = false;   ///< Whether the caller reads it after the last operator.
};

/// Rows of a tensor in memory: byte `b` is at `offset + b / size * stride + b % size`.
struct row_layout {
    std::uint64_t size = 0;    ///< Bytes of a row. 0: the bytes of the tensor are consecutive.
    std::uint64_t stride = 0;  ///< Distance between the first bytes of a row and the next one.

    /// Compares both members.
    friend constexpr bool operator==(row_layout, row_layout) = default;
};

/// A tensor that an operator can read or write if its rows are apart, at any distance.
struct strided_tensor {
    std::uint32_t tensor = 0;  ///< Index of the tensor.
    std::uint64_t row = 0;     ///< Bytes of a row. A tensor may be listed several times with different rows.
};

/// An operator of a graph: the indices of its tensors.
struct graph_operator {
    std::span<const std::uint32_t> reads{};     ///< Tensors that it reads.
    std::span<const std::uint32_t> writes{};    ///< Tensors that it writes.
    std::span<const strided_tensor> strides{};  ///< Those of them whose rows may be apart.
};

/// Kind of an alias.
enum class alias_kind : unsigned char {
    view,       ///< `part` has the bytes of `whole` from `offset` on.
    overwrite,  ///< The operator that reads `whole` may write `part` to the same bytes.
};

/// Two tensors of one operator that may share bytes: one that it reads and one that it writes.
struct graph_alias {
    std::uint32_t whole = 0;             ///< The larger tensor of a view; the input of `overwrite`.
    std::uint32_t part = 0;              ///< The other tensor; the output of `overwrite`.
    std::uint64_t offset = 0;            ///< First byte of `part` in `whole`; 0 for `overwrite`.
    alias_kind kind = alias_kind::view;  ///< Kind of the alias.
    row_layout rows{};                   ///< Rows of `part` in `whole`, if a view is not consecutive.
};

/// A graph. All members are views of arrays that the caller owns.
struct operator_graph {
    std::span<const graph_tensor> tensors{};      ///< Tensors.
    std::span<const graph_operator> operators{};  ///< Operators, in an order in which they can run.
    std::span<const graph_alias> aliases{};       ///< Pairs of tensors that may share bytes.
};

/// Reason why a graph is invalid. `which` is the index of the second column.
enum class graph_refusal : unsigned char {
    none,             ///< The graph is valid.
    too_large,        ///< Tensor: the sizes up to this one exceed 64 bits.
    bad_alignment,    ///< Tensor: the alignment is not a power of two.
    no_such_tensor,   ///< Operator: it has a tensor that the graph does not have.
    written_twice,    ///< Operator: it writes an input of the graph, or a tensor that is already written.
    read_too_early,   ///< Operator: it reads a tensor that neither the caller nor an earlier operator writes.
    never_written,    ///< Tensor: it is not an input, and no operator writes it.
    unrelated_alias,  ///< Alias: no operator reads one of the tensors and writes the other one.
    outside_whole,    ///< Alias: the part exceeds the whole, or `overwrite` has an offset.
    contradiction,    ///< Alias: another view defines the same bytes of the tensor that the operator writes.
    bad_rows,         ///< Alias: its rows overlap or do not divide the part, or `overwrite` has rows.
    bad_stride,       ///< Operator: `strides` has a tensor that it does not have, or a row that does not divide it.
};

/// Returns a human-readable description of the reason.
[[nodiscard]] constexpr const char* to_string(graph_refusal reason) noexcept {
    switch (reason) {
        case graph_refusal::none: return "the graph is valid";
        case graph_refusal::too_large: return "the sum of the sizes exceeds 64 bits";
        case graph_refusal::bad_alignment: return "the alignment of a tensor is not a power of two";
        case graph_refusal::no_such_tensor: return "an operator has a tensor that does not exist";
        case graph_refusal::written_twice: return "a tensor is written twice";
        case graph_refusal::read_too_early: return "an operator reads a tensor that is not yet written";
        case graph_refusal::never_written: return "a tensor is not an input, and no operator writes it";
        case graph_refusal::unrelated_alias:
            return "no operator relates the tensors of an alias; the input of an overwrite is its whole";
        case graph_refusal::outside_whole: return "an alias exceeds the larger tensor";
        case graph_refusal::contradiction: return "two views define the same bytes of a tensor";
        case graph_refusal::bad_rows: return "the rows of an alias overlap or do not divide the part";
        case graph_refusal::bad_stride: return "the rows of a strided tensor do not divide a tensor of the operator";
    }
    return "unknown";
}

/// An error: its reason, and the index of the tensor, operator or alias that it concerns.
struct graph_error {
    graph_refusal reason = graph_refusal::none;  ///< Reason.
    std::size_t which = 0;                       ///< Index of a tensor, an operator or an alias.

    /// Returns a human-readable description of the reason.
    [[nodiscard]] constexpr const char* what() const noexcept { return to_string(reason); }
    /// Compares both members.
    friend constexpr bool operator==(graph_error, graph_error) = default;
};

namespace detail {

/// Index of no operator: the caller writes the tensor.
inline constexpr std::uint32_t by_caller = ~std::uint32_t{0};

/// Returns the operator that writes each tensor.
[[nodiscard]] inline std::vector<std::uint32_t> producers_of(const operator_graph& graph) {
    std::vector<std::uint32_t> made(graph.tensors.size(), by_caller);
    for (std::uint32_t now = 0; now != graph.operators.size(); ++now)
        for (const std::uint32_t tensor : graph.operators[now].writes) made[tensor] = now;
    return made;
}

/// Returns whether `producer`, the operator that writes `written`, reads the tensor `read`.
[[nodiscard]] constexpr bool reads(const operator_graph& graph, std::uint32_t producer, std::uint32_t read) noexcept {
    if (producer == by_caller) return false;
    for (const std::uint32_t tensor : graph.operators[producer].reads)
        if (tensor == read) return true;
    return false;
}

/// Returns whether an operator reads or writes a tensor.
[[nodiscard]] constexpr bool has_tensor(const graph_operator& each, std::uint32_t tensor) noexcept {
    return std::ranges::count(each.reads, tensor) != 0 || std::ranges::count(each.writes, tensor) != 0;
}

/// Returns the bytes of the larger tensor from the first byte of a view to its end. The rows divide the part.
[[nodiscard]] constexpr std::uint64_t spanned_by(std::uint64_t size, row_layout rows) noexcept {
    return rows.size == 0 || size == 0 ? size : (size / rows.size - 1) * rows.stride + rows.size;
}

/// Consecutive bytes of a tensor that a view defines.
struct defined_bytes {
    std::uint32_t tensor = 0;
    std::uint64_t begin = 0, end = 0;
    std::uint32_t source = 0;  // tensor that has the same bytes
    std::uint64_t from = 0;    // first byte of it
    std::size_t alias = 0;
};

/// Returns the bytes that the views of a graph define, sorted by tensor and begin.
[[nodiscard]] inline std::vector<defined_bytes> defined_by_views(const operator_graph& graph) {
    const std::vector<std::uint32_t> producer = producers_of(graph);
    std::vector<defined_bytes> made;
    for (std::size_t i = 0; i != graph.aliases.size(); ++i) {
        const auto& [whole, part, offset, kind, rows] = graph.aliases[i];
        const std::uint64_t size = graph.tensors[part].size, row = rows.size == 0 ? size : rows.size;
        if (kind != alias_kind::view) continue;
        const bool is_output = reads(graph, producer[part], whole);
        for (std::uint64_t at = 0, in_whole = offset; at != size; at += row, in_whole += rows.stride) {
            if (is_output) made.push_back({part, at, at + row, whole, in_whole, i});
            else made.push_back({whole, in_whole, in_whole + row, part, at, i});
        }
    }
    std::ranges::sort(made, [](const defined_bytes& a, const defined_bytes& b) {
        return a.tensor != b.tensor ? a.tensor < b.tensor : a.begin < b.begin;
    });
    return made;
}

}  // namespace detail

/// Returns the first mistake of a graph, or an error of reason `none`. Throws the exceptions of the heap.
[[nodiscard]] inline graph_error check_graph(const operator_graph& graph) {
    using enum graph_refusal;
    const std::size_t count = graph.tensors.size();
    std::uint64_t sum = 0;
    std::vector<bool> written(count);
    for (std::size_t i = 0; i != count; ++i) {
        if (!checked_add(sum, graph.tensors[i].size, sum)) return {too_large, i};
        if (!is_alignment(graph.tensors[i].align)) return {bad_alignment, i};
        written[i] = graph.tensors[i].is_input;
    }
    for (std::size_t now = 0; now != graph.operators.size(); ++now) {
        for (const std::uint32_t tensor : graph.operators[now].reads) {
            if (tensor >= count) return {no_such_tensor, now};
            if (!written[tensor]) return {read_too_early, now};
        }
        for (const std::uint32_t tensor : graph.operators[now].writes) {
            if (tensor >= count) return {no_such_tensor, now};
            if (written[tensor]) return {written_twice, now};
            written[tensor] = true;
        }
        for (const auto& [tensor, row] : graph.operators[now].strides)
            if (!detail::has_tensor(graph.operators[now], tensor) || row == 0 || graph.tensors[tensor].size % row != 0)
                return {bad_stride, now};
    }
    for (std::size_t i = 0; i != count; ++i)
        if (!written[i]) return {never_written, i};
    const std::vector<std::uint32_t> producer = detail::producers_of(graph);
    for (std::size_t i = 0; i != graph.aliases.size(); ++i) {
        const auto& [whole, part, offset, kind, rows] = graph.aliases[i];
        if (whole >= count || part >= count) return {unrelated_alias, i};
        const bool is_output = detail::reads(graph, producer[part], whole);
        const bool is_input = kind == alias_kind::view && detail::reads(graph, producer[whole], part);
        if (!is_output && !is_input) return {unrelated_alias, i};
        const std::uint64_t size = graph.tensors[whole].size, bytes = graph.tensors[part].size;
        if (kind == alias_kind::overwrite ? offset != 0 : offset > size || bytes > size - offset)
            return {outside_whole, i};
        if (rows.size == 0) continue;
        if (kind == alias_kind::overwrite || rows.stride < rows.size || bytes % rows.size != 0) return {bad_rows, i};
        const std::uint64_t last = bytes == 0 ? 0 : bytes / rows.size - 1;
        if (last > size / rows.stride || detail::spanned_by(bytes, rows) > size - offset) return {outside_whole, i};
    }
    const std::vector<detail::defined_bytes> defined = detail::defined_by_views(graph);
    for (std::size_t i = 1; i < defined.size(); ++i)
        if (defined[i].tensor == defined[i - 1].tensor && defined[i].begin < defined[i - 1].end)
            return {contradiction, defined[i].alias};
    return {};
}

}  // namespace v1
}  // namespace allot
