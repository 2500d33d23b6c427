// SPDX-License-Identifier: BSL-1.0
// visits: finds the visits to a fast memory that pay off if each byte of that memory has a price at each moment.
//
//     accesses   w  r      r r            r     Between visits the contents are at home, in a slower memory. A long
//     fast       ████      ███████              visit pays for bytes while there are no accesses. Short visits pay for
//     home          ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒     copies.
//     price      1  1  5 5 1 1 0  9 9 9 9 9 9
//
// The costs of accesses and copies are the same for each byte of a buffer. Therefore the size of a buffer affects only
// the prices. Prices rise while the visits exceed the fast memory and fall while they do not fill it.
//
// For given prices, dynamic programming over the events finds the cheapest visits. The states are: at home, in the fast
// memory with a valid copy at home, and in the fast memory without one.
//
// All arithmetic uses integers, and every machine computes the same result. Complexity: O(events) for each round of
// prices. Memory: on the heap, about 100 bytes an event. Not synchronized.
#pragma once

#include <allot/plan/detail/contents.hpp>

#include <algorithm>
#include <array>
#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

/// Costs of one access of one byte of a value in two memories.
struct visit_costs {
    std::uint64_t fast = 0;
    std::uint64_t home = 0;
    [[nodiscard]] constexpr std::uint64_t copy() const noexcept { return fast + home; }
};

/// Prices by section of time, and the visits that they yield.
template <class Contents>
class visit_prices {
public:
    /// Precondition: `contents` outlives this object.
    explicit visit_prices(const Contents& contents) : events_{&contents.events()}, values_{&contents.values()} {
        const std::vector<access_event>& events = *events_;
        const std::vector<access_value>& values = *values_;
        for (const access_event& event : events) {
            times_.push_back(event.step);
            times_.push_back(event.step + 1);
        }
        for (const access_value& value : values) times_.push_back(value.live.from);
        std::sort(times_.begin(), times_.end());
        times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
        price_.resize(times_.size());
        load_.resize(times_.size() + 1);
        sum_.resize(times_.size() + 1);
        steps_.resize(events.size());
        place_.resize(events.size());
        for (const access_event& event : events) section_.push_back(index(event.step));
        for (const access_value& value : values) born_.push_back(index(value.live.from));
    }

    /// Adapts the prices to the demand of `values` in a memory of `capacity` bytes. `costs` is indexed by value.
    void run(const std::vector<std::size_t>& values, std::span<const plan_buffer> buffers,
             const std::vector<visit_costs>& costs, std::uint64_t capacity, std::size_t iterations) {
        const int size_shift = std::max(0, static_cast<int>(std::bit_width(capacity)) - 24);
        const auto room = static_cast<std::int64_t>(capacity >> size_shift);
        const std::int64_t most = most_price() / static_cast<std::int64_t>(times_.size() + 1);
        std::int64_t worth = 0;  // largest saving of one byte in one section
        for (const std::size_t v : values) {
            const access_value& value = (*values_)[v];
            const auto length = static_cast<std::int64_t>(section_[value.last] + 1 - born_[v]);
            const auto events = static_cast<std::int64_t>(value.last - value.first + 1);
            worth = std::max(worth, scaled(costs[v].home - costs[v].fast) * events / length);
        }
        const std::int64_t first_step = std::min(worth / 4 + 1, std::int64_t{1} << 30);
        for (std::size_t i = 0; i != iterations; ++i, ++done_) {
            std::fill(load_.begin(), load_.end(), 0);
            for (const std::size_t v : values) {
                choose(v, costs[v], 1, 1);
                const std::uint64_t bytes = buffers[(*values_)[v].buffer].size >> size_shift;
                const auto size = static_cast<std::int64_t>(std::min(bytes, std::uint64_t{1} << 32));
                each_visit(v, [&](std::size_t first, std::size_t last) {
                    load_[is_whole(v) ? born_[v] : section_[first]] += size;
                    load_[section_[last] + 1] -= size;
                });
            }
            const std::int64_t step = first_step * 16 / (16 + static_cast<std::int64_t>(done_)) + 1;
            std::int64_t load = 0;
            for (std::size_t s = 0; s + 1 < times_.size(); ++s) {
                load += load_[s];
                const std::int64_t over = std::clamp(load - room, -room, 4 * room);
                const std::int64_t change = step * over / std::max(room, std::int64_t{1});
                price_[s] = std::clamp(price_[s] + change, std::int64_t{0}, most);
            }
            sum_up();
        }
    }

    /// Chooses the cheapest visits of value `v` for the current prices times `numerator / denominator`.
    void choose(std::size_t v, visit_costs costs, std::int64_t numerator, std::int64_t denominator) {
        const access_value& value = (*values_)[v];
        const scaled_costs scale{scaled(costs.fast), scaled(costs.home), numerator, denominator};
        const auto [state, cost] = cheapest_visits(value, scale);
        if (value.given && whole_life(v, scale) <= cost) {
            for (std::size_t e = value.first; e <= value.last; ++e) place_[e] = event_place::stays;
            return;
        }
        follow_back(value, state);
    }

    /// Calls `visit(first, last)` for each chosen visit of a value, and for all its events if it `is_whole`.
    template <class Visit>
    void each_visit(std::size_t v, Visit visit) const {
        const access_value& value = (*values_)[v];
        if (is_whole(v)) return visit(value.first, value.last);
        for (std::size_t e = value.first; e <= value.last; ++e) {
            if (place_[e] != event_place::arrives) continue;
            std::size_t last = e;
            while (last != value.last && place_[last + 1] == event_place::stays) ++last;
            visit(e, last);
            e = last;
        }
    }
    /// Returns whether a value is in the fast memory for its whole life and needs no home.
    [[nodiscard]] bool is_whole(std::size_t v) const { return place_[(*values_)[v].first] == event_place::stays; }

