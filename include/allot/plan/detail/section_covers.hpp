// SPDX-License-Identifier: BSL-1.0
// section_covers: divides the values of buffers among the sections of time, such that each section alone proves a loss.
//
//     section    0       1       2         A section has an excess: its load above the capacity. The buffers that stay
//     excess    12      40       7         out of it must cover the excess. Each buffer divides its value among its
//     a  value  3 ───── 5                  sections. The least share that covers the excess is a knapsack problem,
//     b         2 ───── 9 ───── 1          solved exactly by dynamic programming. The sum of the least shares of all
//     least     2   +   5   +   1          sections is a lower bound on the lost value.
//
// The first shares follow from the prices of `prices`. Then `improve` visits the sections forward and backward. In
// each section, it computes for each buffer how much more the cover costs if the buffer is out than if it is in. That
// part of the share is of no use there. The buffer keeps a fraction and carries the rest to its next section. The bound
// never falls.
//
// Before that, `climb` raises the share of a buffer in sections whose cover uses it, and lowers it in the others.
// `fix` decides on buffers without a choice, so that the other shares need to cover less.
//
// Sizes count in units of a section. They are rounded such that the bound remains valid. All arithmetic uses integers.
//
// Sources: Lagrangian decomposition, Guignard and Kim, Mathematical Programming 39, 1987. Dual ascent by min-marginals,
// Lange and Swoboda, Efficient message passing for 0-1 ILPs with binary decision diagrams, ICML 2021.
// Complexity: O(units) for each buffer of a section and each visit. Memory: `space`, at most 1,800 bytes a buffer, and
// `cover_table`. Not synchronized.
#pragma once

#include <allot/plan/detail/cover_table.hpp>
#include <allot/plan/detail/excess_sections.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The shares of the buffers of `excess_sections`, by position.
// A template, so that only programs that use it compile it.
template <class = void>
class section_covers {
    static constexpr std::size_t most_shares = 64;  // of a buffer, on average

public:
    static constexpr std::uint64_t impossible = cover_table<>::impossible;

    /// Returns a limit of the units of a section that is proportionate to `effort`.
    [[nodiscard]] static constexpr std::size_t units(std::uint64_t effort) noexcept {
        return static_cast<std::size_t>(smaller<std::uint64_t>(larger<std::uint64_t>(effort / 128, 16), 512));
    }
    [[nodiscard]] static constexpr plan_space space(std::size_t buffers, std::size_t sections,
                                                    std::size_t units) noexcept {
        return plan_space{.u32 = 3 * most_shares * buffers + 4 * sections + 2 + 3 * buffers,
                          .u64 = 2 * most_shares * buffers + 3 * sections + 4 * buffers} +
               cover_table<>::space(buffers, units);
    }

    constexpr section_covers(std::size_t count, std::size_t sections, std::size_t units,
                             plan_workspace& workspace) noexcept
        : most_in_all_{most_shares * count}, table_{count, units, workspace} {
        buffer_ = workspace.cut_u32(most_in_all_);
        is_out_ = workspace.cut_u32(most_in_all_);
        speed_ = workspace.cut_u32(most_in_all_);
        first_ = workspace.cut_u32(sections + 1);
        next_ = workspace.cut_u32(sections + 1);
        need_ = workspace.cut_u32(sections);
        is_omitted_ = workspace.cut_u32(sections);
        ahead_ = workspace.cut_u32(count);
        fixed_ = workspace.cut_u32(count);
        outs_ = workspace.cut_u32(count);
        share_ = workspace.cut_u64(most_in_all_);
        best_share_ = workspace.cut_u64(most_in_all_);
        unit_ = workspace.cut_u64(sections);
        least_ = workspace.cut_u64(sections);
        excess_ = workspace.cut_u64(sections);
        pool_ = workspace.cut_u64(count);
        value_ = workspace.cut_u64(count);
        more_in_ = workspace.cut_u64(count);
        more_out_ = workspace.cut_u64(count);
    }

