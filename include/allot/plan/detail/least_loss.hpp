// SPDX-License-Identifier: BSL-1.0
// least_loss: the least value of buffers that must stay out of a memory, such that no section exceeds its capacity.
//
//     section   0        1        2            A state is a set of buffers that are in. The first section begins
//             ┌ {a} ─── {a,b} ✗                with one state. Each buffer that begins makes two of each state: with
//          {} ┤                   ┌ {c} ─ …    the buffer, if the section has room for it, and without it, which costs
//             └ { } ─── {b} ─ { } ┤            its value. When a buffer ends, states that differ in it alone become
//                         └ …     └ { } ─ …    one, and the cheapest remains.
//
// The prices of `prices` give a lower bound on the value that each state loses by the end: the bound of all choices,
// plus what the state gave away so far. That is the value of a buffer beyond its price, or the price beyond its value,
// and the price of unused bytes. A state whose bound reaches the cost of a known plan ends. If there are too many
// states, those with the highest bounds end, and the lowest of their bounds limits the result. So the result is a lower
// bound for any number of states, and the least loss if no such state had a lower bound.
//
// Of buffers of one size that end at the same time, the one in a state that began first stands for any of them.
//
// The loads of sections are the only constraint. A plan may lose more, because offsets may not exist.
// Sources: Morin and Marsten, Branch-and-bound strategies for dynamic programming, Operations Research 24, 1976.
// Bergman et al., Discrete optimization with decision diagrams, INFORMS Journal on Computing 28, 2016 (limited width).
// Complexity: O(states × buffers² / 64). Memory: `space`, buffers / 2 bytes a state, and 28 bytes a span. Not
// synchronized.
#pragma once

#include <allot/plan/detail/section_prices.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

class least_loss {
public:
    static constexpr std::uint64_t unlimited = ~std::uint64_t{0};

