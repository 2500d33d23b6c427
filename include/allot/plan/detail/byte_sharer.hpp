// SPDX-License-Identifier: BSL-1.0
// byte_sharer: tries the aliases of a graph, and keeps groups of tensors at fixed distances.
//
//     alias ──► places of both groups in one ──► every operator can use them, no bytes are lost? ──► fewer live bytes?
//
// Views with rows of one tensor are tried together at first: each of them alone reserves most of the tensor, and only
// all of them save its copy.
//
// `Lives` has the steps at which each tensor is live: ordered_lives.hpp or branched_lives.hpp.
//
// Complexity: see share_bytes.hpp. Not synchronized.
#pragma once

#include <allot/plan/detail/graph_contents.hpp>
#include <allot/plan/detail/strided_place.hpp>
#include <allot/plan/detail/strided_use.hpp>
#include <allot/plan/problem.hpp>

#include <algorithm>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Lives>
class byte_sharer {
public:
    byte_sharer(const operator_graph& graph, Lives lives)
        : graph_{graph},
          contents_{graph},
          use_{graph},
          lives_{std::move(lives)},
          load_(graph.operators.size() + 1),
          overwritten_(graph.tensors.size()) {
        const std::size_t count = graph.tensors.size();
        for (const graph_alias& alias : graph.aliases)
            if (alias.kind == alias_kind::overwrite) overwritten_[alias.part].push_back(alias.whole);
        groups_.resize(count);
        group_of_.resize(count);
        places_.resize(count);
        tried_.resize(count);
        for (std::uint32_t i = 0; i != count; ++i) {
            group_of_[i] = i;
            groups_[i] = {i};
            lives_.each_step(i, [&](std::int64_t now) { load_[at(now)] += graph.tensors[i].size; });
        }
    }

    /// Tries all aliases. Rows of a tensor may become possible by later aliases, so with rows it tries again.
    /// `compares` states whether views with rows of one tensor are also tried alone before all of them are taken.
    void run(bool compares) {
        while (try_all(compares) &&
               std::ranges::any_of(places_, [](const auto& each) { return each.rows.size != 0; })) {}
    }
    /// Returns whether the most live bytes of a step are fewer than those of another result, or their sum is.
    [[nodiscard]] bool is_below(const byte_sharer& other) const noexcept { return total().is_below(other.total()); }

    /// Returns the first step at which a tensor is live, and the step after the last one.
    [[nodiscard]] lifetime live(std::uint32_t tensor) const noexcept { return lives_.hull(tensor); }
    [[nodiscard]] const strided_place& place(std::size_t tensor) const noexcept { return places_[tensor]; }
    /// Returns the first tensor of the group of a tensor.
    [[nodiscard]] std::uint32_t leader(std::size_t tensor) const noexcept { return groups_[group_of_[tensor]][0]; }
    [[nodiscard]] bool is_taken(std::uint32_t alias) const noexcept { return use_.is_taken(alias); }

private:
    struct saved_group {
        std::uint32_t index = 0;
        std::size_t begin = 0, end = 0;  // in `saved_tensors_` and `saved_places_`
    };

    [[nodiscard]] static std::size_t at(std::int64_t step) noexcept { return static_cast<std::size_t>(step); }
    [[nodiscard]] bool has_rows(const graph_alias& alias) const noexcept {
        return alias.kind == alias_kind::view &&
               (alias.rows.size != 0 || places_[alias.whole].rows.size != 0 || places_[alias.part].rows.size != 0);
    }
    [[nodiscard]] std::uint64_t size(std::uint32_t tensor) const noexcept { return graph_.tensors[tensor].size; }

