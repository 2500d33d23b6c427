// SPDX-License-Identifier: BSL-1.0
// byte_sharer: tries the aliases of a graph, and keeps groups of tensors at fixed distances.
//
//     alias ──► places of both groups in one ──► every operator can use them, no bytes are lost? ──► fewer live bytes?
//
// Views with rows of one tensor are tried together at first: each of them alone reserves most of the tensor, and only
// all of them save its copy.
//
// Complexity: see share_bytes.hpp. Not synchronized.
#pragma once

#include <allot/plan/detail/graph_contents.hpp>
#include <allot/plan/detail/strided_place.hpp>
#include <allot/plan/detail/strided_use.hpp>
#include <allot/plan/problem.hpp>

#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

class byte_sharer {
public:
    byte_sharer(const operator_graph& graph, std::span<const std::uint32_t> order)
        : graph_{graph},
          contents_{graph},
          use_{graph},
          live_(graph.tensors.size()),
          load_(graph.operators.size() + 1),
          overwritten_(graph.tensors.size()) {
        const std::size_t count = graph.tensors.size();
        const auto end = static_cast<std::int64_t>(std::max<std::size_t>(graph.operators.size(), 1));
        for (std::size_t i = 0; i != count; ++i) live_[i] = {0, graph.tensors[i].is_input ? 1 : 0};
        for (std::int64_t now = 0; const std::uint32_t each : order) {
            for (const std::uint32_t tensor : graph.operators[each].writes) live_[tensor] = {now, now + 1};
            for (const std::uint32_t tensor : graph.operators[each].reads) live_[tensor].until = now + 1;
            ++now;
        }
        for (const graph_alias& alias : graph.aliases)
            if (alias.kind == alias_kind::overwrite) overwritten_[alias.part].push_back(alias.whole);
        groups_.resize(count);
        group_of_.resize(count);
        places_.resize(count);
        tried_.resize(count);
        for (std::uint32_t i = 0; i != count; ++i) {
            if (graph.tensors[i].is_output) live_[i].until = end;
            group_of_[i] = i;
            groups_[i] = {i};
            for (std::int64_t now = live_[i].from; now != live_[i].until; ++now)
                load_[at(now)] += graph.tensors[i].size;
        }
    }

    /// Tries all aliases. Rows of a tensor may become possible by later aliases, so with rows it tries again.
    void run() {
        while (try_all() && std::ranges::any_of(places_, [](const auto& each) { return each.rows.size != 0; })) {}
    }

    [[nodiscard]] lifetime live(std::size_t tensor) const noexcept { return live_[tensor]; }
    [[nodiscard]] const strided_place& place(std::size_t tensor) const noexcept { return places_[tensor]; }
    /// Returns the first tensor of the group of a tensor.
    [[nodiscard]] std::uint32_t leader(std::size_t tensor) const noexcept { return groups_[group_of_[tensor]][0]; }
    [[nodiscard]] bool is_taken(std::uint32_t alias) const noexcept { return use_.is_taken(alias); }

private:
    struct saved_group {
        std::uint32_t index = 0;
        std::vector<std::uint32_t> tensors;
        std::vector<strided_place> places;
    };

    [[nodiscard]] static std::size_t at(std::int64_t step) noexcept { return static_cast<std::size_t>(step); }
    [[nodiscard]] bool has_rows(const graph_alias& alias) const noexcept {
        return alias.kind == alias_kind::view && (alias.rows.size != 0 || places_[alias.whole].rows.size != 0 ||
                                                  places_[alias.part].rows.size != 0);
    }
    [[nodiscard]] std::uint64_t size(std::uint32_t tensor) const noexcept { return graph_.tensors[tensor].size; }