    /// Sets the scale of costs such that sums do not overflow. `highest_cost` is the highest cost of a byte.
    void scale_to(std::uint64_t highest_cost) noexcept { shift_ = 20 - static_cast<int>(std::bit_width(highest_cost)); }

private:
    struct step_taken {
        unsigned char from = 0;
        bool arrives = false;
    };
    // Contents at an event: at home only, in the fast memory as at home, or newer there than at home.
    enum contents_state : unsigned char { at_home, clean, dirty, states };
    struct scaled_costs {
        std::int64_t fast, home, numerator, denominator;
        [[nodiscard]] std::int64_t copy() const noexcept { return fast + home; }
    };
    struct last_state {
        contents_state state;
        std::int64_t cost;
    };

    /// Price of a byte in the sections [from, until).
    [[nodiscard]] std::int64_t price(std::size_t from, std::size_t until, const scaled_costs& scale) const {
        return (sum_[until] - sum_[from]) / scale.denominator * scale.numerator;
    }
    [[nodiscard]] std::int64_t count_of(std::size_t e) const {
        return static_cast<std::int64_t>(std::min<std::uint64_t>((*events_)[e].count, 1 << 10));
    }
    /// Computes the cheapest way to each state of each event, and returns the cheapest last state.
    [[nodiscard]] last_state cheapest_visits(const access_value& value, const scaled_costs& scale) {
        constexpr std::int64_t never = std::int64_t{1} << 62;
        const std::int64_t copy = scale.copy();
        std::array<std::int64_t, states> cost{};
        for (std::size_t e = value.first; e <= value.last; ++e) {
            const std::int64_t count = count_of(e), at_fast = count * scale.fast;
            const std::int64_t here = at_fast + price(section_[e], section_[e] + 1, scale);
            std::array<std::int64_t, states> next{};
            next.fill(never);
            steps_[e] = {};
            const auto reach = [&](contents_state to, std::int64_t sum, contents_state from, bool arrives) {
                if (sum >= next[to]) return;
                next[to] = sum;
                steps_[e][to] = {from, arrives};
            };
            const contents_state in = (*events_)[e].writes ? dirty : clean;
            if (e == value.first) {
                reach(at_home, count * scale.home, at_home, false);
                reach(in, (value.given ? copy : 0) + here, at_home, true);
            } else {
                const std::int64_t stay = price(section_[e - 1] + 1, section_[e], scale) + here;
                for (const contents_state from : {at_home, clean, dirty}) {
                    if (cost[from] >= never) continue;
                    const std::int64_t back = cost[from] + (from == dirty ? copy : 0);
                    reach(at_home, back + count * scale.home, from, false);
                    reach(in, back + copy + here, from, true);
                    if (from != at_home) reach(from == dirty ? dirty : in, cost[from] + stay, from, false);
                }
            }
            cost = next;
        }
        contents_state now = at_home;
        for (const contents_state each : {clean, dirty})
            if (cost[each] < cost[now]) now = each;
        return {now, cost[now]};
    }
    /// Cost of a value that is in the fast memory for its whole life.
    [[nodiscard]] std::int64_t whole_life(std::size_t v, const scaled_costs& scale) const {
        const access_value& value = (*values_)[v];
        std::int64_t count = 0;
        for (std::size_t e = value.first; e <= value.last; ++e) count += count_of(e);
        return count * scale.fast + price(born_[v], section_[value.last] + 1, scale);
    }
    /// Follows the cheapest way back from the last state and writes the place of each event.
    void follow_back(const access_value& value, contents_state now) {
        for (std::size_t e = value.last + 1; e-- != value.first;) {
            const auto [from, arrives] = steps_[e][now];
            place_[e] = now == at_home ? event_place::home : arrives ? event_place::arrives : event_place::stays;
            now = static_cast<contents_state>(from);
        }
        // A visit from the first event to the last needs no home: it is the whole life.
        std::size_t staying = value.first + 1;
        while (staying <= value.last && place_[staying] == event_place::stays) ++staying;
        if (!value.given && place_[value.first] == event_place::arrives && staying > value.last)
            place_[value.first] = event_place::stays;
    }

    [[nodiscard]] static constexpr std::int64_t most_price() noexcept { return std::int64_t{1} << 58; }
    [[nodiscard]] std::int64_t scaled(std::uint64_t cost) const noexcept {
        return static_cast<std::int64_t>(shift_ >= 0 ? cost << shift_ : cost >> -shift_);
    }
    [[nodiscard]] std::size_t index(std::int64_t step) const {
        return static_cast<std::size_t>(std::lower_bound(times_.begin(), times_.end(), step) - times_.begin());
    }
    void sum_up() {
        for (std::size_t s = 0; s != price_.size(); ++s) sum_[s + 1] = sum_[s] + price_[s];
    }

    const std::vector<access_event>* events_;
    const std::vector<access_value>* values_;
    std::vector<std::int64_t> times_, price_, load_, sum_;  // by section, between adjacent times
    std::vector<std::size_t> section_, born_;               // section of each event; first section of each value
    std::vector<std::array<step_taken, 3>> steps_;          // by event
    std::vector<event_place> place_;                        // by event
    std::size_t done_ = 0;
    int shift_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
