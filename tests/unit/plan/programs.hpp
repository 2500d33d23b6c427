// Random programs with branches and loops, and their execution along random paths: for the tests of share_branches and
// validate_branches.
#pragma once

#include "byte_machine.hpp"
#include "graphs.hpp"

#include <algorithm>
#include <set>

namespace programs {

/// A program with its arrays.
struct owner {
    graphs::owner graph;
    std::vector<std::vector<std::uint32_t>> next;  // by operator; empty: the operator after it
    mutable std::vector<std::span<const std::uint32_t>> lists{};

    [[nodiscard]] std::span<const std::span<const std::uint32_t>> view() const {
        lists.assign(next.begin(), next.end());
        return lists;
    }
};

/// v = f(x); do t = f(v), v = f(t) while …; y = f(v)
inline owner loop() {
    owner made;
    for (int i = 0; i != 4; ++i) made.graph.add_tensor(8, 4);
    made.graph.tensors[0].is_input = made.graph.tensors[3].is_output = true;
    made.graph.add_operator({0}, {1});
    made.graph.add_operator({1}, {2});
    made.graph.add_operator({2}, {1});
    made.graph.add_operator({1}, {3});
    made.next = {{}, {}, {1, 3}, {}};
    return made;
}

/// Makes a random program of matrices with `rows` rows.
class maker {
public:
    maker(std::mt19937& random, std::uint64_t rows) : random_{random}, rows_{rows} {}