    /// Returns the number of states that is proportionate to `effort` placements of `buffers`; 0 for little effort.
    [[nodiscard]] static constexpr std::size_t states(std::uint64_t effort, std::size_t buffers) noexcept {
        constexpr std::uint64_t least_effort = 1000;
        const std::uint64_t some = std::min<std::uint64_t>(effort, std::uint64_t{1} << 40) * 4 / (buffers + 1);
        const std::uint64_t most = std::uint64_t{1} << std::min<std::size_t>(buffers, 12);
        return effort < least_effort ? 0 : static_cast<std::size_t>(std::min(std::max<std::uint64_t>(some, 16), most));
    }
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem, std::size_t states) noexcept {
        if (states == 0) return {};
        const std::size_t buffers = problem.buffers.size(), spans = most_spans(problem), rows = prices::most_rows(0);
        return {.u32 = 4 * buffers + 6 * spans + 2 * states + std::bit_ceil(4 * states),
                .u64 = 2 * buffers + 2 * states * (3 + rows + 2 * words(buffers))};
    }

    /// The buffers, their sizes and values, and the capacity. These are the arguments of the latest `prices::run`.
    template <class Size, class Value>
    struct choice {
        std::span<const std::uint32_t> list{};
        Size size_of{};
        Value value{};
        std::uint64_t capacity = 0;
        std::uint32_t sections = 0;
    };

    /// Precondition: `states` is not 0.
    constexpr least_loss(const section_tree& where, const prices& price, const plan_problem& problem,
                         std::size_t states, plan_workspace workspace) noexcept
        : where_{&where}, price_{&price}, states_{states}, words_{words(problem.buffers.size())} {
        const std::size_t buffers = problem.buffers.size(), spans = most_spans(problem);
        order_ = workspace.cut_u32(buffers);
        twin_ = workspace.cut_u32(buffers);
        first_ = workspace.cut_u32(buffers);
        last_ = workspace.cut_u32(buffers);
        of_span_ = workspace.cut_u32(spans);
        from_ = workspace.cut_u32(spans);
        until_ = workspace.cut_u32(spans);
        begins_ = workspace.cut_u32(spans);
        ends_ = workspace.cut_u32(spans);
        scratch_ = workspace.cut_u32(spans);
        index_ = workspace.cut_u32(2 * states);
        slot_ = workspace.cut_u32(std::bit_ceil(4 * states));
        size_ = workspace.cut_u64(buffers);
        value_ = workspace.cut_u64(buffers);
        lost_ = workspace.cut_u64(2 * states);
        bound_ = workspace.cut_u64(2 * states);
        load_ = workspace.cut_u64(2 * states);
        scaled_ = workspace.cut_u64(2 * states * prices::most_rows(0));
        in_ = workspace.cut_u64(2 * states * words_);
        held_ = workspace.cut_u64(2 * states * words_);
    }

    /// Returns a lower bound on the lost value, at most `most`.
    template <class Size, class Value>
    [[nodiscard]] constexpr std::uint64_t run(const choice<Size, Value>& of, std::uint64_t most) noexcept {
        capacity_ = of.capacity;
        most_ = dropped_ = most;
        list(of);
        count_ = 1;
        lost_[0] = load_[0] = 0;
        rows_ = price_->rows();
        for (std::size_t row = 0; row != rows_; ++row) scaled_[row] = 0;
        bound_[0] = price_->best();
        for (std::size_t w = 0; w != words_; ++w) in_[w] = held_[w] = 0;
        std::size_t next = 0, begin = 0, end = 0;
        for (std::uint32_t s = 0; s <= of.sections && count_ != 0; ++s) {
            bool ended = false;
            for (; end != spans_ && until_[ends_[end]] == s; ++end) ended |= leave(of_span_[ends_[end]], s);
            if (ended) unite();
            for (; begin != spans_ && from_[begins_[begin]] == s; ++begin)
                if (first_[of_span_[begins_[begin]]] != s) enter(of_span_[begins_[begin]]);
            for (; next != buffers_ && first_[next] == s; ++next) branch(static_cast<std::uint32_t>(next));
            if (s != of.sections) pay_unused(s);
        }
        best_ = 0;
        for (std::size_t k = 1; k < count_; ++k)
            if (lost_[k] < lost_[best_]) best_ = k;
        return count_ == 0 ? dropped_ : std::min(dropped_, lost_[best_]);
    }
    /// Returns whether the last run found a choice that loses less than `most`. It loses the result of `run`, or more.
    [[nodiscard]] constexpr bool found() const noexcept { return count_ != 0 && lost_[best_] < most_; }
    /// Calls `visit(buffer, is_in)` for each buffer with bytes of the choice that was found.
    template <class Visit>
    constexpr void each(Visit visit) const noexcept {
        for (std::uint32_t k = 0; k != buffers_; ++k) visit(order_[k], has(in_, best_, k));
    }