    /// Divides the values by the prices. Returns the number of operations of a visit of all sections.
    constexpr std::uint64_t begin(const excess_sections<>& of, const prices& price) noexcept {
        of_ = &of;
        for (std::uint32_t s = 0; s <= of.count(); ++s) first_[s] = 0;
        const auto each_section = [&](auto visit) {
            of.each_span([&](std::uint32_t k, std::uint32_t from, std::uint32_t until) {
                for (std::uint32_t s = from; s < until && of.value(k) != prices::priceless; ++s) visit(k, s);
            });
        };
        std::uint64_t all = 0;
        each_section([&](std::uint32_t, std::uint32_t s) { ++first_[s], ++all; });
        const std::uint64_t stride = all / (most_in_all_ + 1) + 1;  // omits sections if there is no memory for them
        select(stride);
        for (std::uint32_t k = 0; k != of.buffers(); ++k) {
            value_[k] = of.value(k) == prices::priceless ? 0 : price.scaled(of.value(k));
            pool_[k] = ahead_[k] = 0;
            fixed_[k] = of.value(k) == prices::priceless ? is_in : is_free;
        }
        each_section([&](std::uint32_t k, std::uint32_t s) {
            if (is_omitted(s)) return;
            buffer_[next_[s]] = k;
            share_[next_[s]++] = 0;
        });
        for (std::uint32_t s = 0; s != of.count(); ++s) excess_[s] = of.excess(s);
        lost_ = 0;
        const std::uint64_t operations = find_units();
        share_by(price);
        return operations;
    }

    /// Visits all sections `passes` times, and at least once to compute the least shares. Returns the scaled bound, or
    /// `impossible` if the buffers that may stay out cannot cover an excess.
    constexpr std::uint64_t improve(std::size_t passes) noexcept {
        for (std::size_t pass = 0; pass != passes; ++pass) {
            for (std::uint32_t k = 0; k != of_->buffers(); ++k) ahead_[k] = 0;
            for (std::uint32_t at = 0; at != first_[of_->count()]; ++at) ++ahead_[buffer_[at]];
            for (std::uint32_t s = 0; s != of_->count(); ++s)
                if (!visit(pass % 2 == 0 ? s : of_->count() - 1 - s, pass + 1 == passes)) return impossible;
        }
        std::uint64_t sum = lost_;
        for (std::uint32_t k = 0; k != of_->buffers(); ++k) more_in_[k] = more_out_[k] = 0;
        for (std::uint32_t s = 0; s != of_->count(); ++s) {
            least_[s] = 0;
            if (is_omitted(s)) continue;
            tabulate(s);
            least_[s] = table_.least(0, need_[s]);
            if (least_[s] >= impossible) return impossible;
            sum += least_[s];
            each_change(
                s, [](std::size_t, bool) { return true; },
                [&](std::size_t j, bool out, std::uint64_t more) {
                    std::uint64_t& sum_of_all = (out ? more_in_ : more_out_)[buffer_[first_[s] + j]];
                    sum_of_all = smaller(sum_of_all + smaller(more, impossible - least_[s]), impossible);
                });
        }
        return sum;
    }

    /// Raises the bound toward `target` by at most `steps` subgradients. `improve` must follow.
    ///
    /// A step solves all knapsacks. The share of a buffer rises in the sections where the buffer is out, and falls in
    /// the others. The steps have a momentum. Their length is a part of the distance to the target.
    constexpr void climb(std::uint64_t target, std::uint64_t steps) noexcept {
        constexpr std::uint64_t longest = 512;  // in 256ths of the distance
        const std::uint32_t all = first_[of_->count()];
        std::uint64_t best = 0, last = 0, length = 128;
        for (std::uint32_t at = 0; at != all; ++at) {
            speed_[at] = 0;
            best_share_[at] = share_[at];
        }
        for (std::uint64_t step = 0; step != steps; ++step) {
            const std::uint64_t bound = solve();
            if (bound >= impossible) return;
            if (bound > best) {
                for (std::size_t at = 0; at != all; ++at) best_share_[at] = share_[at];
                best = bound;
                length = smaller(length + length / 8, longest);
            } else if (bound <= last) {
                length -= length / 4;
            }
            last = bound;
            if (bound >= target || !move(target - bound, length)) break;
        }
        for (std::size_t at = 0; at != all; ++at) share_[at] = best_share_[at];
    }

