// SPDX-License-Identifier: BSL-1.0
// order_search: the search of `order_operators`.
//
//     graph ──► parts between operators that every other one precedes or follows
//     part  ──► rules: given, most freed, newest ──► a beam of states ──► states by their peak, up to the effort
//
// A state is the set of operators of a part that have run, in bits. Parts are searched from the highest peak down. The
// peak of a part that is optimal is a limit that other parts need not stay below, and so is a lower bound.
//
// Complexity: see order_operators.hpp. Not synchronized.
#pragma once

#include <allot/plan/detail/order_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Sets of operators of a part, each stored once per level or search.
class order_sets {
public:
    explicit order_sets(std::uint32_t operators) : words_{(operators + 63) / 64}, table_(64) {}

    /// Returns the number of sets.
    [[nodiscard]] std::uint32_t size() const noexcept { return count_; }
    /// Returns whether a set contains an operator.
    [[nodiscard]] bool has(std::uint32_t set, std::uint32_t which) const noexcept {
        return (bits_[std::size_t{set} * words_ + which / 64] >> which % 64 & 1) != 0;
    }
    /// Returns the set `from` of `source` with one operator more. `source` may be this object.
    [[nodiscard]] std::uint32_t add(const order_sets& source, std::uint32_t from, std::uint32_t which) {
        fresh_.assign(words_, 0);
        for (std::size_t i = 0; i != words_ && from != none; ++i)
            fresh_[i] = source.bits_[std::size_t{from} * words_ + i];
        if (which != none) fresh_[which / 64] |= std::uint64_t{1} << which % 64;
        if (2 * (std::size_t{count_} + 1) > table_.size()) grow();
        std::uint32_t& slot = find(fresh_.data());
        if (slot == 0) {
            bits_.insert(bits_.end(), fresh_.begin(), fresh_.end());
            slot = ++count_;
        }
        return slot - 1;
    }
    static constexpr std::uint32_t none = ~std::uint32_t{0};

private:
    /// Returns the slot of a set: its number plus 1, or 0.
    [[nodiscard]] std::uint32_t& find(const std::uint64_t* set) noexcept {
        std::uint64_t hash = 0;
        for (std::size_t i = 0; i != words_; ++i) {
            hash = (hash ^ set[i]) * 0x9E37'79B9'7F4A'7C15;
            hash ^= hash >> 29;
        }
        for (std::size_t at = static_cast<std::size_t>(hash) & (table_.size() - 1);;
             at = (at + 1) & (table_.size() - 1))
            if (table_[at] == 0 || std::equal(set, set + words_, bits_.data() + (table_[at] - 1) * words_))
                return table_[at];
    }
    void grow() {
        table_.assign(2 * table_.size(), 0);
        for (std::uint32_t i = 0; i != count_; ++i) find(bits_.data() + i * words_) = i + 1;
    }

    std::size_t words_;
    std::vector<std::uint64_t> bits_, fresh_;
    std::vector<std::uint32_t> table_;
    std::uint32_t count_ = 0;
};

/// A part of the order: operators [begin, end) of the given order.
struct order_part {
    std::uint32_t begin = 0, end = 0;
    std::uint64_t live = 0, peak = 0;  // live bytes before it; most live bytes of its best order

    [[nodiscard]] std::uint32_t size() const noexcept { return end - begin; }
};

/// Implementation of `order_operators`.
class operator_orderer {
public:
    operator_orderer(const order_model& model, std::uint64_t effort)
        : model_{model}, effort_{effort}, order_{model.given_order()} {}

    [[nodiscard]] const std::vector<std::uint32_t>& order() const noexcept { return order_; }

