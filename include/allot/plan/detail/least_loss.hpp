// SPDX-License-Identifier: BSL-1.0
// least_loss: the least value of buffers that must stay out of a memory, such that no section exceeds its capacity.
//
//     section   0        1        2            A state is a set of buffers that are in. The first section begins
//             ┌ {a} ─── {a,b} ✗                with one state. Each buffer that begins makes two of each state: with
//          {} ┤                   ┌ {c} ─ …    the buffer, if the section has room for it, and without it, which costs
//             └ { } ─── {b} ─ { } ┤            its value. When a buffer ends, states that differ in it alone become
//                         └ …     └ { } ─ …    one, and the cheapest remains.
//
// The bound of a state is the larger one of two lower bounds on the value that it loses by the end:
//   - by prices: the bound of all choices, plus what the state gave away so far. That is the value of a buffer beyond
//     its price, or the price beyond its value, and the price of unused bytes.
//   - by the shares of `section_covers`: the bound of all choices, plus the shares of the buffers that are out, in each
//     section so far, beyond the least that covers its excess. In the current section, the least that completes the
//     cover counts.
// A state whose bound reaches the loss of a known choice ends. All losses are multiples of the greatest common divisor
// of the values, so bounds are rounded up to one. If there are too many states, some end, and the lowest of their
// bounds limits the result. So the result is a lower bound for any number of states, and the least loss if no such
// state had a lower bound. The first search finds a choice: the states with the highest means of the two bounds end. In
// the second search, those with the highest bounds end.
//
// Sections without an excess are left out. Of buffers of one size that end at the same time, the one in a state that
// began first stands for any of them. Of choices with equal losses, the one with fewer bytes in all sections remains,
// because it is easier to pack.
//
// The loads of sections are the only constraint. A plan may lose more, because offsets may not exist.
// Sources: Morin and Marsten, Branch-and-bound strategies for dynamic programming, Operations Research 24, 1976.
// Bergman et al., Discrete optimization with decision diagrams, INFORMS Journal on Computing 28, 2016 (limited width).
// Complexity: O(states × buffers² / 64), and the visits of `section_covers`. Memory: `space`, buffers / 2 bytes a
// state, `excess_sections`, and `section_covers`. Not synchronized.
#pragma once

#include <allot/plan/detail/section_covers.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

// A template, so that only programs that use it compile it.
template <class = void>
class least_loss {
public:
    static constexpr std::uint64_t unlimited = ~std::uint64_t{0};

    /// Number of states and their parts, proportionate to an effort; no states for little effort.
    struct limits {
        std::size_t states = 0, units = 0;
        std::uint64_t operations = 0;  ///< of all visits of the sections