    /// Fixes each buffer without a choice: if `ends(in)` is true, all choices with the buffer in the memory cost too
    /// much, and if `ends(out)` is true, those without it. The arguments are additional costs of the bound. Returns
    /// whether it fixed a buffer. `improve` must follow.
    template <class Ends>
    constexpr bool fix(Ends ends) noexcept {
        bool any = false;
        for (std::uint32_t k = 0; k != of_->buffers(); ++k) {
            if (fixed_[k] != is_free) continue;
            if (ends(k, more_in_[k], true)) fixed_[k] = is_out;
            else if (ends(k, more_out_[k], false)) fixed_[k] = is_in;
            if (fixed_[k] == is_out) lost_ += value_[k];
            any = any || fixed_[k] != is_free;
        }
        if (!any) return false;
        std::uint32_t at = 0;
        for (std::uint32_t s = 0; s != of_->count(); ++s) {
            const std::uint32_t from = first_[s], until = first_[s + 1];
            first_[s] = at;
            for (std::uint32_t old = from; old != until; ++old) {
                const std::uint32_t k = buffer_[old];
                if (fixed_[k] == is_out) excess_[s] -= smaller(of_->size(k), excess_[s]);
                if (fixed_[k] != is_free) continue;
                buffer_[at] = k;
                share_[at++] = share_[old];
            }
            if (excess_[s] == 0) {
                is_omitted_[s] = 1;
                at = first_[s];
            }
        }
        first_[of_->count()] = at;
        static_cast<void>(find_units());
        return true;
    }

    // ---- the shares ------------------------------------------------------------------------------------------------

    /// Returns whether a buffer may be in the memory.
    [[nodiscard]] constexpr bool may_be_in(std::uint32_t buffer) const noexcept { return fixed_[buffer] != is_out; }
    /// Returns whether a buffer may stay out.
    [[nodiscard]] constexpr bool may_stay_out(std::uint32_t buffer) const noexcept { return fixed_[buffer] != is_in; }
    [[nodiscard]] constexpr bool is_omitted(std::uint32_t section) const noexcept { return is_omitted_[section] != 0; }
    [[nodiscard]] constexpr std::uint64_t least(std::uint32_t section) const noexcept { return least_[section]; }
    [[nodiscard]] constexpr std::size_t count(std::uint32_t section) const noexcept {
        return first_[section + 1] - first_[section];
    }
    /// A buffer of a section: its position, its share, and its size in units.
    struct member {
        std::uint32_t buffer;
        std::uint64_t share, units;
    };
    [[nodiscard]] constexpr member operator()(std::uint32_t section, std::size_t j) const noexcept {
        const std::size_t at = first_[section] + j;
        return {buffer_[at], share_[at], divided_up(of_->size(buffer_[at]), unit_[section])};
    }
    /// Prepares `least_from` for a section.
    constexpr void tabulate(std::uint32_t section) noexcept {
        table_.fill(share_ + first_[section], count(section), need_[section],
                    [&](std::size_t j) { return units_of(section, j); });
    }
    /// Returns the units of a section that the buffers that stay out must cover.
    [[nodiscard]] constexpr std::size_t need(std::uint32_t section) const noexcept { return need_[section]; }
    /// Returns the least sums of shares of the buffers from the j-th on, by the units that they must cover.
    /// Precondition: `tabulate` was the last call of its kind.
    [[nodiscard]] constexpr const std::uint64_t* least_from(std::size_t j) const noexcept {
        return table_.least_from(j);
    }

private:
    static constexpr std::uint32_t is_free = 0, is_in = 1, is_out = 2;