    /// Tries all aliases that are not taken. Returns whether it took one.
    bool try_all(bool compares) {
        bool takes = false;
        std::vector<std::uint32_t> next;
        for (std::uint32_t i = 0, end = 0; i != graph_.aliases.size(); i = end) {
            next.clear();
            const graph_alias& first = graph_.aliases[i];
            if (!has_rows(first)) {
                if (!use_.is_taken(i)) takes |= take({&i, 1});
                end = i + 1;
                continue;
            }
            const auto belongs = [&](const graph_alias& each) { return each.whole == first.whole && has_rows(each); };
            for (end = i; end != graph_.aliases.size() && (end == i || belongs(graph_.aliases[end])); ++end)
                if (!use_.is_taken(end)) next.push_back(end);
            if (next.size() > 1) takes |= compares ? take_best(next) : take(next);
            for (const std::uint32_t each : next)
                if (!use_.is_taken(each)) takes |= take({&each, 1});
        }
        return takes;
    }
    /// Takes all of the aliases, or one of them, if that is useful.
    bool take_best(std::span<const std::uint32_t> aliases) {
        std::span<const std::uint32_t> best = aliases;
        outcome lowest = attempt(aliases);
        undo();
        for (std::size_t i = 0; i != aliases.size(); ++i) {
            const outcome found = attempt(aliases.subspan(i, 1));
            undo();
            if (!found.is_useful || (lowest.is_useful && !found.is_below(lowest))) continue;
            lowest = found;
            best = aliases.subspan(i, 1);
        }
        return lowest.is_useful && take(best);
    }
    /// Takes those of the aliases that are valid, if that is useful.
    bool take(std::span<const std::uint32_t> aliases) {
        if (!attempt(aliases).is_useful) {
            undo();
            return false;
        }
        const std::span<const std::uint64_t> before{before_}, after{heights_};
        const std::span<std::uint64_t> load = std::span{load_}.subspan(at(from_));
        for (std::size_t i = 0; i != after.size(); ++i) load[i] += after[i] - before[i];
        return true;
    }

    /// Live bytes of the steps of some groups.
    struct outcome {
        bool is_useful = false;
        std::uint64_t most = 0, sum = 0;

        [[nodiscard]] bool is_below(const outcome& other) const noexcept {
            return most != other.most ? most < other.most : sum < other.sum;
        }
    };
    [[nodiscard]] outcome total() const noexcept {
        outcome made;
        for (const std::uint64_t each : load_) {
            made.most = std::max(made.most, each);
            made.sum += each;
        }
        return made;
    }
    /// Makes groups of those of the aliases that are valid.
    outcome attempt(std::span<const std::uint32_t> aliases) {
        saved_.clear();
        saved_tensors_.clear();
        saved_places_.clear();
        taken_.clear();
        outcome before;
        for (const std::uint32_t i : aliases) use_.take(i);
        for (const std::uint32_t i : aliases) {
            if (!can_join(graph_.aliases[i])) {
                use_.leave(i);
                continue;
            }
            if (taken_.empty()) {
                for (const std::uint32_t each : aliases) save(graph_.aliases[each]);
                find_steps();
                before = measure_all(before_);
            }
            join(group_of_[graph_.aliases[i].whole], group_of_[graph_.aliases[i].part]);
            taken_.push_back(i);
        }
        if (taken_.empty()) return {};
        outcome after = measure_all(heights_);
        // An operator may have to copy bytes of an alias that was expected to be taken.
        const bool is_valid =
            taken_.size() == aliases.size() || std::ranges::all_of(saved_, [&](const saved_group& each) {
                return are_permitted(groups_[each.index], places_);
            });
        after.is_useful = is_valid && !before.is_below(after);
        return after;
    }
    void undo() {
        for (const auto& [index, begin, end] : saved_) {
            const auto tensors = std::span{saved_tensors_}.subspan(begin, end - begin);
            groups_[index].assign(tensors.begin(), tensors.end());
            for (std::size_t i = begin; i != end; ++i) {
                group_of_[saved_tensors_[i]] = index;
                places_[saved_tensors_[i]] = saved_places_[i];
            }
        }
        for (const std::uint32_t each : taken_) use_.leave(each);
    }
    void save(const graph_alias& alias) {
        for (const std::uint32_t group : {group_of_[alias.whole], group_of_[alias.part]}) {
            const auto is_it = [&](const saved_group& each) { return each.index == group; };
            if (std::ranges::any_of(saved_, is_it)) continue;
            const std::size_t begin = saved_tensors_.size();
            saved_tensors_.insert(saved_tensors_.end(), groups_[group].begin(), groups_[group].end());
            for (const std::uint32_t each : groups_[group]) saved_places_.push_back(places_[each]);
            saved_.push_back({group, begin, saved_tensors_.size()});
        }
    }