        /// Returns the limits for `effort` placements of `buffers`.
        [[nodiscard]] static constexpr limits of(std::uint64_t effort, std::size_t buffers) noexcept {
            constexpr std::uint64_t least_effort = 1000, always = 4096;
            if (effort < least_effort) return {};
            const std::uint64_t bounded = smaller<std::uint64_t>(effort, std::uint64_t{1} << 40);
            const std::uint64_t some = larger<std::uint64_t>(bounded * 4 / (buffers + 1), 16);
            const std::uint64_t sets = std::uint64_t{1} << smaller<std::size_t>(buffers, 16);
            const std::uint64_t most = smaller(sets, larger(always, bounded / 40));  // bounds the memory
            return {static_cast<std::size_t>(smaller(some, most)), section_covers<>::units(bounded), bounded * 256};
        }
    };
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem, limits most) noexcept {
        if (most.states == 0) return {};
        const std::size_t buffers = problem.buffers.size(), states = 2 * most.states;
        return plan_space{.u32 = states + std::bit_ceil(2 * states),
                          .u64 = states * (8 + prices::most_rows(0) + 2 * words(buffers))} +
               excess_sections<>::space(problem) +
               section_covers<>::space(buffers, excess_sections<>::most_spans(problem), most.units);
    }

    /// The buffers, their sizes and values, and the capacity. These are the arguments of the latest `prices::run`.
    template <class Size, class Value>
    struct choice {
        plan_array<const std::uint32_t> list{};
        Size size_of{};
        Value value{};
        std::uint64_t capacity = 0;
        std::uint32_t sections = 0;
    };

    /// Precondition: `most.states` is not 0.
    constexpr least_loss(const section_tree& where, const prices& price, const plan_problem& problem, limits most,
                         plan_workspace& workspace) noexcept
        : price_{&price},
          limits_{most},
          words_{words(problem.buffers.size())},
          each_{where, problem, workspace},
          cover_{problem.buffers.size(), excess_sections<>::most_spans(problem), most.units, workspace} {
        const std::size_t states = 2 * most.states;
        index_ = workspace.cut_u32(states);
        slot_ = workspace.cut_u32(std::bit_ceil(2 * states));
        for (auto* array : {&lost_, &load_, &area_, &priced_, &shared_, &out_, &covered_, &rank_})
            *array = workspace.cut_u64(states);
        scaled_load_ = workspace.cut_u64(states * prices::most_rows(0));
        in_ = workspace.cut_u64(states * words_);
        held_ = workspace.cut_u64(states * words_);
    }

    /// Reads the buffers, and divides their values among the sections. The prices are those of the same arguments. A
    /// choice that loses less than `most` is wanted.
    template <class Size, class Value>
    constexpr void prepare(const choice<Size, Value>& of, std::uint64_t most) noexcept {
        capacity_ = of.capacity;
        each_.read(of.list, of.size_of, of.value, of.capacity, of.sections);
        operations_ = cover_.begin(each_, *price_);
        const std::uint64_t known = cover_.improve(0);
        raise(smaller(most == unlimited ? unlimited : price_->scaled(most), known + known / 16), 32);
    }
    /// Fixes the buffers without a choice that loses less than `most`, and raises the bound.
    constexpr void tighten(std::uint64_t most) noexcept {
        constexpr int rounds = 4;
        const auto ends = [&](std::uint32_t k, std::uint64_t more, bool in) {
            const auto [price_in, price_out] = price_->reduced(each_.buffer(k), each_.size(k), each_.value(k));
            return price_->unscaled(best_shared_ + more) >= most ||
                   price_->unscaled(price_->best() + (in ? price_in : price_out)) >= most;
        };
        for (int round = 0; round != rounds && best_shared_ < section_covers<>::impossible && cover_.fix(ends); ++round)
            raise(price_->scaled(most), 8);
    }
    /// Searches a choice that loses less than `most`. Returns a lower bound on the lost value, at most `most`.
    /// `is_proof`: of too many states, keeps those that raise the bound. Precondition: `prepare` was called.
    [[nodiscard]] constexpr std::uint64_t run(std::uint64_t most, bool is_proof) noexcept {
        is_proof_ = is_proof;
        most_ = dropped_ = most;
        best_ = 0;
        begin();
        std::size_t begins = 0, ends = 0;
        std::uint32_t next = 0;
        for (std::uint32_t s = 0; s <= each_.count() && count_ != 0; ++s) {
            bool ended = false;
            each_.each_end(s, ends, [&](std::uint32_t k) { ended |= leave(k, s); });
            if (ended) unite();
            if (s == each_.count()) break;
            enter_section(s);
            each_.each_beginning(s, begins, [&](std::uint32_t k) {
                if (each_.first(k) != s) enter(k);
            });
            for (; next != each_.buffers() && each_.first(next) == s; ++next) branch(next, s);
            leave_section(s);
        }
        for (std::size_t k = 1; k < count_; ++k)
            if (is_better(k, best_)) best_ = k;
        return count_ == 0 ? dropped_ : smaller(dropped_, lost_[best_]);
    }
    /// Returns whether the last search found a choice that loses less than `most`.
    [[nodiscard]] constexpr bool found() const noexcept { return count_ != 0 && lost_[best_] < most_; }
    /// Returns the lost value of that choice: the result of `search`, or more.
    [[nodiscard]] constexpr std::uint64_t lost() const noexcept { return lost_[best_]; }
    /// Calls `visit(buffer, is_in)` for each buffer of the found choice that lives in a section with an excess.
    /// All others are in.
    template <class Visit>
    constexpr void each(Visit visit) const noexcept {
        for (std::uint32_t k = 0; k != each_.buffers(); ++k) visit(each_.buffer(k), has(in_, best_, k));
    }