    /// Keeps each section whose index is a multiple of `stride`, as long as there is memory for the shares.
    /// Precondition: `first_` has the number of shares of each section.
    constexpr void select(std::uint64_t stride) noexcept {
        std::uint32_t at = 0;
        for (std::uint32_t s = 0; s != of_->count(); ++s) {
            const std::uint32_t count = first_[s];
            first_[s] = next_[s] = at;
            is_omitted_[s] = s % stride != 0 || count > most_in_all_ - at ? 1 : 0;
            if (!is_omitted(s)) at += count;
        }
        first_[of_->count()] = at;
    }
    /// Computes the units of all sections. Returns the number of operations of a step.
    [[nodiscard]] constexpr std::uint64_t find_units() noexcept {
        std::uint64_t granule = 0, operations = 0;
        for (std::uint32_t at = 0; at != first_[of_->count()]; ++at)
            granule = common_divisor(granule, of_->size(buffer_[at]));
        if (granule == 0) granule = 1;  // no buffer may stay out
        for (std::uint32_t s = 0; s != of_->count(); ++s) {
            if (is_omitted(s)) continue;
            const std::uint64_t pieces = divided_up(excess_[s], granule);
            unit_[s] = divided_up<std::uint64_t>(pieces, table_.most_units(count(s))) * granule;
            need_[s] = static_cast<std::uint32_t>(divided_up(excess_[s], unit_[s]));
            operations += count(s) * need_[s];
        }
        return operations;
    }
    /// Gives each buffer its price in each section.
    constexpr void share_by(const prices& price) noexcept {
        for (std::uint32_t s = 0; s != of_->count(); ++s)
            for (std::uint32_t at = first_[s]; at != first_[s + 1]; ++at) {
                const std::uint32_t k = buffer_[at];
                std::uint64_t paid = 0;
                if (!price.price_in(of_->original(s), of_->size(k), paid)) paid = value_[k];
                share_[at] = smaller(paid, value_[k]);
                pool_[k] += share_[at];  // the prices of all sections together fit 64 bits
                ++ahead_[k];
            }
        divide_rest();
    }
    /// Lowers the shares of a buffer if their sum, which is in the pool, exceeds its value. Otherwise, divides the rest
    /// of the value evenly. Precondition: `ahead_` has the number of the buffer's shares.
    constexpr void divide_rest() noexcept {
        for (std::uint32_t at = 0; at != first_[of_->count()]; ++at) {
            const std::uint32_t k = buffer_[at];
            if (pool_[k] <= value_[k]) share_[at] += (value_[k] - pool_[k]) / ahead_[k];
            else share_[at] = scaled_down(share_[at], value_[k], pool_[k]);
        }
        for (std::uint32_t k = 0; k != of_->buffers(); ++k) pool_[k] = 0;
    }
    /// Returns at most `share` × `value` / `sum`, without overflow. Precondition: `value` < `sum`.
    [[nodiscard]] static constexpr std::uint64_t scaled_down(std::uint64_t share, std::uint64_t value,
                                                             std::uint64_t sum) noexcept {
        const int bits = static_cast<int>(std::bit_width(share)) - 32;
        const unsigned shift = bits > 0 ? static_cast<unsigned>(bits) : 0;
        const int wide = static_cast<int>(std::bit_width(sum)) - 32;
        const unsigned scale = wide > 0 ? static_cast<unsigned>(wide) : 0;
        return ((share >> shift) * (value >> scale) / ((sum >> scale) + 1)) << shift;
    }

