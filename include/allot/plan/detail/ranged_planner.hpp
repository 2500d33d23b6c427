// SPDX-License-Identifier: BSL-1.0
// ranged_planner: divides the values of symbols into pieces, and finds an order of the buffers for each.
//
//     all values ──► known orders, then plans for the largest, smallest and middle values ──► good? ──► a piece
//         ▲                                                                                     │ no
//         └──────────── two halves, the range with the highest excess first ◄───────────────────┘
//
// A first division finds orders. The second one begins with all of them, so that few pieces are sufficient. An order is
// good if it is within the tolerance for a grid of values, and a proof for all values succeeds, or does not end within
// a part of the effort.
//
// A proof compares the peak for the largest values of a range with the lower bound for the smallest ones, and divides
// the range while they are too far from each other.
#pragma once

#include <allot/plan/detail/ranged_sizes.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

struct value_range {
    std::vector<std::uint64_t> least, most;

    [[nodiscard]] bool is_point() const noexcept { return least == most; }
    /// Returns the middle of the values of a symbol: the arithmetic one, or a power of two times the least of a wide
    /// range. It is below the largest value.
    [[nodiscard]] std::uint64_t middle(std::size_t symbol) const noexcept {
        const std::uint64_t low = std::max<std::uint64_t>(least[symbol], 1), high = most[symbol];
        if (high / low < 4) return least[symbol] + (high - least[symbol]) / 2;
        return low << (highest_one(high / low) / 2);
    }
    [[nodiscard]] value_range lower_half(std::size_t symbol) const {
        value_range half = *this;
        half.most[symbol] = middle(symbol);
        return half;
    }
    [[nodiscard]] value_range upper_half(std::size_t symbol) const {
        value_range half = *this;
        half.least[symbol] = middle(symbol) + 1;
        return half;
    }
    /// Returns the symbol with the highest ratio of its largest value to its smallest one.
    [[nodiscard]] std::size_t widest() const noexcept {
        std::size_t found = 0;
        double most_ratio = 0;
        for (std::size_t i = 0; i != least.size(); ++i) {
            const double ratio = static_cast<double>(most[i] - least[i]) / static_cast<double>(least[i] + 1);
            if (ratio > most_ratio) {
                most_ratio = ratio;
                found = i;
            }
        }
        return found;
    }
};

class ranged_planner {
public:
    ranged_planner(const ranged_problem& of, const ranged_options& options)
        : of_{of}, options_{options}, sizes_{of.sizes}, left_{options.effort / 2} {}

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

    /// A range and the best order that is known for it.
    struct trial {
        value_range range;
        std::size_t order = 0, split = 0;
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
            open.push_back(examine(now.range.lower_half(now.split)));
            open.push_back(examine(now.range.upper_half(now.split)));
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
    /// Returns the highest excess for the values, or the first one above `enough`.
    [[nodiscard]] std::uint64_t measure(const stacking_order& order, std::span<const probe> probes,
                                        std::uint64_t enough = none) {
        std::uint64_t most = 0;
        for (auto each = probes.begin(); each != probes.end() && most <= enough; ++each) {
            static_cast<void>(sizes_.set(each->values));
            most = std::max(most, excess_of(sizes_.peak_of(order), each->load));
        }
        return most;
    }