    /// Tries all aliases that are not taken. Returns whether it took one.
    bool try_all() {
        bool takes = false;
        std::vector<std::uint32_t> next;
        for (std::uint32_t i = 0, end = 0; i != graph_.aliases.size(); i = end) {
            next.clear();
            const graph_alias& first = graph_.aliases[i];
            const auto belongs = [&](const graph_alias& each) {
                return each.whole == first.whole && has_rows(first) && has_rows(each);
            };
            for (end = i; end != graph_.aliases.size() && (end == i || belongs(graph_.aliases[end])); ++end)
                if (!use_.is_taken(end)) next.push_back(end);
            if (next.size() > 1 && take(next)) takes = true;
            else
                for (const std::uint32_t each : next) takes |= take({&each, 1});
        }
        return takes;
    }
    /// Takes those aliases that are valid, if they are useful together.
    bool take(std::span<const std::uint32_t> aliases) {
        std::vector<saved_group> saved;
        for (const std::uint32_t i : aliases) {
            save(group_of_[graph_.aliases[i].whole], saved);
            save(group_of_[graph_.aliases[i].part], saved);
        }
        measure_before(saved);
        std::vector<std::uint32_t> taken;
        for (const std::uint32_t i : aliases) use_.take(i);
        for (const std::uint32_t i : aliases)
            if (join(graph_.aliases[i])) taken.push_back(i);
            else use_.leave(i);
        if (taken.empty()) return false;
        // An operator may have to copy bytes of an alias that was expected to be taken.
        const bool is_valid = taken.size() == aliases.size() || std::ranges::all_of(saved, [&](const saved_group& each) {
                                  return are_permitted(groups_[each.index], places_);
                              });
        if (is_valid && (saved.size() == 1 || lowers_load(saved))) return true;
        for (const saved_group& each : saved) restore(each);
        for (const std::uint32_t each : taken) use_.leave(each);
        return false;
    }
    void save(std::uint32_t group, std::vector<saved_group>& saved) const {
        for (const saved_group& each : saved)
            if (each.index == group) return;
        saved.push_back({group, groups_[group], {}});
        for (const std::uint32_t each : groups_[group]) saved.back().places.push_back(places_[each]);
    }
    void restore(const saved_group& of) {
        groups_[of.index] = of.tensors;
        for (std::size_t i = 0; i != of.tensors.size(); ++i) {
            group_of_[of.tensors[i]] = of.index;
            places_[of.tensors[i]] = of.places[i];
        }
    }

    /// Makes one group of those of two tensors, if the alias is valid.
    [[nodiscard]] bool join(const graph_alias& alias) {
        const std::uint32_t a = group_of_[alias.whole], b = group_of_[alias.part];
        const strided_place inner{alias.offset, simplified(alias.rows, size(alias.part))};
        const auto [wanted, exists] = place_inside(places_[alias.whole], inner, size(alias.part));
        if (!exists || (alias.kind == alias_kind::overwrite && wanted.rows != places_[alias.whole].rows)) return false;
        if (a == b) return places_[alias.part] == wanted;
        if (!move_groups(a, b, places_[alias.part], wanted, size(alias.part))) return false;
        if (!are_permitted(groups_[a], tried_) || !are_permitted(groups_[b], tried_)) return false;
        for (const std::uint32_t first : groups_[a])
            for (const std::uint32_t second : groups_[b])
                if (!may_share(first, second)) return false;
        for (const std::uint32_t each : groups_[a]) places_[each] = tried_[each];
        for (const std::uint32_t each : groups_[b]) {
            places_[each] = tried_[each];
            group_of_[each] = a;
            groups_[a].push_back(each);
        }
        groups_[b].clear();
        return true;
    }
    /// Returns whether all tensors of a group are aligned at the places, and all operators can use their rows.
    [[nodiscard]] bool are_permitted(const std::vector<std::uint32_t>& group,
                                     const std::vector<strided_place>& places) const noexcept {
        return std::ranges::all_of(group, [&](std::uint32_t each) {
            return places[each].at % graph_.tensors[each].align == 0 && use_.permits(each, places[each].rows);
        });
    }
    /// Sets the places to try: those of group `b` go from `has` to `wanted`. Returns false if they cannot.
    [[nodiscard]] bool move_groups(std::uint32_t a, std::uint32_t b, strided_place has, strided_place wanted,
                                   std::uint64_t bytes) {
        // Places of group b move up by `up`, or those of group a by `down`.
        const bool moves = has.rows == wanted.rows;
        const std::uint64_t up = wanted.at > has.at ? wanted.at - has.at : 0;
        const std::uint64_t down = moves && has.at > wanted.at ? has.at - wanted.at : 0;
        for (const std::uint32_t each : groups_[a]) tried_[each] = places_[each].moved(places_[each].at + down);
        for (const std::uint32_t each : groups_[b]) {
            const strided_place& place = places_[each];
            tried_[each] = place.moved(place.at + up);
            if (moves) continue;
            // Only a group within consecutive bytes can get rows.
            if (has.rows.size != 0 || place.at < has.at || place.end(size(each)) > has.at + bytes) return false;
            const auto [found, exists] = place_inside(wanted, place.moved(place.at - has.at), size(each));
            if (!exists) return false;
            tried_[each] = found;
        }
        return true;
    }
    /// Returns whether two tensors may be at the places to try.
    [[nodiscard]] bool may_share(std::uint32_t a, std::uint32_t b) const {
        const strided_place &at_a = tried_[a], &at_b = tried_[b];
        if (at_a.at >= at_b.end(size(b)) || at_b.at >= at_a.end(size(a)) || !live_[a].overlaps(live_[b])) return true;
        const auto is_equal = [&](std::uint64_t in_a, std::uint64_t in_b, std::uint64_t bytes) {
            return contents_.are_equal(a, in_a, b, in_b, bytes);
        };
        if (each_common(at_a, size(a), at_b, size(b), is_equal)) return true;
        return at_a == at_b && (overwrites(a, b) || overwrites(b, a));
    }
    /// Returns whether `out` takes the bytes of `in` at the only step at which both are live.
    [[nodiscard]] bool overwrites(std::uint32_t in, std::uint32_t out) const noexcept {
        if (graph_.tensors[in].is_output || live_[in].until != live_[out].from + 1) return false;
        return std::ranges::count(overwritten_[out], in) != 0;
    }