    [[nodiscard]] owner make() {
        std::vector<std::uint32_t> known{tensor(), tensor()};
        for (const std::uint32_t each : known) made_.graph.tensors[each].is_input = true;
        add_block(known, 2);
        for (const std::uint32_t each : known)
            if (below(3) == 0) made_.graph.tensors[each].is_output = true;
        made_.graph.tensors[known.back()].is_output = true;
        keep_common_aliases();
        return std::move(made_);
    }

private:
    [[nodiscard]] std::uint32_t below(std::size_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
    std::uint32_t tensor(std::uint64_t columns) { return made_.graph.add_tensor(columns * rows_); }
    std::uint32_t tensor() { return tensor(1 + below(3)); }
    [[nodiscard]] std::uint64_t size(std::uint32_t of) const { return made_.graph.tensors[of].size; }
    [[nodiscard]] std::uint32_t now() const { return static_cast<std::uint32_t>(made_.graph.reads.size()); }
    std::uint32_t add(std::vector<std::uint32_t> in, std::vector<std::uint32_t> out) {
        std::vector<allot::strided_tensor> strides;
        for (const auto& list : {in, out})
            for (const std::uint32_t each : list)
                if (below(5) != 0) strides.push_back({each, size(each) / rows_});
        made_.graph.add_operator(std::move(in), std::move(out), std::move(strides));
        made_.next.emplace_back();
        return now() - 1;
    }
    void alias(std::uint32_t whole, std::uint32_t part, std::uint64_t column, bool is_view) {
        allot::row_layout rows{};
        if (is_view && size(whole) != size(part)) rows = {size(part) / rows_, size(whole) / rows_};
        made_.graph.aliases.push_back(
            {whole, part, column, is_view ? allot::alias_kind::view : allot::alias_kind::overwrite, rows});
        operator_of_.push_back(now() - 1);
    }
    /// Adds an operator that writes `out`: a view of a tensor, a result in place, or another one.
    void write(const std::vector<std::uint32_t>& known, std::uint32_t out) {
        const std::uint32_t in = known[below(known.size())];
        add({in}, {out});
        if (const auto kind = below(3); kind != 0 && in != out && size(in) == size(out)) alias(in, out, 0, kind == 1);
    }
    void add_operator(std::vector<std::uint32_t>& known) {
        const std::uint32_t in = known[below(known.size())], other = known[below(known.size())];
        const std::uint64_t columns = size(in) / rows_;
        switch (below(6)) {
            case 0: {  // Split, or Slice
                if (columns < 2) return;
                const std::uint32_t a = tensor(1), b = tensor(columns - 1);
                add({in}, {a, b});
                alias(in, a, 0, true);
                alias(in, b, 1, true);
                known.insert(known.end(), {a, b});
                return;
            }
            case 1: {  // Concat
                if (columns > 3 || in == other) return;
                const std::uint32_t out = tensor(columns + size(other) / rows_);
                add({in, other}, {out});
                alias(out, in, 0, true);
                alias(out, other, columns, true);
                known.push_back(out);
                return;
            }
            case 2: {  // an operator that writes a known tensor again
                if (!made_.graph.tensors[in].is_input || below(2) == 0) write(known, in);
                return;
            }
            default: {  // Relu, Reshape
                const std::uint32_t out = tensor(columns);
                write({in}, out);
                known.push_back(out);
                return;
            }
        }
    }
    void add_block(std::vector<std::uint32_t>& known, std::size_t depth) {
        for (std::size_t count = 1 + below(4); count != 0; --count) {
            const std::uint32_t kind = depth == 0 ? 0 : below(4);
            if (kind == 2) add_if(known, depth);
            else if (kind == 3) add_loop(known, depth);
            else add_operator(known);
        }
    }
    void add_if(std::vector<std::uint32_t>& known, std::size_t depth) {
        const std::uint32_t choice = add({}, {}), result = tensor();
        const auto branch = [&] {
            made_.next[choice].push_back(now());
            std::vector<std::uint32_t> inside = known;
            add_block(inside, depth - 1);
            write(inside, result);
        };
        branch();
        const std::uint32_t last = now() - 1;
        branch();
        made_.next[last].push_back(now());
        known.push_back(result);
    }
    void add_loop(std::vector<std::uint32_t>& known, std::size_t depth) {
        const std::uint32_t variable = tensor();
        write(known, variable);
        known.push_back(variable);
        const std::uint32_t start = now();
        std::vector<std::uint32_t> inside = known;
        add_block(inside, depth - 1);
        if (below(2) == 0) write(inside, variable);
        add({}, {});
        made_.next.back() = {start, now()};
    }
    /// Removes aliases that are no permission for all operators with their tensors, and those that are there twice.
    void keep_common_aliases() {
        std::vector<allot::graph_alias> kept;
        const auto& all = made_.graph.aliases;
        const auto is_same = [](const allot::graph_alias& a, const allot::graph_alias& b) {
            return a.whole == b.whole && a.part == b.part && a.kind == b.kind && a.offset == b.offset;
        };
        for (std::size_t i = 0; i != all.size(); ++i) {
            std::set<std::uint32_t> with, without;
            for (std::size_t j = 0; j != all.size(); ++j)
                if (is_same(all[i], all[j])) with.insert(operator_of_[j]);
            for (std::uint32_t each = 0; each != now(); ++each) {
                const auto has = [&](std::uint32_t in, std::uint32_t out) {
                    return std::ranges::count(made_.graph.reads[each], in) != 0 &&
                           std::ranges::count(made_.graph.writes[each], out) != 0;
                };
                const bool is_view = all[i].kind == allot::alias_kind::view;
                if ((has(all[i].whole, all[i].part) || (is_view && has(all[i].part, all[i].whole))) &&
                    !with.contains(each))
                    without.insert(each);
            }
            const bool is_there = std::ranges::any_of(kept, [&](const auto& each) { return is_same(each, all[i]); });
            if (without.empty() && !is_there) kept.push_back(all[i]);
        }
        made_.graph.aliases = std::move(kept);
    }

    std::mt19937& random_;
    const std::uint64_t rows_;
    owner made_{};
    std::vector<std::uint32_t> operator_of_;  // by alias
};

/// Runs a program along random paths of up to 60 operators. Returns whether all operators find their inputs.
inline bool runs(const owner& program, const std::vector<std::uint64_t>& offsets,
                 const std::vector<allot::row_layout>& rows, std::mt19937& random, int paths) {
    const allot::operator_graph graph = program.graph.view();
    graphs::byte_machine first{graph, 4096};
    for (std::size_t i = 0; i != offsets.size(); ++i)
        first.place(i, {offsets[i], rows.empty() ? allot::row_layout{} : rows[i]});
    for (std::size_t i = 0; i != offsets.size(); ++i)
        if (graph.tensors[i].is_output && !rows.empty() && rows[i].size != 0) return false;
    if (!first.begin()) return false;
    for (; paths != 0; --paths) {
        graphs::byte_machine machine = first;
        std::uint32_t now = 0;
        for (int count = 0; count != 60 && now != graph.operators.size(); ++count) {
            if (!machine.step(now)) return false;
            const auto& next = program.next[now];
            now = next.empty() ? now + 1 : next[random() % next.size()];
        }
        if (now == graph.operators.size() && !machine.end()) return false;
    }
    return true;
}

}  // namespace programs