    /// Improves the order. Returns a lower bound on the peak of every order.
    [[nodiscard]] std::uint64_t run() {
        divide();
        for (order_part& part : parts_) {
            follow_rule(part, false);
            follow_rule(part, true);
        }
        std::ranges::stable_sort(parts_, [](const order_part& a, const order_part& b) { return a.peak > b.peak; });
        std::uint64_t floor = model_.live() + model_.unread();
        for (std::uint32_t i = 0; i != model_.size(); ++i) floor = std::max(floor, model_.least(i));
        std::uint64_t bound = floor, flow = 0;
        for (order_part& part : parts_) {
            if (part.peak > floor) follow_beam(part, floor);
            if (part.peak > bound) raise_bound(part, bound, flow);
            if (part.peak > std::max(floor, bound) && search(part, std::max(floor, bound)))
                bound = std::max(bound, part.peak);
            floor = std::max(floor, part.peak);
        }
        return bound;
    }

private:
    static constexpr std::uint32_t none = order_sets::none;
    static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

    /// Makes a part of each operator that every other one precedes or follows, and of those between two of them.
    void divide() {
        const std::uint32_t count = model_.size();
        std::vector<bool> leads(count);  // whether each later operator has an input from here or later
        for (std::uint32_t i = count, latest = count; i != 0; --i) {
            leads[i - 1] = latest >= i;
            const auto before = model_.before(i - 1);
            latest = std::min(latest, before.empty() ? 0 : before.back() + 1);
        }
        std::uint32_t begin = 0;
        const auto end_part = [&](std::uint32_t end) {
            if (begin != end) parts_.push_back({begin, end});
            begin = end;
        };
        for (std::uint32_t i = 0, earliest = 0; i != count; ++i) {  // each earlier operator has a user by `earliest`
            if (leads[i] && earliest <= i) {
                end_part(i);
                end_part(i + 1);
            }
            const auto after = model_.after(i);
            earliest = std::max(earliest, after.empty() ? count : after.front());
        }
        end_part(count);
        std::uint64_t live = model_.live();
        for (order_part& part : parts_) {
            part.live = live;
            part.peak = run_part(part, std::span{order_}.subspan(part.begin, part.size()), live);
        }
    }
    /// Returns the bytes that are live at the next operator only, after so many operators of a part.
    [[nodiscard]] std::uint64_t only_at(const order_part& part, std::uint32_t count) const noexcept {
        return part.begin + count == 0 ? model_.unread() : 0;
    }
    /// Returns the most live bytes of an order of a part. `live` becomes the live bytes after it. Calls
    /// `see(operator, live bytes)` for each step.
    template <class See>
    std::uint64_t run_part(const order_part& part, std::span<const std::uint32_t> order, std::uint64_t& live,
                           See see) const {
        std::vector<bool> done(part.size());
        std::uint64_t peak = 0, only_here = only_at(part, 0);
        for (const std::uint32_t next : order) {
            const order_step now = model_.try_next(
                next, live, [&](std::uint32_t i) { return i < part.begin || (i < part.end && done[i - part.begin]); });
            peak = std::max(peak, now.during + std::exchange(only_here, 0));
            see(next, now.during);
            live = now.after;
            done[next - part.begin] = true;
        }
        return peak;
    }
    [[nodiscard]] std::uint64_t run_part(const order_part& part, std::span<const std::uint32_t> order,
                                         std::uint64_t& live) const {
        return run_part(part, order, live, [](std::uint32_t, std::uint64_t) {});
    }
    /// Raises a lower bound on the peak by the least live bytes at operators of a part, those with the most live bytes
    /// in the current order first. `flow` is the work of all calls.
    void raise_bound(const order_part& part, std::uint64_t& bound, std::uint64_t& flow) const {
        constexpr std::uint64_t visits_a_try = 64;
        struct live_at {
            std::uint32_t which;
            std::uint64_t bytes;
        };
        std::vector<live_at> all;
        std::uint64_t live = part.live;
        run_part(part, std::span{order_}.subspan(part.begin, part.size()), live,
                 [&](std::uint32_t which, std::uint64_t bytes) { all.push_back({which, bytes}); });
        std::ranges::stable_sort(all, [](const live_at& a, const live_at& b) { return a.bytes > b.bytes; });
        order_bound least{model_, part.begin, part.end};
        for (const live_at& each : all) {
            if (each.bytes <= bound || flow / visits_a_try >= effort_) break;
            bound = std::max(bound, least.at(each.which, flow));
        }
    }
    /// Takes an order of a part if it is better.
    void offer(order_part& part, std::span<const std::uint32_t> order) {
        std::uint64_t live = part.live;
        const std::uint64_t peak = run_part(part, order, live);
        if (peak >= part.peak) return;
        part.peak = peak;
        std::ranges::copy(order, order_.begin() + part.begin);
    }

