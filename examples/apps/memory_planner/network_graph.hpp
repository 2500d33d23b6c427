// SPDX-License-Identifier: BSL-1.0
// network_graph: a network as a graph: which operators work in place, and which tensors are views.
//
//     element by element   Relu, Add, …          the output may overwrite an input of its size and type
//     all bytes            Reshape, Flatten, …   a view
//     consecutive parts    Concat, Split, Slice  views, if all dimensions before the axis are 1
//     rows                 Concat, Split, Slice  views, if --strided lists the other operators of the parts
//
// Of all attributes, the network only states the begin of a slice. The axis of a concatenation follows from the shapes.
#pragma once

#include "../network_demo/network.hpp"
#include "options.hpp"

#include <allot/plan/graph.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>

namespace planner {

/// Tensors that may share bytes: none; an output and an input of the same size; also a tensor and its parts.
enum class sharing : unsigned char { none, whole, parts };

/// A network as a graph. The graph is a view of this object.
class network_graph {
public:
    network_graph(const demo::network& net, const options& chosen, sharing permitted)
        : net_{net}, strided_{chosen.strided}, permitted_{permitted} {
        for (const demo::tensor& each : net.tensors)
            tensors_.push_back({each.size, chosen.align, each.is_input, each.is_output});
        for (const demo::step& each : net.steps) {
            lists_.emplace_back(each.reads.begin(), each.reads.end());
            lists_.emplace_back(each.writes.begin(), each.writes.end());
            if (permitted != sharing::none) add_aliases(each);
            strides_.push_back(strides_of(each));
            next_.emplace_back(each.next);
            steps_.resize(aliases_.size(), next_.size() - 1);
        }
        for (std::size_t i = 0; i != strides_.size(); ++i)
            operators_.push_back({lists_[2 * i], lists_[2 * i + 1], strides_[i]});
        if (net.has_branches()) keep_common_aliases();
    }
    network_graph(const network_graph&) = delete;
    network_graph& operator=(const network_graph&) = delete;