    /// Moves the useless part of each share of a section to the next section of its buffer. Returns false if the
    /// excess cannot be covered.
    constexpr bool visit(std::uint32_t section, bool moves_all) noexcept {
        if (is_omitted(section)) return true;
        for (std::uint32_t at = first_[section]; at != first_[section + 1]; ++at) {
            share_[at] += pool_[buffer_[at]];
            pool_[buffer_[at]] = 0;
            --ahead_[buffer_[at]];
        }
        tabulate(section);
        if (table_.least(0, need_[section]) >= impossible) return false;
        each_change(
            section, [&](std::size_t j, bool out) { return !out && ahead_[buffer_[first_[section] + j]] != 0; },
            [&](std::size_t j, bool, std::uint64_t more) {
                const std::size_t at = first_[section] + j;
                const std::uint64_t next = ahead_[buffer_[at]], rest = smaller(more, share_[at]),
                                    moved = moves_all ? rest : rest - rest / (next + 1);
                share_[at] -= moved;
                pool_[buffer_[at]] += moved;
            });
        return true;
    }
    /// Solves the knapsacks of all sections. Returns the bound, and stores the buffers that stay out of each section.
    [[nodiscard]] constexpr std::uint64_t solve() noexcept {
        std::uint64_t sum = lost_;
        for (std::uint32_t k = 0; k != of_->buffers(); ++k) outs_[k] = ahead_[k] = 0;
        for (std::uint32_t s = 0; s != of_->count(); ++s) {
            if (is_omitted(s)) continue;
            tabulate(s);
            std::size_t need = need_[s];
            sum += table_.least(0, need);
            if (sum >= impossible) return impossible;
            for (std::size_t j = 0; j != count(s); ++j) {
                const std::uint32_t at = first_[s] + static_cast<std::uint32_t>(j), k = buffer_[at];
                is_out_[at] = need != 0 && table_.least(j, need) != table_.least(j + 1, need) ? 1 : 0;
                if (is_out_[at] != 0) need = need - smaller(need, units_of(s, j));
                outs_[k] += is_out_[at];
                ++ahead_[k];
            }
        }
        return sum;
    }
    /// Moves the shares after `solve`. Returns false if each buffer is out of all of its sections, or of none.
    [[nodiscard]] constexpr bool move(std::uint64_t distance, std::uint64_t length) noexcept {
        // A speed has 12 fractional bits. It is 1 less the mean of a buffer's sections where the buffer is out.
        constexpr std::int32_t one = 1 << 12;
        std::uint64_t squares = 0;
        for (std::uint32_t at = 0; at != first_[of_->count()]; ++at) {
            const std::uint32_t k = buffer_[at];
            const auto mean = static_cast<std::int32_t>(outs_[k] * std::uint64_t{one} / ahead_[k]);
            const std::int32_t wanted = (is_out_[at] != 0 ? one : 0) - mean;
            const auto old = static_cast<std::int32_t>(speed_[at]), now = (wanted + 3 * old) / 4;
            speed_[at] = static_cast<std::uint32_t>(now);
            squares += static_cast<std::uint64_t>(std::int64_t{now} * now);
        }
        if (squares == 0) return false;
        // Values, and so the distance, are below 2^42.
        const std::uint64_t most = std::uint64_t{1} << 50, factored = 16 * distance * length / (squares / one + 1);
        const auto factor = static_cast<std::int64_t>(smaller(factored, most));
        for (std::uint32_t at = 0; at != first_[of_->count()]; ++at) {
            const std::uint32_t k = buffer_[at];
            const std::int64_t change = static_cast<std::int32_t>(speed_[at]) * factor / one;
            const std::uint64_t back = change < 0 ? static_cast<std::uint64_t>(-change) : 0;
            share_[at] -= smaller(share_[at], back);
            if (change > 0) share_[at] = smaller(share_[at] + static_cast<std::uint64_t>(change), value_[k]);
            pool_[k] += share_[at];
        }
        divide_rest();
        return true;
    }
    /// Calls `change(j, is_out, more)` for buffers of a section, as `cover_table` does. Precondition:
    /// `tabulate(section)` was the last call of its kind.
    template <class Wants, class Change>
    constexpr void each_change(std::uint32_t section, Wants wants, Change change) noexcept {
        table_.each_change([&](std::size_t j) { return units_of(section, j); }, wants, change);
    }
    /// Returns the size of the j-th buffer of a section in units, at most one more than the section needs.
    [[nodiscard]] constexpr std::size_t units_of(std::uint32_t section, std::size_t j) const noexcept {
        const std::uint64_t units = divided_up(of_->size(buffer_[first_[section] + j]), unit_[section]);
        return static_cast<std::size_t>(smaller<std::uint64_t>(units, std::uint64_t{need_[section]} + 1));
    }

    std::size_t most_in_all_;
    cover_table<> table_;
    const excess_sections<>* of_ = nullptr;
    std::uint32_t *buffer_ = nullptr, *first_ = nullptr, *next_ = nullptr;  // by share; by section: shares
    std::uint32_t *need_ = nullptr, *is_omitted_ = nullptr;                 // by section: units to cover; 1 if omitted
    std::uint32_t* ahead_ = nullptr;  // by position: number of sections that are still to be visited
    std::uint32_t* fixed_ = nullptr;  // by position: whether the buffer has a choice
    std::uint32_t *is_out_ = nullptr, *speed_ = nullptr;  // by share: 1 if out; signed change of the latest steps
    std::uint32_t* outs_ = nullptr;                       // by position: number of sections that the buffer is out of
    std::uint64_t *share_ = nullptr, *best_share_ = nullptr;  // by share: scaled value
    std::uint64_t* unit_ = nullptr;                           // by section: bytes
    std::uint64_t* least_ = nullptr;                          // by section: scaled value
    std::uint64_t* pool_ = nullptr;                           // by position: value on the way to the next section
    std::uint64_t* excess_ = nullptr;  // by section: without the buffers that are fixed out of the memory
    std::uint64_t* value_ = nullptr;   // by position: scaled
    std::uint64_t *more_in_ = nullptr, *more_out_ = nullptr;  // by position: how much the bound rises, in and out
    std::uint64_t lost_ = 0;                                  // scaled value of the buffers that are fixed out
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