    /// Adds the highest byte of a group's live tensors at each step to `heights`.
    void measure(const std::vector<std::uint32_t>& group, std::vector<std::uint64_t>& heights) {
        group_heights_.assign(heights.size(), 0);
        for (const std::uint32_t each : group)
            for (std::int64_t now = live_[each].from; now != live_[each].until; ++now) {
                std::uint64_t& height = group_heights_[at(now - from_)];
                height = std::max(height, places_[each].end(size(each)));
            }
        for (std::size_t i = 0; i != heights.size(); ++i) heights[i] += group_heights_[i];
    }
    void measure_before(const std::vector<saved_group>& saved) {
        from_ = live_[saved[0].tensors[0]].from;
        std::int64_t until = from_;
        for (const saved_group& group : saved)
            for (const std::uint32_t each : group.tensors) {
                from_ = std::min(from_, live_[each].from);
                until = std::max(until, live_[each].until);
            }
        before_.assign(at(until - from_), 0);
        for (const saved_group& group : saved) measure(group.tensors, before_);
    }
    /// Returns whether the new groups lower the most live bytes of their steps, or their sum, and updates the load.
    [[nodiscard]] bool lowers_load(const std::vector<saved_group>& saved) {
        heights_.assign(before_.size(), 0);
        for (const saved_group& group : saved) measure(groups_[group.index], heights_);
        std::uint64_t most = 0, most_before = 0, saves = 0, loses = 0;
        for (std::size_t i = 0; i != heights_.size(); ++i) {
            const std::uint64_t load = load_[at(from_) + i];
            most_before = std::max(most_before, load);
            most = std::max(most, load - before_[i] + heights_[i]);
            (heights_[i] > before_[i] ? loses : saves) +=
                heights_[i] > before_[i] ? heights_[i] - before_[i] : before_[i] - heights_[i];
        }
        if (most > most_before || (most == most_before && loses > saves)) return false;
        for (std::size_t i = 0; i != heights_.size(); ++i) load_[at(from_) + i] += heights_[i] - before_[i];
        return true;
    }

    operator_graph graph_;
    graph_contents contents_;
    strided_use use_;
    std::vector<lifetime> live_;                           // by tensor: positions in the order
    std::vector<std::uint64_t> load_;                      // by step: live bytes
    std::vector<std::vector<std::uint32_t>> overwritten_;  // by output: the inputs whose bytes it may take
    std::vector<std::vector<std::uint32_t>> groups_;       // tensors at fixed distances; empty if merged into another
    std::vector<std::uint32_t> group_of_;                  // by tensor
    std::vector<strided_place> places_, tried_;            // by tensor: in its group
    std::vector<std::uint64_t> heights_, group_heights_, before_;  // by step from `from_` on
    std::int64_t from_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