    [[nodiscard]] allot::operator_graph graph() const { return {tensors_, operators_, aliases_}; }
    /// Returns the steps that can follow each step.
    [[nodiscard]] std::span<const std::span<const std::uint32_t>> next() const { return next_; }

private:
    void add_aliases(const demo::step& each) {
        static constexpr std::array over{"abs",          "add",        "batchnormalization",
                                         "clip",         "div",        "elu",
                                         "exp",          "hard_swish", "hardsigmoid",
                                         "hardswish",    "leaky_relu", "leakyrelu",
                                         "log",          "logistic",   "max",
                                         "maximum",      "min",        "minimum",
                                         "mul",          "neg",        "pow",
                                         "prelu",        "relu",       "relu6",
                                         "relu_n1_to_1", "sigmoid",    "softplus",
                                         "softsign",     "sqrt",       "sub",
                                         "sum",          "tanh"};
        static constexpr std::array whole{"dropout",  "expanddims", "expand_dims", "flatten",
                                          "identity", "reshape",    "squeeze",     "unsqueeze"};
        const std::string name = names_of(each.operation)[0];
        const auto is_in = [&](const auto& list) { return std::ranges::count(list, name) != 0; };
        if (each.writes.size() == 1 && is_in(over)) {
            for (const std::size_t in : each.reads) overwrite(in, each.writes[0]);
        } else if (each.writes.size() == 1 && !each.reads.empty() && is_in(whole)) {
            if (net_.tensors[each.reads[0]].size != net_.tensors[each.writes[0]].size) return;
            add(each.reads[0], each.writes[0], 0);
            if (net_.has_branches()) add(each.reads[0], each.writes[0], 0, allot::alias_kind::overwrite);
        } else if (permitted_ == sharing::whole) {
            return;
        } else if (each.writes.size() == 1 && (name == "concat" || name == "concatenation")) {
            divide(each.writes[0], each.reads);
        } else if (each.reads.size() == 1 && (name == "split" || name == "split_v")) {
            divide(each.reads[0], each.writes);
        } else if (!each.begin.empty()) {
            slice(each);
        }
    }
    void add(std::size_t large, std::size_t small, std::uint64_t offset,
             allot::alias_kind kind = allot::alias_kind::view) {
        aliases_.push_back({static_cast<std::uint32_t>(large), static_cast<std::uint32_t>(small), offset, kind});
    }
    /// In a network with branches, several steps may read and write the tensors of an alias. Keeps an alias once, and only
    /// if all of these steps permit it.
    void keep_common_aliases() {
        std::vector<allot::graph_alias> kept;
        const auto is_same = [](const allot::graph_alias& one, const allot::graph_alias& other) {
            return one.whole == other.whole && one.part == other.part && one.offset == other.offset &&
                   one.kind == other.kind && one.rows == other.rows;
        };
        for (std::size_t i = 0; i != aliases_.size(); ++i) {
            const allot::graph_alias& alias = aliases_[i];
            if (std::ranges::any_of(kept, [&](const auto& each) { return is_same(each, alias); })) continue;
            std::set<std::size_t> permits;
            for (std::size_t j = i; j != aliases_.size(); ++j)
                if (is_same(aliases_[j], alias)) permits.insert(steps_[j]);
            bool is_common = true;
            for (std::size_t now = 0; now != operators_.size(); ++now) {
                const auto relates = [&](std::uint32_t in, std::uint32_t out) {
                    return std::ranges::count(operators_[now].reads, in) != 0 &&
                           std::ranges::count(operators_[now].writes, out) != 0;
                };
                if (relates(alias.whole, alias.part) ||
                    (alias.kind == allot::alias_kind::view && relates(alias.part, alias.whole)))
                    is_common = is_common && permits.contains(now);
            }
            if (is_common) kept.push_back(alias);
        }
        aliases_ = std::move(kept);
    }
    void overwrite(std::size_t in, std::size_t out) {
        const demo::tensor &from = net_.tensors[in], &to = net_.tensors[out];
        if (from.size == to.size && from.dtype == to.dtype) add(in, out, 0, allot::alias_kind::overwrite);
    }
    /// Adds views of parts, if the parts are the whole tensor and their shapes differ from it in one dimension.
    void divide(std::size_t all, const std::vector<std::size_t>& parts) {
        const std::vector<std::uint64_t> whole = demo::dimensions_of(net_.tensors[all].shape);
        std::uint64_t sum = 0;
        for (const std::size_t part : parts) sum += net_.tensors[part].size;
        if (sum != net_.tensors[all].size || sum == 0) return;
        std::vector<allot::graph_alias> views;
        for (std::uint64_t offset = 0; const std::size_t part : parts) {
            const auto rows = rows_in(whole, demo::dimensions_of(net_.tensors[part].shape), net_.tensors[part].size);
            if (!rows) return;
            if (net_.tensors[part].size != 0)
                views.push_back({static_cast<std::uint32_t>(all), static_cast<std::uint32_t>(part), offset,
                                 allot::alias_kind::view, *rows});
            offset += rows->size == 0 ? net_.tensors[part].size : rows->size;
        }
        const auto differs = [&](const allot::graph_alias& view) { return view.rows.stride != views[0].rows.stride; };
        if (std::ranges::any_of(views, differs) || (views[0].rows.size != 0 && strided_.empty())) return;
        aliases_.insert(aliases_.end(), views.begin(), views.end());
    }
    /// Adds the view of a slice, if its bytes are consecutive or in rows with a common distance.
    void slice(const demo::step& each) {
        const std::vector<std::uint64_t> part = demo::dimensions_of(net_.tensors[each.writes[0]].shape);
        const std::vector<std::uint64_t> strides = strides_in(each.reads[0]), own = strides_in(each.writes[0]);
        if (strides.empty() || own.empty() || own.back() != strides.back()) return;
        std::uint64_t offset = 0, row = strides.back(), rows = 1, stride = 0;
        for (std::size_t i = part.size(); i-- != 0;) {
            offset += each.begin[i] * strides[i];
            if (part[i] == 1) continue;
            if (rows == 1 && strides[i] == row) row *= part[i];
            else if (rows == 1) stride = strides[i], rows = part[i];
            else if (strides[i] == stride * rows) rows *= part[i];
            else return;
        }
        if (rows != 1 && strided_.empty()) return;
        aliases_.push_back({static_cast<std::uint32_t>(each.reads[0]), static_cast<std::uint32_t>(each.writes[0]),
                            offset, allot::alias_kind::view,
                            rows == 1 ? allot::row_layout{} : allot::row_layout{row, stride}});
    }
    /// Returns the distance in bytes of elements that follow each other in each dimension of a tensor; none if an element
    /// does not have a whole number of bytes.
    [[nodiscard]] std::vector<std::uint64_t> strides_in(std::size_t tensor) const {
        std::vector<std::uint64_t> made;
        std::uint64_t bytes = net_.tensors[tensor].size;
        for (const std::uint64_t dimension : demo::dimensions_of(net_.tensors[tensor].shape)) {
            if (dimension == 0 || bytes % dimension != 0) return {};
            made.push_back(bytes /= dimension);
        }
        return made;
    }
    /// Returns the rows of a part of a tensor, no bytes a row if it is one piece, or nothing if the shapes, such as
    /// 4x64x8x8 and 4x16x8x8, do not differ in one dimension.
    [[nodiscard]] static std::optional<allot::row_layout> rows_in(const std::vector<std::uint64_t>& whole,
                                                                  const std::vector<std::uint64_t>& part,
                                                                  std::uint64_t bytes) {
        if (whole.empty() || whole.size() != part.size()) return std::nullopt;
        const std::size_t axis =
            static_cast<std::size_t>(std::mismatch(whole.begin(), whole.end(), part.begin()).first - whole.begin());
        if (axis == whole.size()) return allot::row_layout{};
        if (!std::equal(whole.begin() + static_cast<std::ptrdiff_t>(axis) + 1, whole.end(),
                        part.begin() + static_cast<std::ptrdiff_t>(axis) + 1))
            return std::nullopt;
        std::uint64_t rows = 1;
        for (std::size_t i = 0; i != axis; ++i) rows *= whole[i];
        if (rows <= 1 || bytes == 0) return allot::row_layout{};
        if (bytes % rows != 0 || part[axis] == 0) return std::nullopt;
        const std::uint64_t row = bytes / rows;
        return allot::row_layout{row, row / part[axis] * whole[axis]};
    }
    /// Returns the rows in which an operator can use its tensors: all dimensions from one on.
    [[nodiscard]] std::vector<allot::strided_tensor> strides_of(const demo::step& each) const {
        std::vector<allot::strided_tensor> made;
        if (std::ranges::count(strided_, names_of(each.operation)[0]) == 0) return made;
        for (const auto& list : {each.reads, each.writes})
            for (const std::size_t tensor : list) {
                std::uint64_t row = net_.tensors[tensor].size;
                for (const std::uint64_t dimension : demo::dimensions_of(net_.tensors[tensor].shape)) {
                    if (dimension == 0 || row % dimension != 0) break;
                    if (dimension == 1) continue;
                    row /= dimension;
                    made.push_back({static_cast<std::uint32_t>(tensor), row});
                }
            }
        return made;
    }

    const demo::network& net_;
    const std::vector<std::string>& strided_;  // operators that can use rows that are apart
    sharing permitted_;
    std::vector<allot::graph_tensor> tensors_;
    std::vector<std::vector<std::uint32_t>> lists_;  // tensors that an operator reads; those that it writes; …
    std::vector<std::vector<allot::strided_tensor>> strides_;
    std::vector<allot::graph_operator> operators_;
    std::vector<allot::graph_alias> aliases_;
    std::vector<std::size_t> steps_;                      // by alias: the step that permits it
    std::vector<std::span<const std::uint32_t>> next_{};  // by step
};

}  // namespace planner
