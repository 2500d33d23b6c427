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
// A state is copied only if both of its children remain.
// Complexity: O(states × buffers² / 64), and the visits of `section_covers`. Memory: `space`, buffers / 4 bytes a
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
            const std::uint64_t some = larger<std::uint64_t>(bounded * 8 / (buffers + 1), 16);
            const std::uint64_t sets = std::uint64_t{1} << smaller<std::size_t>(buffers, 16);
            const std::uint64_t numbered = (std::uint64_t{1} << 31) / most_parts(buffers);
            const std::uint64_t most = smaller(smaller(sets, numbered), larger(always, bounded / 40));  // bounds memory
            return {static_cast<std::size_t>(smaller(some, most)), section_covers<>::units(bounded), bounded * 256};
        }
    };
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem, limits most) noexcept {
        if (most.states == 0) return {};
        const std::size_t buffers = problem.buffers.size(), children = 2 * most.states;
        return plan_space{.u32 = 2 * most.states + children + std::bit_ceil(2 * most.states) + buffers,
                          .u64 = most.states * most_parts(buffers) + 3 * children + 2 * buffers} +
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
          each_{where, problem, workspace},
          cover_{problem.buffers.size(), excess_sections<>::most_spans(problem), most.units, workspace} {
        const std::size_t children = 2 * most.states;
        for (auto* array : {&state_, &unused_}) *array = workspace.cut_u32(most.states);
        child_ = workspace.cut_u32(children);
        slot_ = workspace.cut_u32(std::bit_ceil(2 * most.states));
        part_ = workspace.cut_u64(most.states * most_parts(problem.buffers.size()));
        for (auto* array : {&rank_, &child_bound_, &scratch_}) *array = workspace.cut_u64(children);
        decided_buffer_ = workspace.cut_u32(problem.buffers.size());
        decided_share_ = workspace.cut_u64(problem.buffers.size());
        decided_units_ = workspace.cut_u64(problem.buffers.size());
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
        if (count_ != 0) best_ = state_[0];
        for (const std::uint32_t state : states())
            if (is_better(state, best_)) best_ = state;
        return count_ == 0 ? dropped_ : smaller(dropped_, part(best_, loss));
    }
    /// Returns whether the last search found a choice that loses less than `most`.
    [[nodiscard]] constexpr bool found() const noexcept { return count_ != 0 && lost() < most_; }
    /// Returns the lost value of that choice: the result of `run`, or more.
    [[nodiscard]] constexpr std::uint64_t lost() const noexcept { return part(best_, loss); }
    /// Calls `visit(buffer, is_in)` for each buffer of the found choice that lives in a section with an excess.
    /// All others are in.
    template <class Visit>
    constexpr void each(Visit visit) const noexcept {
        for (std::uint32_t k = 0; k != each_.buffers(); ++k) visit(each_.buffer(k), has(in(best_), k));
    }

private:
    static constexpr std::uint32_t none = excess_sections<>::none;

    /// Parts of a state, whose number is the index of the first one. The loads by rows of prices follow, then two sets
    /// of buffers: those that were chosen, and those that live. Of living twins, the set has the earliest.
    enum part_of_state : std::size_t {
        loss,     // value lost
        load,     // bytes in the section
        area,     // sum of the loads so far, may wrap
        priced,   // scaled bound by prices
        shared,   // scaled bound by shares
        out,      // shares that are out of the section
        covered,  // units that are out of the section
        remain,   // in `branch`: plus 1 if the child with the buffer remains, plus 2 if the one without it does
        fixed_parts
    };

    [[nodiscard]] static constexpr std::size_t words(std::size_t buffers) noexcept { return buffers / 64 + 1; }
    [[nodiscard]] static constexpr std::size_t most_parts(std::size_t buffers) noexcept {
        return fixed_parts + prices::most_rows(0) + 2 * words(buffers);
    }
    [[nodiscard]] constexpr plan_array<const std::uint32_t> states() const noexcept { return {state_, count_}; }
    [[nodiscard]] constexpr std::uint64_t& part(std::uint32_t state, std::size_t of) noexcept {
        return part_[state + of];
    }
    [[nodiscard]] constexpr std::uint64_t part(std::uint32_t state, std::size_t of) const noexcept {
        return part_[state + of];
    }
    [[nodiscard]] constexpr std::uint64_t* in(std::uint32_t state) const noexcept {
        return part_ + state + fixed_parts + rows_;
    }
    [[nodiscard]] constexpr std::uint64_t* held(std::uint32_t state) const noexcept { return in(state) + words_; }
    [[nodiscard]] static constexpr bool has(const std::uint64_t* set, std::uint32_t k) noexcept {
        return (set[k / 64] >> (k % 64) & 1) != 0;
    }
    static constexpr void flip(std::uint64_t* set, std::uint32_t k) noexcept {
        set[k / 64] ^= std::uint64_t{1} << (k % 64);
    }

    /// Raises the bound by shares toward `target`, in at most `steps` steps.
    constexpr void raise(std::uint64_t target, std::uint64_t steps) noexcept {
        cover_.climb(target, smaller(steps, limits_.operations / (operations_ + 1)));
        // After an even number of passes, buffers have their shares as early as possible.
        best_shared_ = cover_.improve(2);
    }
    /// Makes the first state, unless the excess cannot be covered.
    constexpr void begin() noexcept {
        rows_ = price_->rows();
        words_ = words(each_.buffers());
        parts_ = fixed_parts + rows_ + 2 * words_;
        // A bound is rounded up to a multiple of the granule, and must be less than `most_`.
        const std::uint64_t last = most_ - smaller<std::uint64_t>(most_, 1);
        most_lost_ = each_.granule() == 0 ? last : last - last % each_.granule();
        highest_ = smaller(price_->highest(most_lost_), unlimited - 1);
        unused_count_ = 0;
        for (std::size_t state = limits_.states; state != 0;)
            unused_[unused_count_++] = static_cast<std::uint32_t>(--state * parts_);
        count_ = 0;
        if (best_shared_ == section_covers<>::impossible) return;
        const std::uint32_t first = unused_[--unused_count_];
        for (std::size_t of = 0; of != parts_; ++of) part(first, of) = 0;
        part(first, priced) = price_->best();
        part(first, shared) = best_shared_;
        state_[count_++] = first;
    }

    /// Returns the bound of a state that lost `value`.
    [[nodiscard]] constexpr std::uint64_t rounded(std::uint64_t scaled, std::uint64_t value) const noexcept {
        const std::uint64_t bound = larger(price_->unscaled(scaled), value);
        const std::uint64_t rest = each_.granule() == 0 ? 0 : bound % each_.granule();
        return rest == 0 || bound > unlimited - each_.granule() ? bound : bound + (each_.granule() - rest);
    }
    [[nodiscard]] static constexpr std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) noexcept {
        return b > ~std::uint64_t{0} - a ? ~std::uint64_t{0} : a + b;
    }
    /// Adds the bytes of a buffer to a state, or removes them.
    constexpr void add(std::uint32_t state, std::uint32_t k, bool in) noexcept {
        const auto change = [&](std::uint64_t& sum, std::uint64_t bytes) { sum = in ? sum + bytes : sum - bytes; };
        change(part(state, load), each_.size(k));
        for (std::size_t row = 0; row != rows_; ++row)
            change(part(state, fixed_parts + row), price_->scaled_size(row, each_.size(k)));
    }
    constexpr void give_back(std::uint32_t state) noexcept { unused_[unused_count_++] = state; }
    /// Keeps the states for which `keeps(state)` is true.
    template <class Keeps>
    constexpr void filter(Keeps keeps) noexcept {
        std::size_t kept = 0;
        for (const std::uint32_t state : states())
            if (keeps(state)) state_[kept++] = state;
            else give_back(state);
        count_ = kept;
    }

    /// A span of buffer `k` ends. Returns whether states may have become equal.
    constexpr bool leave(std::uint32_t k, std::uint32_t section) noexcept {
        const bool is_last = each_.last(k) == section;
        for (const std::uint32_t state : states()) {
            if (!has(held(state), k)) continue;
            add(state, k, false);
            if (is_last) flip(held(state), k);
        }
        return is_last;
    }
    /// A further span of buffer `k` begins.
    constexpr void enter(std::uint32_t k) noexcept {
        filter([&](std::uint32_t state) {
            if (!has(held(state), k)) return true;
            add(state, k, true);
            return part(state, load) <= capacity_;
        });
    }
    /// Adds the shares of the buffers that are out to each state, except of those that begin in this section.
    constexpr void enter_section(std::uint32_t section) noexcept {
        decided_ = 0;
        if (!cover_.is_omitted(section)) {
            cover_.tabulate(section);
            for (; decided_ != cover_.count(section); ++decided_) {
                const auto each = cover_(section, decided_);
                if (each_.first(each.buffer) == section) break;
                decided_buffer_[decided_] = each.buffer;
                decided_share_[decided_] = each.share;
                decided_units_[decided_] = each.units;
            }
        }
        const section_bound bound{*this, section};
        filter([&](std::uint32_t state) {
            const std::uint64_t* const chosen = in(state);
            std::uint64_t shares = 0, units = 0;
            for (std::size_t j = 0; j != decided_; ++j) {
                const std::uint64_t is_out = has(chosen, decided_buffer_[j]) ? 0 : ~std::uint64_t{0};
                shares += decided_share_[j] & is_out;
                units += decided_units_[j] & is_out;
            }
            part(state, out) = shares;
            part(state, covered) = units;
            return larger(bound(part(state, shared), shares, units), part(state, priced)) <= highest_;
        });
    }
    constexpr void stay_out(std::uint32_t state, section_covers<>::member each) noexcept {
        part(state, out) += each.share;
        part(state, covered) += each.units;
    }

    /// The scaled bound of a state by shares; `unlimited` if the state cannot cover the excess.
    struct section_bound {
        const std::uint64_t* least_of = nullptr;  // by units that are still to be covered; null: shares do not count
        std::size_t need = 0;
        std::uint64_t least = 0;

        constexpr section_bound(const least_loss& of, std::uint32_t section) noexcept {
            if (of.cover_.is_omitted(section)) return;
            least_of = of.cover_.least_from(of.decided_);
            need = of.cover_.need(section);
            least = of.cover_.least(section);
        }
        [[nodiscard]] constexpr std::uint64_t operator()(std::uint64_t shared, std::uint64_t out,
                                                         std::uint64_t covered) const noexcept {
            if (least_of == nullptr) return shared;
            const std::uint64_t sum = shared + out + least_of[need - smaller<std::uint64_t>(covered, need)] - least;
            return sum < section_covers<>::impossible ? sum : unlimited;
        }
    };

    /// The first span of buffer `k` begins. Each state has a child with the buffer and one without it. The children
    /// with it come first.
    constexpr void branch(std::uint32_t k, std::uint32_t section) noexcept {
        const auto [price_in, price_out] = price_->reduced(each_.buffer(k), each_.size(k), each_.value(k));
        const bool may_stay_out = cover_.may_stay_out(k), may_be_in = cover_.may_be_in(k),
                   counts = may_stay_out && may_be_in && !cover_.is_omitted(section);
        const section_covers<>::member own = counts ? cover_(section, decided_) : section_covers<>::member{};
        if (counts) ++decided_;
        const section_bound bound{*this, section};
        const std::uint64_t size = each_.size(k), value = each_.value(k);
        std::size_t children = 0;
        const auto add_child = [&](std::uint32_t child, std::uint64_t by_shares, std::uint64_t by_prices) {
            const std::uint64_t higher = larger(by_shares, by_prices);
            child_[children] = child;
            child_bound_[children] = higher;
            rank_[children] = is_proof_ ? higher : by_shares / 2 + by_prices / 2;
            children += higher <= highest_ ? 1 : 0;
        };
        for (std::size_t at = 0; may_be_in && at != count_; ++at) {
            const std::uint32_t state = state_[at];
            const std::uint64_t* const of = part_ + state;
            if (of[load] + size > capacity_) continue;
            add_child(2 * state, bound(of[shared], of[out], of[covered]), sum_of(of[priced], price_in));
        }
        for (std::size_t at = 0; may_stay_out && at != count_; ++at) {
            const std::uint32_t state = state_[at];
            const std::uint64_t* const of = part_ + state;
            if (of[loss] + value > most_lost_) continue;
            add_child(2 * state + 1, bound(of[shared], of[out] + own.share, of[covered] + own.units),
                      sum_of(of[priced], price_out));
        }
        if (children > limits_.states) children = drop_the_worst(children, value);

        for (const std::uint32_t state : states()) part(state, remain) = 0;
        for (std::size_t at = 0; at != children; ++at) part(child_[at] / 2, remain) += 1 + child_[at] % 2;
        for (const std::uint32_t state : states())
            if (part(state, remain) == 0) give_back(state);
        count_ = children;
        // The children without the buffer come first, because they may need a copy of the state.
        for (std::size_t at = children; at-- != 0;) {
            const std::uint32_t state = child_[at] / 2;
            state_[at] = child_[at] % 2 == 0 ? state : part(state, remain) == 3 ? copy_of(state) : state;
            if (child_[at] % 2 == 0) put_in(state, k, price_in);
            else leave_out(state_[at], value, price_out, own);
        }
    }
    [[nodiscard]] constexpr std::uint32_t copy_of(std::uint32_t state) noexcept {
        const std::uint32_t copy = unused_[--unused_count_];
        for (std::size_t of = 0; of != parts_; ++of) part(copy, of) = part(state, of);
        return copy;
    }
    constexpr void put_in(std::uint32_t state, std::uint32_t k, std::uint64_t price) noexcept {
        add(state, k, true);
        part(state, priced) = sum_of(part(state, priced), price);
        flip(in(state), k);
        flip(held(state), representative(state, k));
    }
    constexpr void leave_out(std::uint32_t state, std::uint64_t value, std::uint64_t price,
                             section_covers<>::member own) noexcept {
        part(state, loss) += value;
        part(state, priced) = sum_of(part(state, priced), price);
        stay_out(state, own);
    }
    [[nodiscard]] constexpr std::uint32_t representative(std::uint32_t state, std::uint32_t k) const noexcept {
        for (std::uint32_t twin = each_.twin(k); twin != none && !has(held(state), twin); twin = each_.twin(k))
            k = twin;
        return k;
    }
    /// Drops the children with the highest ranks, of equal ranks the last ones. Returns the number of the others.
    /// `value`: lost by a child without the buffer.
    [[nodiscard]] constexpr std::size_t drop_the_worst(std::size_t children, std::uint64_t value) noexcept {
        const std::size_t most = limits_.states;
        for (std::size_t at = 0; at != children; ++at) scratch_[at] = rank_[at];
        const std::uint64_t first_worse = nth_smallest(scratch_, children, most);
        std::size_t equal = most;  // children of that rank that remain
        for (std::size_t at = 0; at != children; ++at) equal -= rank_[at] < first_worse ? 1 : 0;
        std::size_t kept = 0;
        for (std::size_t at = 0; at != children; ++at) {
            bool stays = rank_[at] < first_worse;
            if (rank_[at] == first_worse && equal != 0) {
                stays = true;
                --equal;
            }
            if (stays) {
                child_[kept++] = child_[at];
                continue;
            }
            const std::uint64_t all_lost = part(child_[at] / 2, loss) + (child_[at] % 2 != 0 ? value : 0);
            dropped_ = smaller(dropped_, rounded(child_bound_[at], all_lost));
        }
        return kept;
    }
    /// Returns whether a state lost less than another one, or as much with fewer bytes in all sections.
    [[nodiscard]] constexpr bool is_better(std::uint32_t a, std::uint32_t b) const noexcept {
        return part(a, loss) != part(b, loss) ? part(a, loss) < part(b, loss) : part(a, area) < part(b, area);
    }
    /// Of states with equal sets, keeps the one that lost least.
    constexpr void unite() noexcept {
        const std::size_t slots = std::bit_ceil(2 * count_), last = slots - 1;
        for (std::size_t k = 0; k != slots; ++k) slot_[k] = none;
        std::size_t kept = 0;
        for (const std::uint32_t state : states()) {
            const std::uint64_t* const set = held(state);
            std::uint64_t hash = 0;
            for (std::size_t w = 0; w != words_; ++w) {
                hash = (hash ^ set[w]) * 0x9e3779b97f4a7c15;
                hash ^= hash >> 32;
            }
            auto at = static_cast<std::size_t>(hash & last);
            while (slot_[at] != none && !is_equal(state_[slot_[at]], state)) at = (at + 1) & last;
            if (slot_[at] == none) {
                slot_[at] = static_cast<std::uint32_t>(kept);
                state_[kept++] = state;
                continue;
            }
            std::uint32_t& other = state_[slot_[at]];
            give_back(is_better(state, other) ? std::exchange(other, state) : state);
        }
        count_ = kept;
    }
    [[nodiscard]] constexpr bool is_equal(std::uint32_t a, std::uint32_t b) const noexcept {
        for (std::size_t w = 0; w != words_; ++w)
            if (held(a)[w] != held(b)[w]) return false;
        return true;
    }
    /// Adds the shares beyond the least ones, and the price of unused bytes, to the bounds of each state.
    constexpr void leave_section(std::uint32_t section) noexcept {
        const bool counts = !cover_.is_omitted(section);
        for (const std::uint32_t state : states()) {
            part(state, area) += part(state, load);
            if (counts) part(state, shared) += part(state, out) - cover_.least(section);
        }
        for (std::size_t row = 0; row != rows_; ++row) {
            const std::uint64_t price = price_->of_section(row, each_.original(section)), room = price_->room(row);
            std::uint64_t paid = 0;
            const bool fits = checked_multiply(room, price, paid);  // then that of any part of the room fits, too
            for (std::size_t at = 0; at != count_ && price != 0; ++at) {
                const std::uint32_t state = state_[at];
                const std::uint64_t unused = room - smaller(part(state, fixed_parts + row), room);
                if (fits) paid = unused * price;
                else if (!checked_multiply(unused, price, paid)) continue;
                part(state, priced) = sum_of(part(state, priced), paid);
            }
        }
    }

    const prices* price_;
    limits limits_;
    std::size_t words_ = 0, rows_ = 1, parts_ = 0;  // of a state: words of a set, rows of prices, and all parts
    std::size_t count_ = 0, unused_count_ = 0;
    std::uint32_t best_ = 0;
    std::size_t decided_ = 0;  // buffers of the section in `cover_`
    std::uint64_t capacity_ = 0;
    std::uint64_t best_shared_ = 0;              // scaled bound of all choices by shares
    std::uint64_t operations_ = 0;               // of a step
    std::uint64_t most_ = 0, dropped_ = 0;       // of which `dropped_` is the lowest bound of ended states
    std::uint64_t highest_ = 0, most_lost_ = 0;  // of a state that goes on: scaled bound, and lost value
    bool is_proof_ = false;
    std::uint32_t *state_ = nullptr, *unused_ = nullptr;      // the states, in order; those without a use
    std::uint32_t* slot_ = nullptr;                           // by hash of a set: index in `state_`
    std::uint32_t* child_ = nullptr;                          // twice the state, plus 1 if the buffer is out
    std::uint64_t *rank_ = nullptr, *child_bound_ = nullptr;  // by index in `child_`; of the ranks, the lowest remain
    std::uint64_t* scratch_ = nullptr;
    std::uint64_t* part_ = nullptr;            // by state: see `part_of_state`
    std::uint32_t* decided_buffer_ = nullptr;  // of the section in `cover_`, those that began before it
    std::uint64_t *decided_share_ = nullptr, *decided_units_ = nullptr;
    excess_sections<> each_;
    section_covers<> cover_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
