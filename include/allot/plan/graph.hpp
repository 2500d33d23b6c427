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
//
// An alias is a permission. The kernels must support it: a kernel of Add reads both elements before it writes the
// result, and a kernel of Concat skips an input that is in its place.
//
// When to use: the operators of a program are known, and their order or the sharing of bytes is open.
// When not to use: only lifetimes are known. Use `plan_problem`.
//
// Complexity: plain data; `check_graph` is O(n log n).
// Memory: three spans. `check_graph` needs about 40 bytes a tensor on the heap.
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

/// An operator of a graph: the indices of its tensors.
struct graph_operator {
    std::span<const std::uint32_t> reads{};   ///< Tensors that it reads.
    std::span<const std::uint32_t> writes{};  ///< Tensors that it writes.
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
        case graph_refusal::unrelated_alias: return "an alias relates tensors that no operator reads and writes";
        case graph_refusal::outside_whole: return "an alias exceeds the larger tensor";
        case graph_refusal::contradiction: return "two views define the same bytes of a tensor";
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

/// Bytes of a tensor that a view defines.
struct defined_bytes {
    std::uint32_t tensor = 0;
    std::uint64_t begin = 0, end = 0;
    std::size_t alias = 0;
};

/// Returns the bytes that the views of a graph define, sorted by tensor and begin.
[[nodiscard]] inline std::vector<defined_bytes> defined_by_views(const operator_graph& graph) {
    const std::vector<std::uint32_t> producer = producers_of(graph);
    std::vector<defined_bytes> made;
    for (std::size_t i = 0; i != graph.aliases.size(); ++i) {
        const graph_alias& alias = graph.aliases[i];
        if (const std::uint64_t size = graph.tensors[alias.part].size; alias.kind == alias_kind::view && size != 0) {
            if (reads(graph, producer[alias.part], alias.whole)) made.push_back({alias.part, 0, size, i});
            else made.push_back({alias.whole, alias.offset, alias.offset + size, i});
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
    }
    for (std::size_t i = 0; i != count; ++i)
        if (!written[i]) return {never_written, i};
    const std::vector<std::uint32_t> producer = detail::producers_of(graph);
    for (std::size_t i = 0; i != graph.aliases.size(); ++i) {
        const auto [whole, part, offset, kind] = graph.aliases[i];
        if (whole >= count || part >= count) return {unrelated_alias, i};
        const bool is_output = detail::reads(graph, producer[part], whole);
        const bool is_input = kind == alias_kind::view && detail::reads(graph, producer[whole], part);
        if (!is_output && !is_input) return {unrelated_alias, i};
        const std::uint64_t size = graph.tensors[whole].size;
        if (kind == alias_kind::overwrite ? offset != 0 : offset > size || graph.tensors[part].size > size - offset)
            return {outside_whole, i};
    }
    const std::vector<detail::defined_bytes> defined = detail::defined_by_views(graph);
    for (std::size_t i = 1; i < defined.size(); ++i)
        if (defined[i].tensor == defined[i - 1].tensor && defined[i].begin < defined[i - 1].end)
            return {contradiction, defined[i].alias};
    return {};
}

}  // namespace v1
}  // namespace allot
