// Random graphs for the tests of order_operators, share_bytes and validate_graph.
#pragma once

#include <allot/plan/graph.hpp>

#include <random>

namespace graphs {

/// A graph with its arrays.
struct owner {
    std::vector<allot::graph_tensor> tensors;
    std::vector<std::vector<std::uint32_t>> reads, writes;  // by operator
    std::vector<allot::graph_alias> aliases;
    std::vector<std::vector<allot::strided_tensor>> strides{};  // by operator
    mutable std::vector<allot::graph_operator> operators{};

    [[nodiscard]] allot::operator_graph view() const {
        operators.clear();
        for (std::size_t i = 0; i != reads.size(); ++i) operators.push_back({reads[i], writes[i], strides[i]});
        return {tensors, operators, aliases};
    }
    std::uint32_t add_tensor(std::uint64_t size, std::uint64_t align = 1) {
        tensors.push_back({.size = size, .align = align});
        return static_cast<std::uint32_t>(tensors.size() - 1);
    }
    void add_operator(std::vector<std::uint32_t> in, std::vector<std::uint32_t> out,
                      std::vector<allot::strided_tensor> rows = {}) {
        reads.push_back(std::move(in));
        writes.push_back(std::move(out));
        strides.push_back(std::move(rows));
    }
};

/// Adds an operator of a random kind: element by element, reshape, split, concatenation, or without aliases.
inline void add_random(owner& made, std::mt19937& random) {
    const auto below = [&](std::size_t limit) { return static_cast<std::uint32_t>(random() % limit); };
    const std::uint32_t in = below(made.tensors.size()), other = below(made.tensors.size());
    const std::uint64_t size = made.tensors[in].size;
    switch (below(6)) {
        case 0: {  // Add
            const std::uint32_t out = made.add_tensor(size);
            made.add_operator({in, other}, {out});
            made.aliases.push_back({in, out, 0, allot::alias_kind::overwrite});
            if (other != in && made.tensors[other].size == size)
                made.aliases.push_back({other, out, 0, allot::alias_kind::overwrite});
            break;
        }
        case 1: {  // Reshape
            const std::uint32_t out = made.add_tensor(size);
            made.add_operator({in}, {out});
            made.aliases.push_back({in, out});
            break;
        }
        case 2: {  // Split
            const std::uint64_t first = size / 3;
            const std::uint32_t a = made.add_tensor(first), b = made.add_tensor(size - first);
            made.add_operator({in}, {a, b});
            made.aliases.push_back({in, a});
            made.aliases.push_back({in, b, first});
            break;
        }
        case 3: {  // Concat
            const std::uint32_t out = made.add_tensor(size + made.tensors[other].size);
            made.add_operator({in, other}, {out});
            made.aliases.push_back({out, in});
            made.aliases.push_back({out, other, size});
            break;
        }
        default: made.add_operator({in, other}, {made.add_tensor(below(20), std::uint64_t{1} << below(3))}); break;
    }
}

/// Adds an operator of a random kind for tensors that are matrices with `rows` rows.
inline void add_random_strided(owner& made, std::mt19937& random, std::uint64_t rows) {
    const auto below = [&](std::size_t limit) { return static_cast<std::uint32_t>(random() % limit); };
    const std::uint32_t in = below(made.tensors.size()), other = below(made.tensors.size());
    const std::uint64_t size = made.tensors[in].size, columns = size / rows;
    const auto view = [&](std::uint32_t whole, std::uint32_t part, std::uint64_t column) {
        const std::uint64_t row = made.tensors[part].size / rows;
        if (row != 0)
            made.aliases.push_back(
                {whole, part, column, allot::alias_kind::view, {row, made.tensors[whole].size / rows}});
    };
    switch (below(6)) {
        case 0: {  // Relu
            const std::uint32_t out = made.add_tensor(size);
            made.add_operator({in}, {out});
            made.aliases.push_back({in, out, 0, allot::alias_kind::overwrite});
            break;
        }
        case 1: {  // Reshape, or a concatenation of rows
            const std::uint32_t out = made.add_tensor(size + (below(2) == 0 ? made.tensors[other].size : 0));
            made.add_operator({in, other}, {out});
            made.aliases.push_back({out, in});
            if (made.tensors[out].size != size) made.aliases.push_back({out, other, size});
            break;
        }
        case 2: {  // Split, or Slice
            const std::uint64_t first = below(static_cast<std::size_t>(columns) + 1);
            const std::uint32_t a = made.add_tensor(first * rows), b = made.add_tensor(size - first * rows);
            if (below(2) == 0) {
                made.add_operator({in}, {a, b});
                view(in, a, 0);
            } else {
                made.add_operator({in}, {b});
                made.tensors[a].is_input = true;
            }
            view(in, b, first);
            break;
        }
        case 3: {  // Concat
            const std::uint32_t out = made.add_tensor(size + made.tensors[other].size);
            made.add_operator({in, other}, {out});
            view(out, in, 0);
            view(out, other, columns);
            break;
        }
        default: made.add_operator({in}, {made.add_tensor(below(4) * rows)}); break;
    }
    for (const auto& list : {made.reads.back(), made.writes.back()})
        for (const std::uint32_t each : list)
            if (const std::uint64_t row = made.tensors[each].size / rows; row != 0 && below(5) != 0) {
                made.strides.back().push_back({each, row});
                if (row % 2 == 0) made.strides.back().push_back({each, row / 2});
            }
}

/// Makes tensors that nothing reads outputs, most of the time.
inline void add_outputs(owner& made, std::mt19937& random) {
    std::vector<bool> is_read(made.tensors.size());
    for (const auto& each : made.reads)
        for (const std::uint32_t tensor : each) is_read[tensor] = true;
    for (std::size_t i = 0; i != made.tensors.size(); ++i)
        made.tensors[i].is_output = is_read[i] ? random() % 8 == 0 : random() % 8 != 0;
}

/// Returns a random graph of tensors with rows, which views may have inside others.
inline owner random_strided_graph(std::mt19937& random, std::size_t operators) {
    owner made;
    const std::uint64_t rows = 1 + random() % 3;
    made.add_tensor(random() % 4 * rows);
    made.tensors.back().is_input = true;
    while (made.reads.size() != operators) add_random_strided(made, random, rows);
    add_outputs(made, random);
    return made;
}

/// Returns a random graph.
inline owner random_graph(std::mt19937& random, std::size_t operators) {
    owner made;
    for (std::size_t i = 1 + random() % 2; i != 0; --i) {
        made.add_tensor(random() % 20);
        made.tensors.back().is_input = true;
    }
    while (made.reads.size() != operators) add_random(made, random);
    add_outputs(made, random);
    return made;
}

}  // namespace graphs
