// SPDX-License-Identifier: BSL-1.0
// ranged_planner: divides the values of symbols into pieces, and finds an order of the buffers for each.
//
//     all values ──► known orders, then plans for the largest, smallest and middle values ──► good? ──► a piece
//         ▲                                                                                     │ no
//         └──────────── two parts, the range with the highest excess first ◄────────────────────┘
//
// A first division finds orders. The second one begins with all of them, so that few pieces are sufficient. An order
// is good if it is within the tolerance for a grid of values and for values that are spread over the range, and if no
// proof for all values fails. Where an order exceeds the load of some values, these values are planned, and the order
// is compared with the lowest known plan. Values for which an order failed are measured from then on.
//
// A range is divided where the best known orders of the two parts exceed the tolerance least. A symbol that is a factor
// of all sizes is not divided then.
//
// A proof compares the peak for the largest values of a range with the lower bound for the smallest ones, and divides
// the range while they are too far from each other.
#pragma once

#include <allot/plan/detail/ranged_sizes.hpp>
#include <allot/plan/detail/value_range.hpp>

#include <algorithm>
#include <map>

namespace allot {
inline namespace v1 {
namespace detail {

class ranged_planner {
public:
    ranged_planner(const ranged_problem& of, const ranged_options& options)
        : of_{of},
          options_{options},
          sizes_{of.sizes},
          plans_left_{16 * options.pieces_at_most},
          samples_left_{options.effort / 4},
          left_{options.effort / 4} {}

    [[nodiscard]] result<ranged_plan, plan_error> run() {
        using answer = result<ranged_plan, plan_error>;
        value_range whole;
        whole.most.assign(of_.sizes.bounds.begin(), of_.sizes.bounds.end());
        whole.least.assign(of_.least.begin(), of_.least.end());
        whole.least.resize(whole.most.size());
        if (!sizes_.set(whole.most) || !sizes_.are_small()) return answer::failure({plan_refusal::too_large, 0});
        static_cast<void>(divide(whole, 4 * options_.pieces_at_most));  // finds orders
        proves_ = true;
        std::vector<trial> made = divide(whole, options_.pieces_at_most);
        if (error_.reason != plan_refusal::none) return answer::failure(error_);
        return finish(std::move(made));
    }

private:
    static constexpr std::uint64_t none = ranged_piece::unproved;
    static constexpr std::uint64_t largest_target = 10'000;  // thousandths
    static constexpr std::size_t orders_compared = 64;       // to divide a range

    /// A range and the best order that is known for it.
    struct trial {
        value_range range;
        std::size_t order = 0, symbol = 0;  // `symbol` and `cut`: where the range is divided
        std::uint64_t cut = 0;
        std::uint64_t measured = none;  // excess for some values
        std::uint64_t excess = none;    // proved
        bool is_accepted = false;       // proved to be within the tolerance, or no value is known that is not
    };

    /// Divides a range until an order is accepted for each part, or there are too many parts.
    [[nodiscard]] std::vector<trial> divide(const value_range& whole, std::size_t parts_at_most) {
        std::vector<trial> open{examine(whole)};
        std::vector<trial> closed;
        while (!open.empty() && error_.reason == plan_refusal::none) {
            const auto worst = std::max_element(open.begin(), open.end(),
                                                [](const trial& a, const trial& b) { return a.measured < b.measured; });
            std::iter_swap(worst, open.end() - 1);
            trial now = std::move(open.back());
            open.pop_back();
            const bool may_split = closed.size() + open.size() + 2 <= parts_at_most;
            if (now.is_accepted || now.range.is_point() || !may_split) {
                closed.push_back(std::move(now));
                continue;
            }
            open.push_back(examine(now.range.lower_part(now.symbol, now.cut)));
            open.push_back(examine(now.range.upper_part(now.symbol, now.cut)));
        }
        return closed;
    }

    /// Values for which orders are measured.
    struct probe {
        std::vector<std::uint64_t> values;
        std::uint64_t load = 0;
    };

    [[nodiscard]] static std::uint64_t excess_of(std::uint64_t peak, std::uint64_t load) noexcept {
        if (peak <= load) return 0;
        return load == 0 ? none : ((peak - load) * 1000 + load - 1) / load;
    }
    [[nodiscard]] probe probe_at(std::vector<std::uint64_t> values) {
        static_cast<void>(sizes_.set(values));  // cannot fail below the bounds
        return {std::move(values), sizes_.load()};
    }
    [[nodiscard]] std::vector<probe> probes_of(const value_range& range) {
        std::vector<probe> made;
        made.push_back(probe_at(range.most));
        made.push_back(probe_at(range.least));
        std::vector<std::uint64_t> middle(range.most.size());
        for (std::size_t i = 0; i != middle.size(); ++i) middle[i] = range.middle(i);
        made.push_back(probe_at(std::move(middle)));
        for (std::size_t i = 0; i != range.most.size() && range.most.size() > 1; ++i) {
            std::vector<std::uint64_t> corner = range.most;
            corner[i] = range.least[i];
            made.push_back(probe_at(std::move(corner)));
        }
        for (const probe& each : hard_)
            if (range.holds(each.values)) made.push_back(each);
        add_grid(made, range);
        return made;
    }
    /// Adds all combinations of five values of each of the first symbols, or of three values of four symbols.
    void add_grid(std::vector<probe>& made, const value_range& range) {
        const std::size_t symbols = std::min<std::size_t>(range.most.size(), 4), levels = symbols == 4 ? 3 : 5;
        std::vector<std::vector<std::uint64_t>> at(symbols);
        std::size_t combinations = 1;
        for (std::size_t i = 0; i != symbols; ++i) {
            combinations *= levels;
            at[i].assign(levels, range.most[i]);
            if (range.least[i] == range.most[i]) continue;
            at[i] = {range.most[i], range.least[i], range.middle(i), range.lower_half(i).middle(i),
                     range.upper_half(i).middle(i)};
        }
        for (std::size_t k = 0; k != combinations; ++k) {
            std::vector<std::uint64_t> values = range.most;
            for (std::size_t i = 0, rest = k; i != symbols; ++i, rest /= levels) values[i] = at[i][rest % levels];
            made.push_back(probe_at(std::move(values)));
        }
    }
    /// Returns by how much an order exceeds the lowest known plan for some values, or their load if it is within the
    /// tolerance of that.
    [[nodiscard]] std::uint64_t excess_at(std::size_t order, const probe& at) {
        static_cast<void>(sizes_.set(at.values));
        const std::uint64_t peak = sizes_.peak_of(orders_[order]), above_load = excess_of(peak, at.load);
        return above_load <= options_.tolerance ? above_load : excess_of(peak, std::max(at.load, lowest_at(at.values)));
    }
    /// Returns the peak of the lowest known plan for these values. Plans them if a plan is left.
    [[nodiscard]] std::uint64_t lowest_at(const std::vector<std::uint64_t>& values) {
        if (const auto known = lowest_.find(values); known != lowest_.end()) return known->second;
        if (plans_left_ != 0) static_cast<void>(order_at(values));
        static_cast<void>(sizes_.set(values));
        std::uint64_t lowest = none;
        for (const stacking_order& each : orders_) lowest = std::min(lowest, sizes_.peak_of(each));
        lowest_.emplace(values, lowest);
        return lowest;
    }
    /// Returns the highest excess for the values, or the first one above `enough`.
    [[nodiscard]] std::uint64_t measure(std::size_t order, std::span<const probe> probes, std::uint64_t enough = none) {
        std::uint64_t most = 0;
        for (auto each = probes.begin(); each != probes.end() && most <= enough; ++each)
            most = std::max(most, excess_at(order, *each));
        return most;
    }

    /// Looks for an order that is within the tolerance for all values of a range.
    [[nodiscard]] trial examine(value_range range) {
        trial made{std::move(range)};
        const std::vector<probe> probes = probes_of(made.range);
        for (std::size_t i = orders_.size(); i-- != 0;) try_order(made, i, probes);
        for (std::size_t i = 0; i != std::min<std::size_t>(probes.size(), 3) && !made.is_accepted; ++i) {
            const std::size_t order = order_at(probes[i].values);
            if (error_.reason != plan_refusal::none) return made;
            try_order(made, order, probes);
        }
        if (!made.is_accepted && !made.range.is_point()) choose_split(made, probes);
        return made;
    }
    void try_order(trial& made, std::size_t order, std::span<const probe> probes) {
        if (made.is_accepted) return;
        const std::uint64_t measured = measure(order, probes, std::max(options_.tolerance, made.measured));
        if (measured < made.measured) {
            made.measured = measured;
            made.order = order;
        }
        if (measured > options_.tolerance) return;
        outcome found;
        if (proves_) {
            const std::uint64_t sampled = measure_samples(order, made.range);
            if (sampled > options_.tolerance) return;
            found = proof(order, made.range, options_.tolerance, options_.effort / 16);
            // Without a proof, other values may be an eighth worse than the samples.
            if (found.is_refuted || (found.excess == none && sampled > options_.tolerance - options_.tolerance / 8))
                return;
        }
        made.order = order;
        made.measured = measured;
        made.excess = found.excess;
        made.is_accepted = true;
    }
    /// Returns the highest excess for values that are spread over a range, or the first one above the tolerance. Those
    /// values are probes from then on.
    [[nodiscard]] std::uint64_t measure_samples(std::size_t order, const value_range& range) {
        std::uint64_t most = 0;
        const std::uint64_t count =
            std::min(range.count(), std::uint64_t{16} << 2 * std::min<std::size_t>(range.most.size(), 4));
        for (std::uint64_t k = 1; k <= count && samples_left_ != 0 && most <= options_.tolerance; ++k) {
            --samples_left_;
            const probe at = probe_at(range.sample(k));
            most = std::max(most, excess_at(order, at));
            if (most > options_.tolerance) hard_.push_back(at);
        }
        return most;
    }
    /// Sets where a range is divided: at one of three values of a symbol, so that the best known orders of the two
    /// parts exceed the tolerance least.
    void choose_split(trial& made, std::span<const probe> probes) {
        made.symbol = made.range.widest();
        made.cut = made.range.middle(made.symbol);
        const std::size_t first = orders_.size() - std::min(orders_.size(), orders_compared);
        std::vector<std::vector<std::uint64_t>> excess(orders_.size() - first);  // by order and probe
        for (const probe& each : probes) {
            static_cast<void>(sizes_.set(each.values));
            const auto known = lowest_.find(each.values);
            const std::uint64_t lowest = known == lowest_.end() ? each.load : std::max(each.load, known->second);
            for (std::size_t i = first; i != orders_.size(); ++i)
                excess[i - first].push_back(std::min(excess_of(sizes_.peak_of(orders_[i]), lowest), largest_target));
        }
        std::uint64_t least = none;
        for (std::size_t symbol = 0; symbol != made.range.most.size(); ++symbol) {
            if (made.range.least[symbol] == made.range.most[symbol]) continue;
            const std::uint64_t middle = made.range.middle(symbol);
            for (const std::uint64_t cut :
                 {middle, made.range.lower_half(symbol).middle(symbol), made.range.upper_half(symbol).middle(symbol)}) {
                if (cut == made.range.most[symbol]) continue;
                const std::uint64_t sum = excess_of_parts(excess, probes, symbol, cut);
                if (sum >= least) continue;
                least = sum;
                made.symbol = symbol;
                made.cut = cut;
            }
        }
    }
    /// Returns the sum of the excesses of the two parts of a range that is divided at `cut`, each with its best order.
    /// `excess` is by order and probe.
    [[nodiscard]] std::uint64_t excess_of_parts(const std::vector<std::vector<std::uint64_t>>& excess,
                                                std::span<const probe> probes, std::size_t symbol,
                                                std::uint64_t cut) const {
        std::uint64_t lower = none, upper = none;
        for (const std::vector<std::uint64_t>& of_order : excess) {
            std::uint64_t most[2] = {options_.tolerance, options_.tolerance};
            for (std::size_t i = 0; i != probes.size(); ++i) {
                std::uint64_t& part = most[probes[i].values[symbol] > cut];
                part = std::max(part, of_order[i]);
            }
            lower = std::min(lower, most[0]);
            upper = std::min(upper, most[1]);
        }
        return lower + upper;
    }
    /// Returns the index of the order of a plan for these values.
    [[nodiscard]] std::size_t order_at(const std::vector<std::uint64_t>& values) {
        if (const auto known = planned_.find(values); known != planned_.end()) return known->second;
        plans_left_ -= plans_left_ != 0;
        static_cast<void>(sizes_.set(values));
        auto made = sizes_.planned_order(options_.each);
        if (!made) {
            error_ = made.error();
            return 0;
        }
        const auto same = std::find(orders_.begin(), orders_.end(), *made);
        const auto order = static_cast<std::size_t>(same - orders_.begin());
        if (same == orders_.end()) orders_.push_back(*std::move(made));
        planned_.emplace(values, order);
        return order;
    }

    struct outcome {
        std::uint64_t excess = none;  // that holds for all values of a range
        bool is_refuted = false;      // a value exceeds the target
    };
    /// Looks for a proof that an excess up to `target` holds for all values of a range, in at most `limit` parts.
    [[nodiscard]] outcome proof(std::size_t order, const value_range& whole, std::uint64_t target,
                                std::uint64_t limit) {
        std::vector<value_range> open{whole};
        std::uint64_t most = 0;
        while (!open.empty()) {
            const value_range range = std::move(open.back());
            open.pop_back();
            if (left_ == 0 || limit-- == 0) return {};
            --left_;
            static_cast<void>(sizes_.set(range.least));
            const std::uint64_t load = sizes_.load();
            if (!range.is_point()) static_cast<void>(sizes_.set(range.most));
            const std::uint64_t peak = sizes_.peak_of(orders_[order]), excess = excess_of(peak, load);
            if (excess <= target) {
                most = std::max(most, excess);
                continue;
            }
            if (range.is_point() || excess_of(peak, sizes_.load()) > target) {
                if (excess_of(peak, lowest_at(range.most)) > target) return {.is_refuted = true};
                return {};  // the load is too low for a proof
            }
            const std::size_t symbol = range.widest();
            open.push_back(range.upper_half(symbol));
            open.push_back(range.lower_half(symbol));
        }
        return {most};
    }

    /// Proves the lowest excess that a part of the effort permits. A high excess takes few parts, so it is first.
    void state_excess(trial& of, std::uint64_t limit) {
        if (of.excess == none) of.excess = proof(of.order, of.range, largest_target, limit).excess;
        while (of.excess != none && of.excess > of.measured) {
            const std::uint64_t part = of.excess > 2 * options_.tolerance ? of.excess / 4 * 3 : of.excess / 2;
            const std::uint64_t lower = proof(of.order, of.range, std::max(of.measured, part), limit).excess;
            if (lower == none) break;
            of.excess = lower;
        }
    }

    /// Joins neighbors with one order, and drops the orders of no piece.
    [[nodiscard]] ranged_plan finish(std::vector<trial> trials) {
        ranged_plan made;
        made.of = of_;
        made.align = sizes_.align();
        left_ += options_.effort - options_.effort / 4 * 2;
        std::size_t open = trials.size();
        for (trial& each : trials) {
            state_excess(each, left_ / (3 * open--));
            made.pieces.push_back(
                {std::move(each.range.least), std::move(each.range.most), each.order, 0, each.excess});
        }
        while (join(made.pieces)) {}
        std::sort(made.pieces.begin(), made.pieces.end(),
                  [](const ranged_piece& a, const ranged_piece& b) { return a.least < b.least; });
        std::vector<std::size_t> becomes(orders_.size(), orders_.size());
        for (ranged_piece& each : made.pieces) {
            if (becomes[each.order] == orders_.size()) {
                becomes[each.order] = made.orders.size();
                made.orders.push_back(orders_[each.order]);
            }
            each.order = becomes[each.order];
            static_cast<void>(sizes_.set(each.most));
            each.peak = sizes_.peak_of(made.orders[each.order]);
            made.peak = std::max(made.peak, each.peak);
        }
        return made;
    }
    /// Joins two pieces that differ in the range of one symbol. Returns false if no such pieces exist.
    [[nodiscard]] static bool join(std::vector<ranged_piece>& pieces) {
        for (ranged_piece& a : pieces)
            for (auto b = pieces.begin(); b != pieces.end(); ++b) {
                if (a.order != b->order) continue;
                std::size_t different = 0, symbol = 0;
                for (std::size_t i = 0; i != a.least.size(); ++i)
                    if (a.least[i] != b->least[i] || a.most[i] != b->most[i]) {
                        ++different;
                        symbol = i;
                    }
                if (different != 1 || b->least[symbol] == 0 || a.most[symbol] != b->least[symbol] - 1) continue;
                a.most[symbol] = b->most[symbol];
                a.excess = std::max(a.excess, b->excess);
                pieces.erase(b);
                return true;
            }
        return false;
    }

    ranged_problem of_;
    ranged_options options_;
    ranged_sizes sizes_;
    std::vector<stacking_order> orders_;
    std::map<std::vector<std::uint64_t>, std::size_t> planned_;   // the orders of plans for single values
    std::map<std::vector<std::uint64_t>, std::uint64_t> lowest_;  // the peaks of the lowest known plans
    std::vector<probe> hard_;                                     // values for which orders failed
    std::size_t plans_left_;
    std::uint64_t samples_left_;
    std::uint64_t left_;   // of the effort
    bool proves_ = false;  // whether orders are accepted only if no proof fails
    plan_error error_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