    /// Tries the order by a rule: of the ready operators, the one after which the fewest bytes are live, or the one
    /// that reads the newest tensor.
    void follow_rule(order_part& part, bool newest) {
        constexpr std::size_t most_tried = 256;
        std::vector<std::uint32_t> missing(part.size()), ready, made, position(part.size());
        std::vector<bool> done(part.size());
        for (std::uint32_t i = part.begin; i != part.end; ++i) {
            for (const std::uint32_t other : model_.before(i)) missing[i - part.begin] += other >= part.begin ? 1 : 0;
            if (missing[i - part.begin] == 0) ready.push_back(i);
        }
        const auto is_done = [&](std::uint32_t i) { return i < part.begin || (i < part.end && done[i - part.begin]); };
        for (std::uint64_t live = part.live; !ready.empty();) {
            std::size_t best = 0;
            std::uint64_t best_key = unlimited, best_after = live;
            for (std::size_t at = 0; at != std::min(ready.size(), most_tried); ++at) {
                const std::uint64_t after = model_.try_next(ready[at], live, is_done).after;
                const std::uint64_t key = newest ? part.size() - position[ready[at] - part.begin] : after;
                if (key > best_key || (key == best_key && after >= best_after && at != 0)) continue;
                best = at;
                best_key = key;
                best_after = after;
            }
            const std::uint32_t next = ready[best];
            ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(best));
            made.push_back(next);
            done[next - part.begin] = true;
            live = best_after;
            for (const std::uint32_t other : model_.after(next)) {
                if (other >= part.end) continue;
                position[other - part.begin] = static_cast<std::uint32_t>(made.size());
                if (--missing[other - part.begin] == 0) ready.push_back(other);
            }
        }
        offer(part, made);
    }

    struct state {
        std::uint64_t live = 0, peak = 0;
        std::uint32_t parent = none, next = none, count = 0;  // the operator that led here; the number of operators
    };
    struct choice {
        std::uint32_t which = none;
        order_step step{};
    };

    /// Finds the operators of a part that can follow a state. If one of them costs nothing, only that one.
    void find_choices(const order_part& part, const order_sets& sets, std::uint32_t set, const state& from) {
        choices_.clear();
        const auto is_done = [&](std::uint32_t i) {
            return i < part.begin || (i < part.end && sets.has(set, i - part.begin));
        };
        spent_ += part.size() / 16 + 1;
        for (std::uint32_t i = part.begin; i != part.end; ++i) {
            if (sets.has(set, i - part.begin) || !std::ranges::all_of(model_.before(i), is_done)) continue;
            ++spent_;
            order_step step = model_.try_next(i, from.live, is_done);
            step.during += only_at(part, from.count);
            if (step.after <= from.live && step.during <= from.peak) {
                choices_.assign(1, {i, step});
                return;
            }
            choices_.push_back({i, step});
        }
    }
    [[nodiscard]] static std::vector<std::uint32_t> path_to(const std::vector<state>& states, std::uint32_t last) {
        std::vector<std::uint32_t> made;
        for (; states[last].parent != none; last = states[last].parent) made.push_back(states[last].next);
        std::ranges::reverse(made);
        return made;
    }

    /// Sets of operators of one size, and the best known state of each set.
    struct beam {
        order_sets sets;
        std::vector<std::uint32_t> state_of{};  // by set
        std::vector<std::uint32_t> kept{};      // sets that the search extends, the best first
    };

    /// Tries orders of a part through the best states after each number of operators.
    void follow_beam(order_part& part, std::uint64_t floor) {
        const std::uint64_t size = part.size(),
                            width = std::min<std::uint64_t>(effort_ / (4 * size * (size / 16 + 8)), 64);
        std::vector<state> states{{part.live, floor}};
        beam now{order_sets{part.size()}, {0}, {0}};
        (void)now.sets.add(now.sets, none, none);
        for (std::uint32_t count = 0; count != part.size(); ++count) {
            now = extended(part, now, states);
            keep_best(now, states, static_cast<std::size_t>(width));
            if (now.kept.empty()) return;
        }
        offer(part, path_to(states, now.state_of[now.kept[0]]));
    }
    /// Returns the sets that have one operator more than the kept sets of `from`. Appends their states to `states`.
    [[nodiscard]] beam extended(const order_part& part, const beam& from, std::vector<state>& states) {
        beam made{order_sets{part.size()}};
        for (const std::uint32_t set : from.kept) {
            const std::uint32_t parent = from.state_of[set];
            find_choices(part, from.sets, set, states[parent]);
            for (const choice& each : choices_) {
                const state fresh{each.step.after, std::max(states[parent].peak, each.step.during), parent, each.which,
                                  states[parent].count + 1};
                if (fresh.peak >= part.peak) continue;
                const std::uint32_t into = made.sets.add(from.sets, set, each.which - part.begin);
                if (into == made.state_of.size()) {
                    made.state_of.push_back(static_cast<std::uint32_t>(states.size()));
                    states.push_back(fresh);
                } else if (fresh.peak < states[made.state_of[into]].peak) {
                    states[made.state_of[into]] = fresh;
                }
            }
        }
        return made;
    }
    /// Keeps the sets with the lowest peaks, at most `width`.
    static void keep_best(beam& of, const std::vector<state>& states, std::size_t width) {
        of.kept.resize(of.state_of.size());
        for (std::uint32_t set = 0; set != of.kept.size(); ++set) of.kept[set] = set;
        std::ranges::stable_sort(of.kept, [&](std::uint32_t a, std::uint32_t b) {
            const state &of_a = states[of.state_of[a]], &of_b = states[of.state_of[b]];
            return of_a.peak != of_b.peak ? of_a.peak < of_b.peak : of_a.live < of_b.live;
        });
        of.kept.resize(std::min(of.kept.size(), width));
    }

    /// Searches the best order of a part. Returns false if the effort does not suffice.
    [[nodiscard]] bool search(order_part& part, std::uint64_t floor) {
        order_sets sets{part.size()};
        std::vector<state> states{{part.live, floor}};
        struct entry {
            std::uint64_t peak;
            std::uint32_t count, set;
        };
        const auto is_later = [](const entry& a, const entry& b) {
            if (a.peak != b.peak) return a.peak > b.peak;
            return a.count != b.count ? a.count < b.count : a.set > b.set;
        };
        std::vector<entry> open{{floor, 0, sets.add(sets, none, none)}};
        for (spent_ = 0; !open.empty();) {
            const entry now = open.front();
            std::ranges::pop_heap(open, is_later);
            open.pop_back();
            if (now.peak != states[now.set].peak) continue;  // found again with a lower peak
            if (now.count == part.size()) {
                offer(part, path_to(states, now.set));
                return true;
            }
            find_choices(part, sets, now.set, states[now.set]);
            if (spent_ > effort_) return false;
            for (const choice& each : choices_) {
                const state fresh{each.step.after, std::max(now.peak, each.step.during), now.set, each.which,
                                  now.count + 1};
                if (fresh.peak >= part.peak) continue;
                const std::uint32_t into = sets.add(sets, now.set, each.which - part.begin);
                if (into == states.size()) states.push_back(fresh);
                else if (fresh.peak < states[into].peak) states[into] = fresh;
                else continue;
                open.push_back({fresh.peak, fresh.count, into});
                std::ranges::push_heap(open, is_later);
            }
        }
        return true;  // no order has a lower peak
    }

    const order_model& model_;
    std::uint64_t effort_;
    std::vector<std::uint32_t> order_;
    std::vector<order_part> parts_;
    std::vector<choice> choices_;
    std::uint64_t spent_ = 0;  // of the effort of a part
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
