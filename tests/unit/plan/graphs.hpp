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
    mutable std::vector<allot::graph_operator> operators{};

    [[nodiscard]] allot::operator_graph view() const {
        operators.clear();
        for (std::size_t i = 0; i != reads.size(); ++i) operators.push_back({reads[i], writes[i]});
        return {tensors, operators, aliases};
    }
    std::uint32_t add_tensor(std::uint64_t size, std::uint64_t align = 1) {
        tensors.push_back({.size = size, .align = align});
        return static_cast<std::uint32_t>(tensors.size() - 1);
    }
    void add_operator(std::vector<std::uint32_t> in, std::vector<std::uint32_t> out) {
        reads.push_back(std::move(in));
        writes.push_back(std::move(out));
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

/// Returns a random graph. Tensors that nothing reads are outputs, most of the time.
inline owner random_graph(std::mt19937& random, std::size_t operators) {
    owner made;
    for (std::size_t i = 1 + random() % 2; i != 0; --i) {
        made.add_tensor(random() % 20);
        made.tensors.back().is_input = true;
    }
    while (made.reads.size() != operators) add_random(made, random);
    std::vector<bool> is_read(made.tensors.size());
    for (const auto& each : made.reads)
        for (const std::uint32_t tensor : each) is_read[tensor] = true;
    for (std::size_t i = 0; i != made.tensors.size(); ++i)
        made.tensors[i].is_output = is_read[i] ? random() % 8 == 0 : random() % 8 != 0;
    return made;
}

}  // namespace graphs