    /// Returns whether the groups of two tensors can be one, and sets the places to try.
    [[nodiscard]] bool can_join(const graph_alias& alias) {
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
        return true;
    }
    /// Makes one group of two, with the places to try.
    void join(std::uint32_t a, std::uint32_t b) {
        if (a == b) return;
        for (const std::uint32_t each : groups_[a]) places_[each] = tried_[each];
        for (const std::uint32_t each : groups_[b]) {
            places_[each] = tried_[each];
            group_of_[each] = a;
            groups_[a].push_back(each);
        }
        groups_[b].clear();
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
        return moves || keeps_overwrites(b);
    }
    /// Returns whether each tensor of a group that overwrites an input still has its place, also if the input got rows.
    [[nodiscard]] bool keeps_overwrites(std::uint32_t group) const noexcept {
        return std::ranges::all_of(groups_[group], [&](std::uint32_t out) {
            return std::ranges::all_of(overwritten_[out], [&](std::uint32_t in) {
                return group_of_[in] != group || places_[in] != places_[out] || tried_[in] == tried_[out];
            });
        });
    }
    /// Returns whether two tensors may be at the places to try.
    [[nodiscard]] bool may_share(std::uint32_t a, std::uint32_t b) const {
        const strided_place &at_a = tried_[a], &at_b = tried_[b];
        if (at_a.at >= at_b.end(size(b)) || at_b.at >= at_a.end(size(a)) || !lives_.overlap(a, b)) return true;
        const auto is_equal = [&](std::uint64_t in_a, std::uint64_t in_b, std::uint64_t bytes) {
            return contents_.are_equal(a, in_a, b, in_b, bytes);
        };
        if (each_common(at_a, size(a), at_b, size(b), is_equal)) return true;
        return at_a == at_b && lives_.take_turns(a, b, [&](std::uint32_t in, std::uint32_t out) {
            return std::ranges::count(overwritten_[out], in) != 0;
        });
    }
    /// Sets the steps at which tensors of the saved groups are live.
    void find_steps() {
        from_ = live(saved_tensors_[0]).from;
        std::int64_t until = from_;
        for (const std::uint32_t each : saved_tensors_) {
            from_ = std::min(from_, live(each).from);
            until = std::max(until, live(each).until);
        }
        steps_ = at(until - from_);
    }
    /// Raises `heights` to the highest byte of a group's live tensors at each step.
    void measure(const std::vector<std::uint32_t>& group, std::span<std::uint64_t> heights) const {
        for (const std::uint32_t each : group)
            lives_.each_step(each, [heights, from = from_, end = places_[each].end(size(each))](std::int64_t now) {
                std::uint64_t& height = heights[at(now - from)];
                height = std::max(height, end);
            });
    }
    /// Sets `heights` to the sum of those of the saved groups, from the first of their steps on, and returns the live
    /// bytes of these steps. `load_` contains the heights before the attempt.
    outcome measure_all(std::vector<std::uint64_t>& heights) {
        heights.assign(steps_, 0);
        bool is_first = true;
        for (const saved_group& each : saved_) {
            const std::vector<std::uint32_t>& group = groups_[each.index];
            if (group.size() < 2) continue;
            if (std::exchange(is_first, false)) {
                measure(group, heights);
                continue;
            }
            group_heights_.assign(steps_, 0);
            measure(group, group_heights_);
            for (std::size_t i = 0; i != steps_; ++i) heights[i] += group_heights_[i];
        }
        for (const saved_group& group : saved_) {
            if (groups_[group.index].size() != 1) continue;
            const std::uint32_t only = groups_[group.index][0];
            lives_.each_step(only,
                             [sums = std::span<std::uint64_t>{heights}, from = from_,
                              end = places_[only].end(size(only))](std::int64_t now) { sums[at(now - from)] += end; });
        }
        outcome made;
        const std::span<const std::uint64_t> before{before_}, after{heights},
            load = std::span{load_}.subspan(at(from_));
        for (std::size_t i = 0; i != after.size(); ++i) {
            made.most = std::max(made.most, load[i] - before[i] + after[i]);
            made.sum += after[i];
        }
        return made;
    }

    operator_graph graph_;
    graph_contents contents_;
    strided_use use_;
    Lives lives_;
    std::vector<std::uint64_t> load_;                      // by step: live bytes
    std::vector<std::vector<std::uint32_t>> overwritten_;  // by output: the inputs whose bytes it may take
    std::vector<std::vector<std::uint32_t>> groups_;       // tensors at fixed distances; empty if merged into another
    std::vector<std::uint32_t> group_of_;                  // by tensor
    std::vector<strided_place> places_, tried_;            // by tensor: in its group
    std::vector<std::uint64_t> heights_, group_heights_, before_;  // by step from `from_` on
    std::int64_t from_ = 0;
    std::size_t steps_ = 0;
    std::vector<saved_group> saved_;  // groups before an attempt
    std::vector<std::uint32_t> saved_tensors_;
    std::vector<strided_place> saved_places_;
    std::vector<std::uint32_t> taken_;  // aliases of an attempt
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