private:
    static constexpr std::uint32_t none = excess_sections<>::none;

    [[nodiscard]] static constexpr std::size_t words(std::size_t buffers) noexcept { return buffers / 64 + 1; }
    [[nodiscard]] constexpr bool has(const std::uint64_t* sets, std::size_t state, std::uint32_t k) const noexcept {
        return (sets[state * words_ + k / 64] >> (k % 64) & 1) != 0;
    }
    constexpr void flip(std::uint64_t* sets, std::size_t state, std::uint32_t k) noexcept {
        sets[state * words_ + k / 64] ^= std::uint64_t{1} << (k % 64);
    }

    /// Raises the bound by shares toward `target`, in at most `steps` steps.
    constexpr void raise(std::uint64_t target, std::uint64_t steps) noexcept {
        cover_.climb(target, smaller(steps, limits_.operations / (operations_ + 1)));
        // After an even number of passes, buffers have their shares as early as possible.
        best_shared_ = cover_.improve(2);
    }
    /// Makes the first state, unless the excess cannot be covered.
    constexpr void begin() noexcept {
        count_ = best_shared_ == section_covers<>::impossible ? 0 : 1;
        rows_ = price_->rows();
        lost_[0] = load_[0] = area_[0] = 0;
        priced_[0] = price_->best();
        shared_[0] = best_shared_;
        for (std::size_t row = 0; row != rows_; ++row) scaled_load_[row] = 0;
        for (std::size_t w = 0; w != words_; ++w) in_[w] = held_[w] = 0;
    }

    /// Returns the scaled bound of a state by shares.
    [[nodiscard]] constexpr std::uint64_t by_shares(std::size_t state, std::uint32_t section) const noexcept {
        if (cover_.is_omitted(section)) return shared_[state];
        return shared_[state] + out_[state] + cover_.least_from(section, decided_, covered_[state]) -
               cover_.least(section);
    }
    /// Returns a lower bound on the lost value of a state.
    [[nodiscard]] constexpr std::uint64_t bound_of(std::size_t state, std::uint32_t section) const noexcept {
        const std::uint64_t shared = by_shares(state, section);
        if (shared >= section_covers<>::impossible) return unlimited;
        const std::uint64_t bound = larger(price_->unscaled(larger(shared, priced_[state])), lost_[state]);
        const std::uint64_t rest = each_.granule() == 0 ? 0 : bound % each_.granule();
        return rest == 0 || bound > unlimited - each_.granule() ? bound : bound + (each_.granule() - rest);
    }
    constexpr void copy(std::size_t from, std::size_t to) noexcept {
        if (from == to) return;
        for (auto* array : {lost_, load_, area_, priced_, shared_, out_, covered_}) array[to] = array[from];
        for (std::size_t row = 0; row != rows_; ++row)
            scaled_load_[to * rows_ + row] = scaled_load_[from * rows_ + row];
        for (std::size_t w = 0; w != words_; ++w) {
            in_[to * words_ + w] = in_[from * words_ + w];
            held_[to * words_ + w] = held_[from * words_ + w];
        }
    }
    constexpr void give_away(std::size_t state, std::uint64_t scaled) noexcept {
        if (!checked_add(priced_[state], scaled, priced_[state])) priced_[state] = ~std::uint64_t{0};
    }
    /// Adds the bytes of a buffer to a state, or removes them.
    constexpr void add(std::size_t state, std::uint32_t k, bool in) noexcept {
        const auto change = [&](std::uint64_t& sum, std::uint64_t bytes) { sum = in ? sum + bytes : sum - bytes; };
        change(load_[state], each_.size(k));
        for (std::size_t row = 0; row != rows_; ++row)
            change(scaled_load_[state * rows_ + row], price_->scaled_size(row, each_.size(k)));
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
        const bool is_last = each_.last(k) == section;
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
    /// Adds the shares of the buffers that are out to each state, except of those that begin in this section.
    constexpr void enter_section(std::uint32_t section) noexcept {
        for (std::size_t state = 0; state != count_; ++state) out_[state] = covered_[state] = 0;
        decided_ = 0;
        if (cover_.is_omitted(section)) return;
        cover_.tabulate(section);
        for (; decided_ != cover_.count(section); ++decided_) {
            const auto each = cover_(section, decided_);
            if (each_.first(each.buffer) == section) break;
            for (std::size_t state = 0; state != count_; ++state)
                if (!has(in_, state, each.buffer)) stay_out(state, each);
        }
        filter([&](std::size_t state) { return bound_of(state, section) < most_; });
    }
    constexpr void stay_out(std::size_t state, section_covers<>::member each) noexcept {
        out_[state] += each.share;
        covered_[state] += each.units;
    }
    /// The first span of buffer `k` begins.
    constexpr void branch(std::uint32_t k, std::uint32_t section) noexcept {
        const auto [price_in, price_out] = price_->reduced(each_.buffer(k), each_.size(k), each_.value(k));
        const std::size_t before = count_;
        const bool may_stay_out = cover_.may_stay_out(k), may_be_in = cover_.may_be_in(k),
                   counts = may_stay_out && may_be_in && !cover_.is_omitted(section);
        for (std::size_t state = 0; state != before; ++state) {
            if (may_stay_out) {
                const std::size_t out = count_++;
                copy(state, out);
                lost_[out] += each_.value(k);
                give_away(out, price_out);
                if (counts) stay_out(out, cover_(section, decided_));
            }
            // A load above the capacity ends the state.
            if (may_be_in) add(state, k, true);
            else load_[state] = ~std::uint64_t{0};
            give_away(state, price_in);
            flip(in_, state, k);
            flip(held_, state, representative(state, k));
        }
        if (counts) ++decided_;
        filter([&](std::size_t state) { return load_[state] <= capacity_ && bound_of(state, section) < most_; });
        if (count_ > limits_.states) drop_the_worst(section);
    }
    [[nodiscard]] constexpr std::uint32_t representative(std::size_t state, std::uint32_t k) const noexcept {
        for (std::uint32_t twin = each_.twin(k); twin != none && !has(held_, state, twin); twin = each_.twin(k))
            k = twin;
        return k;
    }
    constexpr void drop_the_worst(std::uint32_t section) noexcept {
        const std::size_t most = limits_.states;
        for (std::size_t k = 0; k != count_; ++k) {
            const std::uint64_t shared = by_shares(k, section);
            index_[k] = static_cast<std::uint32_t>(k);
            rank_[k] = is_proof_ ? larger(shared, priced_[k]) : shared / 2 + priced_[k] / 2;
        }
        const auto better = [&](std::uint32_t a, std::uint32_t b) {
            return rank_[a] != rank_[b] ? rank_[a] < rank_[b] : a < b;
        };
        // A heap of the best states and the first worse one, which is its front.
        make_heap(index_, most + 1, better);
        for (std::size_t k = most + 1; k != count_; ++k) {
            if (!better(index_[k], index_[0])) continue;
            std::swap(index_[k], index_[0]);
            sift_down(index_, most + 1, 0, better);
        }
        std::swap(index_[0], index_[most]);
        const std::uint32_t first_worse = index_[most];
        const std::uint64_t its_rank = rank_[first_worse];
        for (std::size_t k = most; k != count_; ++k) dropped_ = smaller(dropped_, bound_of(index_[k], section));
        filter([&](std::size_t state) {
            return rank_[state] != its_rank ? rank_[state] < its_rank : state < first_worse;
        });
    }
    /// Returns whether a state lost less than another one, or as much with fewer bytes in all sections.
    [[nodiscard]] constexpr bool is_better(std::size_t a, std::size_t b) const noexcept {
        return lost_[a] != lost_[b] ? lost_[a] < lost_[b] : area_[a] < area_[b];
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
            } else if (is_better(state, slot_[at])) {
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
    /// Adds the shares beyond the least ones, and the price of unused bytes, to the bounds of each state.
    constexpr void leave_section(std::uint32_t section) noexcept {
        for (std::size_t state = 0; state != count_; ++state) {
            area_[state] += load_[state];
            if (!cover_.is_omitted(section)) shared_[state] += out_[state] - cover_.least(section);
        }
        for (std::size_t row = 0; row != rows_; ++row) {
            const std::uint64_t price = price_->of_section(row, each_.original(section)), room = price_->room(row);
            for (std::size_t state = 0; state != count_ && price != 0; ++state) {
                const std::uint64_t taken = scaled_load_[state * rows_ + row];
                std::uint64_t paid = 0;
                if (checked_multiply(room - smaller(taken, room), price, paid)) give_away(state, paid);
            }
        }
    }

    const prices* price_;
    limits limits_;
    std::size_t words_, rows_ = 1, count_ = 0, best_ = 0;
    std::size_t decided_ = 0;  // buffers of the section in `cover_`
    std::uint64_t capacity_ = 0;
    std::uint64_t best_shared_ = 0;         // scaled bound of all choices by shares
    std::uint64_t operations_ = 0;          // of a step
    std::uint64_t most_ = 0, dropped_ = 0;  // of which `dropped_` is the lowest bound of ended states
    bool is_proof_ = false;
    std::uint32_t *index_ = nullptr, *slot_ = nullptr;
    std::uint64_t *lost_ = nullptr, *load_ = nullptr;      // by state: value; bytes in the section
    std::uint64_t* area_ = nullptr;                        // by state: sum of the loads so far, may wrap
    std::uint64_t *priced_ = nullptr, *shared_ = nullptr;  // by state: scaled bounds
    std::uint64_t *out_ = nullptr, *covered_ = nullptr;    // by state: shares and units that are out of the section
    std::uint64_t* rank_ = nullptr;                        // by state: of which the lowest remain
    std::uint64_t* scaled_load_ = nullptr;                 // by state and row of prices
    std::uint64_t *in_ = nullptr, *held_ = nullptr;        // by state: chosen; those that live, of twins the earliest
    excess_sections<> each_;
    section_covers<> cover_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