private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    [[nodiscard]] static constexpr std::size_t most_spans(const plan_problem& problem) noexcept {
        return most_lives(problem) + 2 * problem.apart.size();
    }
    [[nodiscard]] static constexpr std::size_t words(std::size_t buffers) noexcept { return buffers / 64 + 1; }
    [[nodiscard]] constexpr bool has(const std::uint64_t* sets, std::size_t state, std::uint32_t k) const noexcept {
        return (sets[state * words_ + k / 64] >> (k % 64) & 1) != 0;
    }
    constexpr void flip(std::uint64_t* sets, std::size_t state, std::uint32_t k) noexcept {
        sets[state * words_ + k / 64] ^= std::uint64_t{1} << (k % 64);
    }

    /// Lists the buffers with bytes in the order of their beginnings, larger ones first, and their spans.
    template <class Size, class Value>
    constexpr void list(const choice<Size, Value>& of) noexcept {
        buffers_ = spans_ = 0;
        for (const std::uint32_t i : of.list)
            if (of.size_of(i) != 0 && range(i, of.sections).from != none) order_[buffers_++] = i;
        sort_by(order_, first_, buffers_, [&](std::uint32_t i) { return ~of.size_of(i); });
        sort_by(order_, first_, buffers_, [&](std::uint32_t i) { return std::uint64_t{range(i, of.sections).from}; });
        for (std::uint32_t k = 0; k != buffers_; ++k) {
            const section_range all = range(order_[k], of.sections);
            first_[k] = all.from;
            last_[k] = all.until;
            size_[k] = of.size_of(order_[k]);
            value_[k] = of.value(order_[k]);
            where_->each_span(order_[k], [&](std::uint32_t from, std::uint32_t until) {
                if (from >= of.sections || from == until) return;
                of_span_[spans_] = k;
                from_[spans_] = from;
                until_[spans_] = until;
                begins_[spans_] = ends_[spans_] = spans_;
                ++spans_;
            });
            twin_[k] = none;
            for (std::uint32_t j = k; all.spans == 1 && j-- != 0 && twin_[k] == none;)
                if (size_[j] == size_[k] && last_[j] == last_[k] && range(order_[j], of.sections).spans == 1)
                    twin_[k] = j;
        }
        sort_by(begins_, scratch_, spans_, [&](std::uint32_t span) { return std::uint64_t{from_[span]}; });
        sort_by(ends_, scratch_, spans_, [&](std::uint32_t span) { return std::uint64_t{until_[span]}; });
    }
    struct section_range {
        std::uint32_t from = none, until = 0, spans = 0;
    };
    [[nodiscard]] constexpr section_range range(std::uint32_t buffer, std::uint32_t sections) const noexcept {
        section_range all;
        where_->each_span(buffer, [&](std::uint32_t from, std::uint32_t until) {
            if (from >= sections || from == until) return;
            all.from = std::min(all.from, from);
            all.until = std::max(all.until, until);
            ++all.spans;
        });
        return all;
    }

    [[nodiscard]] constexpr std::uint64_t bound_of(std::size_t state) const noexcept {
        return std::max(price_->unscaled(bound_[state]), lost_[state]);
    }
    constexpr void give_away(std::size_t state, std::uint64_t scaled) noexcept {
        if (!checked_add(bound_[state], scaled, bound_[state])) bound_[state] = ~std::uint64_t{0};
    }
    constexpr void copy(std::size_t from, std::size_t to) noexcept {
        if (from == to) return;
        lost_[to] = lost_[from];
        bound_[to] = bound_[from];
        load_[to] = load_[from];
        for (std::size_t row = 0; row != rows_; ++row) scaled_[to * rows_ + row] = scaled_[from * rows_ + row];
        for (std::size_t w = 0; w != words_; ++w) {
            in_[to * words_ + w] = in_[from * words_ + w];
            held_[to * words_ + w] = held_[from * words_ + w];
        }
    }
    /// Adds the bytes of a buffer to a state, or removes them.
    constexpr void add(std::size_t state, std::uint32_t k, bool in) noexcept {
        const auto change = [&](std::uint64_t& sum, std::uint64_t bytes) { sum = in ? sum + bytes : sum - bytes; };
        change(load_[state], size_[k]);
        for (std::size_t row = 0; row != rows_; ++row)
            change(scaled_[state * rows_ + row], price_->scaled_size(row, size_[k]));
    }
    /// Keeps the states for which `keeps(state)` is true.
    template <class Keeps>
    constexpr void filter(Keeps keeps) noexcept {
        std::size_t kept = 0;
        for (std::size_t k = 0; k != count_; ++k)
            if (keeps(k)) copy(k, kept++);
        count_ = kept;
    }

    /// A span of buffer `k` ends. Returns whether states may have become equal.
    constexpr bool leave(std::uint32_t k, std::uint32_t section) noexcept {
        const bool is_last = last_[k] == section;
        for (std::size_t state = 0; state != count_; ++state) {
            if (!has(held_, state, k)) continue;
            add(state, k, false);
            if (is_last) flip(held_, state, k);
        }
        return is_last;
    }
    /// A further span of buffer `k` begins.
    constexpr void enter(std::uint32_t k) noexcept {
        filter([&](std::size_t state) {
            if (!has(held_, state, k)) return true;
            add(state, k, true);
            return load_[state] <= capacity_;
        });
    }
    /// The first span of buffer `k` begins.
    constexpr void branch(std::uint32_t k) noexcept {
        const auto [price_in, price_out] = price_->reduced(order_[k], size_[k], value_[k]);
        const std::size_t before = count_;
        const bool may_stay_out = value_[k] != prices::priceless;
        for (std::size_t state = 0; state != before; ++state) {
            if (may_stay_out) {
                const std::size_t out = count_++;
                copy(state, out);
                lost_[out] += value_[k];
                give_away(out, price_out);
            }
            add(state, k, true);
            give_away(state, price_in);
            flip(in_, state, k);
            flip(held_, state, representative(state, k));
        }
        filter([&](std::size_t state) { return load_[state] <= capacity_ && bound_of(state) < most_; });
        if (count_ > states_) drop_the_worst();
    }
    [[nodiscard]] constexpr std::uint32_t representative(std::size_t state, std::uint32_t k) const noexcept {
        while (twin_[k] != none && !has(held_, state, twin_[k])) k = twin_[k];
        return k;
    }
    constexpr void drop_the_worst() noexcept {
        for (std::size_t k = 0; k != count_; ++k) index_[k] = static_cast<std::uint32_t>(k);
        const auto better = [&](std::uint32_t a, std::uint32_t b) {
            return bound_[a] != bound_[b] ? bound_[a] < bound_[b] : a < b;
        };
        std::nth_element(index_, index_ + states_, index_ + count_, better);
        const std::uint32_t first_worse = index_[states_];
        const std::uint64_t its_bound = bound_[first_worse];
        for (std::size_t k = states_; k != count_; ++k) dropped_ = std::min(dropped_, bound_of(index_[k]));
        filter([&](std::size_t state) {
            return bound_[state] != its_bound ? bound_[state] < its_bound : state < first_worse;
        });
    }
    /// Of states with equal sets, keeps the one that lost least.
    constexpr void unite() noexcept {
        const std::size_t slots = std::bit_ceil(2 * count_), last = slots - 1;
        for (std::size_t k = 0; k != slots; ++k) slot_[k] = none;
        std::size_t kept = 0;
        for (std::size_t state = 0; state != count_; ++state) {
            std::uint64_t hash = 0;
            for (std::size_t w = 0; w != words_; ++w) {
                hash = (hash ^ held_[state * words_ + w]) * 0x9e3779b97f4a7c15;
                hash ^= hash >> 32;
            }
            auto at = static_cast<std::size_t>(hash & last);
            while (slot_[at] != none && !is_equal(slot_[at], state)) at = (at + 1) & last;
            if (slot_[at] == none) {
                slot_[at] = static_cast<std::uint32_t>(kept);
                copy(state, kept++);
            } else if (lost_[state] < lost_[slot_[at]]) {
                copy(state, slot_[at]);
            }
        }
        count_ = kept;
    }
    [[nodiscard]] constexpr bool is_equal(std::size_t a, std::size_t b) const noexcept {
        for (std::size_t w = 0; w != words_; ++w)
            if (held_[a * words_ + w] != held_[b * words_ + w]) return false;
        return true;
    }
    constexpr void pay_unused(std::uint32_t section) noexcept {
        for (std::size_t row = 0; row != rows_; ++row) {
            const std::uint64_t price = price_->of_section(row, section), room = price_->room(row);
            for (std::size_t state = 0; state != count_ && price != 0; ++state) {
                const std::uint64_t taken = scaled_[state * rows_ + row];
                std::uint64_t paid = 0;
                if (checked_multiply(room - std::min(taken, room), price, paid)) give_away(state, paid);
            }
        }
        filter([&](std::size_t state) { return bound_of(state) < most_; });
    }

    const section_tree* where_;
    const prices* price_;
    std::size_t states_, words_, rows_ = 1, count_ = 0, best_ = 0;
    std::uint64_t capacity_ = 0, most_ = 0, dropped_ = 0;  // of which `dropped_` is the lowest bound of ended states
    std::uint32_t buffers_ = 0, spans_ = 0;
    std::uint32_t *order_ = nullptr, *twin_ = nullptr;  // buffers; by position: an earlier one of the same size and end
    std::uint32_t *first_ = nullptr, *last_ = nullptr;  // by position: sections
    std::uint32_t *of_span_ = nullptr, *from_ = nullptr, *until_ = nullptr;  // by span: position, sections
    std::uint32_t *begins_ = nullptr, *ends_ = nullptr, *scratch_ = nullptr;
    std::uint32_t *index_ = nullptr, *slot_ = nullptr;
    std::uint64_t *size_ = nullptr, *value_ = nullptr;   // by position
    std::uint64_t *lost_ = nullptr, *bound_ = nullptr;   // by state: value; scaled lower bound of the loss
    std::uint64_t *load_ = nullptr, *scaled_ = nullptr;  // by state: bytes in the section, and scaled
    std::uint64_t *in_ = nullptr, *held_ = nullptr;      // by state: chosen; those that live, of twins the earliest
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
