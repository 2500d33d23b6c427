// Runs a graph byte by byte, without code of the library: the oracle for the tests of share_bytes and validate_graph.
#pragma once

#include <allot/plan/graph.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace graphs {

/// Place of a tensor.
struct byte_place {
    std::uint64_t offset = 0;
    allot::row_layout rows{};

    [[nodiscard]] std::size_t address(std::uint64_t byte) const {
        return static_cast<std::size_t>(rows.size == 0 ? offset + byte
                                                       : offset + byte / rows.size * rows.stride + byte % rows.size);
    }
};

/// The memory of a program, and the bytes that each tensor should have. An operator may run several times.
class byte_machine {
public:
    byte_machine(const allot::operator_graph& graph, std::size_t bytes)
        : graph_{graph}, places_(graph.tensors.size()), contents_(graph.tensors.size()), memory_(bytes, byte{~0u, 0}) {}

    void place(std::size_t tensor, byte_place at) { places_[tensor] = at; }
    /// Writes the inputs. Returns false if the caller cannot write one of them, or writes two of them to one byte.
    [[nodiscard]] bool begin() {
        for (std::uint32_t i = 0; i != graph_.tensors.size(); ++i)
            if (graph_.tensors[i].is_input) fill(i), put(i);
        for (std::uint32_t i = 0; i != graph_.tensors.size(); ++i)
            if (graph_.tensors[i].is_input && (places_[i].rows.size != 0 || !has(i))) return false;
        return true;
    }
    /// Runs an operator. Returns false if it does not find its inputs, cannot use their rows, or harms one.
    [[nodiscard]] bool step(std::uint32_t now) {
        const allot::graph_operator& each = graph_.operators[now];
        for (const std::uint32_t in : each.reads)
            if (!has(in)) return false;
        before_ = contents_;
        for (const std::uint32_t out : each.writes)
            if (!compute(each, out)) return false;
        for (const std::uint32_t out : each.writes) put(out);
        for (const std::uint32_t out : each.writes)
            if (!has(out)) return false;
        for (const std::uint32_t in : each.reads)
            for (const std::uint32_t out : each.writes)
                if (changes(out, in) && !may_overwrite(in, out)) return false;
        return true;
    }
    [[nodiscard]] bool end() const {
        for (std::uint32_t i = 0; i != graph_.tensors.size(); ++i)
            if (graph_.tensors[i].is_output && (!has(i) || places_[i].rows.size != 0)) return false;
        return true;
    }

private:
    using byte = std::pair<std::uint32_t, std::size_t>;  // number of a write, and a byte of the tensor

    [[nodiscard]] std::size_t size(std::uint32_t tensor) const {
        return static_cast<std::size_t>(graph_.tensors[tensor].size);
    }
    void fill(std::uint32_t tensor) {
        contents_[tensor].clear();
        for (std::size_t i = 0; i != size(tensor); ++i) contents_[tensor].push_back({writes_, i});
        ++writes_;
    }
    void put(std::uint32_t tensor) {
        for (std::size_t i = 0; i != size(tensor); ++i) memory_[places_[tensor].address(i)] = contents_[tensor][i];
    }
    [[nodiscard]] bool has(std::uint32_t tensor, std::size_t i) const {
        return memory_[places_[tensor].address(i)] == contents_[tensor][i];
    }
    [[nodiscard]] bool has(std::uint32_t tensor) const {
        if (contents_[tensor].size() != size(tensor)) return false;  // not yet written
        for (std::size_t i = 0; i != contents_[tensor].size(); ++i)
            if (!has(tensor, i)) return false;
        return true;
    }
    /// Returns the byte of a tensor that an operator reads which byte `i` of `out` is.
    [[nodiscard]] std::optional<byte> source(const allot::graph_operator& by, std::uint32_t out, std::size_t i) const {
        for (const allot::graph_alias& alias : graph_.aliases) {
            if (alias.kind != allot::alias_kind::view) continue;
            const auto is_read = [&](std::uint32_t tensor) { return std::ranges::count(by.reads, tensor) != 0; };
            for (std::size_t in_part = 0; in_part != size(alias.part); ++in_part) {
                const std::size_t in_whole = byte_place{alias.offset, alias.rows}.address(in_part);
                if (alias.part == out && is_read(alias.whole) && in_part == i) return {{alias.whole, in_whole}};
                if (alias.whole == out && is_read(alias.part) && in_whole == i) return {{alias.part, in_part}};
            }
        }
        return std::nullopt;
    }
    /// Sets the contents of `out`. Returns false if the operator cannot read or write the rows that it has to.
    [[nodiscard]] bool compute(const allot::graph_operator& by, std::uint32_t out) {
        const auto can_use = [&](std::uint32_t tensor) {
            const std::uint64_t row = places_[tensor].rows.size;
            return row == 0 || std::ranges::any_of(by.strides, [&](const allot::strided_tensor& each) {
                       return each.tensor == tensor && each.row == row;
                   });
        };
        fill(out);
        for (std::size_t i = 0; i != size(out); ++i) {
            const auto from = source(by, out, i);
            if (from) contents_[out][i] = before_[from->first][from->second];
            const bool is_there = has(out, i);
            if (!is_there && !can_use(out)) return false;
            if (from && !is_there && !can_use(from->first)) return false;
            if (!from)
                for (const std::uint32_t in : by.reads)
                    if (!can_use(in)) return false;
        }
        return true;
    }
    [[nodiscard]] bool changes(std::uint32_t out, std::uint32_t in) const {
        for (std::size_t i = 0; i != size(in); ++i)
            for (std::size_t j = 0; j != size(out); ++j)
                if (!has(in, i) && places_[in].address(i) == places_[out].address(j)) return true;
        return false;
    }
    [[nodiscard]] bool may_overwrite(std::uint32_t in, std::uint32_t out) const {
        return places_[in].offset == places_[out].offset && places_[in].rows == places_[out].rows &&
               std::ranges::any_of(graph_.aliases, [&](const allot::graph_alias& alias) {
                   return alias.kind == allot::alias_kind::overwrite && alias.whole == in && alias.part == out;
               });
    }

    allot::operator_graph graph_;
    std::vector<byte_place> places_;           // by tensor
    std::vector<std::vector<byte>> contents_;  // by tensor
    std::vector<std::vector<byte>> before_;    // by tensor, before an operator
    std::uint32_t writes_ = 0;                 // number of writes of a tensor so far
    std::vector<byte> memory_;
};

/// Returns whether all operators find their inputs at these places, in the given order.
inline bool runs(const allot::operator_graph& graph, const std::vector<std::uint64_t>& offsets,
                 const std::vector<allot::row_layout>& rows = {}) {
    byte_machine machine{graph, 4096};
    for (std::size_t i = 0; i != offsets.size(); ++i)
        machine.place(i, {offsets[i], rows.empty() ? allot::row_layout{} : rows[i]});
    bool is_valid = machine.begin();
    for (std::uint32_t now = 0; is_valid && now != graph.operators.size(); ++now) is_valid = machine.step(now);
    return is_valid && machine.end();
}

}  // namespace graphs