    /// Looks for an order that is within the tolerance for all values of a range.
    [[nodiscard]] trial examine(value_range range) {
        trial made{std::move(range)};
        const std::vector<probe> probes = probes_of(made.range);
        for (std::size_t i = orders_.size(); i-- != 0;) try_order(made, i, probes, options_.tolerance);
        std::uint64_t gap = 0;  // of the planner itself
        for (std::size_t i = 0; i != std::min<std::size_t>(probes.size(), 3) && !made.is_accepted; ++i) {
            const std::size_t order = order_at(probes[i].values);
            if (error_.reason != plan_refusal::none) return made;
            gap = std::max(gap, measure(orders_[order], std::span{probes}.subspan(i, 1)));
            try_order(made, order, probes, options_.tolerance + std::min(gap, largest_target));
        }
        if (!made.is_accepted) made.split = split_of(made, probes);
        return made;
    }
    void try_order(trial& made, std::size_t order, std::span<const probe> probes, std::uint64_t target) {
        if (made.is_accepted) return;
        const std::uint64_t measured = measure(orders_[order], probes, std::max(target, made.measured));
        if (measured < made.measured) {
            made.measured = measured;
            made.order = order;
        }
        if (measured > target) return;
        const outcome found = proves_ ? proof(orders_[order], made.range, target, options_.effort / 16) : outcome{};
        if (found.is_refuted) return;
        made.order = order;
        made.measured = measured;
        made.excess = found.excess;
        made.is_accepted = true;
    }
    /// Returns the symbol whose smallest value gives the highest excess.
    [[nodiscard]] std::size_t split_of(const trial& made, std::span<const probe> probes) {
        std::size_t found = made.range.widest();
        std::uint64_t most = 0;
        const std::size_t symbols = made.range.most.size();
        for (std::size_t symbol = 0; symbol != symbols && symbols > 1; ++symbol) {
            const std::size_t i = 3 + symbol;
            if (made.range.least[symbol] == made.range.most[symbol]) continue;
            if (const std::uint64_t excess = measure(orders_[made.order], probes.subspan(i, 1)); excess > most) {
                most = excess;
                found = symbol;
            }
        }
        return found;
    }
    /// Returns the index of the order of a plan for these values.
    [[nodiscard]] std::size_t order_at(const std::vector<std::uint64_t>& values) {
        for (const auto& [known, order] : planned_)
            if (known == values) return order;
        static_cast<void>(sizes_.set(values));
        auto made = sizes_.planned_order(options_.each);
        if (!made) {
            error_ = made.error();
            return 0;
        }
        const auto same = std::find(orders_.begin(), orders_.end(), *made);
        const auto order = static_cast<std::size_t>(same - orders_.begin());
        if (same == orders_.end()) orders_.push_back(*std::move(made));
        planned_.emplace_back(values, order);
        return order;
    }

    struct outcome {
        std::uint64_t excess = none;  // that holds for all values of a range
        bool is_refuted = false;      // a value exceeds the target
    };
    /// Looks for a proof that an excess up to `target` holds for all values of a range, in at most `limit` parts.
    [[nodiscard]] outcome proof(const stacking_order& order, const value_range& whole, std::uint64_t target,
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
            const std::uint64_t peak = sizes_.peak_of(order), excess = excess_of(peak, load);
            if (excess <= target) {
                most = std::max(most, excess);
                continue;
            }
            if (range.is_point() || excess_of(peak, sizes_.load()) > target) return {.is_refuted = true};
            const std::size_t symbol = range.widest();
            open.push_back(range.upper_half(symbol));
            open.push_back(range.lower_half(symbol));
        }
        return {most};
    }

    /// Proves the lowest excess that a part of the effort permits.
    void state_excess(trial& of, std::uint64_t limit) {
        for (std::uint64_t target = std::max(of.measured, options_.tolerance);
             of.excess == none && target <= largest_target; target += target / 4 + 10)
            of.excess = proof(orders_[of.order], of.range, target, limit).excess;
        while (of.excess != none && of.excess > of.measured) {
            const std::uint64_t target = std::max(of.measured, of.excess / 2);
            const std::uint64_t lower = proof(orders_[of.order], of.range, target, limit).excess;
            if (lower == none) break;
            of.excess = lower;
        }
    }

    /// Joins neighbors with one order, and drops the orders of no piece.
    [[nodiscard]] ranged_plan finish(std::vector<trial> trials) {
        ranged_plan made;
        made.of = of_;
        made.align = sizes_.align();
        left_ += options_.effort - options_.effort / 2;
        const std::uint64_t limit = left_ / (4 * trials.size() + 1);
        for (trial& each : trials) {
            state_excess(each, limit);
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
    std::vector<std::pair<std::vector<std::uint64_t>, std::size_t>> planned_;  // values and their order
    std::uint64_t left_;                                                       // of the effort
    bool proves_ = false;  // whether orders are accepted only if no proof fails
    plan_error error_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
