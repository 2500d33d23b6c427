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
// Sizes count in units of a section, at most `most_units` for its excess. They are rounded such that the bound remains
// valid. All arithmetic uses integers.
//
// Sources: Lagrangian decomposition, Guignard and Kim, Mathematical Programming 39, 1987. Dual ascent by min-marginals,
// Lange and Swoboda, Efficient message passing for 0-1 ILPs with binary decision diagrams, ICML 2021.
// Complexity: O(units) for each buffer of a section and each visit. Memory: `space`, at most 768 bytes a buffer, and a
// table of at most 512 KiB. Not synchronized.
#pragma once

#include <allot/plan/detail/excess_sections.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The shares of the buffers of `excess_sections`, by position.
// A template, so that only programs that use it compile it.
template <class = void>
class section_covers {
    static constexpr std::size_t most_shares = 64;  // of a buffer, on average
    static constexpr std::size_t most_cells = 1 << 16;

public:
    static constexpr std::uint64_t impossible = std::uint64_t{1} << 62;

    /// Returns a limit of the units of a section that is proportionate to `effort`.
    [[nodiscard]] static constexpr std::size_t units(std::uint64_t effort) noexcept {
        return static_cast<std::size_t>(smaller<std::uint64_t>(larger<std::uint64_t>(effort / 128, 16), 512));
    }
    [[nodiscard]] static constexpr plan_space space(std::size_t buffers, std::size_t sections,
                                                    std::size_t units) noexcept {
        return {.u32 = most_shares * buffers + 4 * sections + 2 + buffers,
                .u64 = most_shares * buffers + 2 * sections + 2 * buffers + cells(buffers, units) + 2 * (units + 1)};
    }

    constexpr section_covers(std::size_t buffers, std::size_t sections, std::size_t units,
                             plan_workspace& workspace) noexcept
        : most_units_{units}, cells_{cells(buffers, units)}, most_in_all_{most_shares * buffers} {
        buffer_ = workspace.cut_u32(most_in_all_);
        first_ = workspace.cut_u32(sections + 1);
        next_ = workspace.cut_u32(sections + 1);
        need_ = workspace.cut_u32(sections);
        is_omitted_ = workspace.cut_u32(sections);
        ahead_ = workspace.cut_u32(buffers);
        share_ = workspace.cut_u64(most_in_all_);
        unit_ = workspace.cut_u64(sections);
        least_ = workspace.cut_u64(sections);
        pool_ = workspace.cut_u64(buffers);
        value_ = workspace.cut_u64(buffers);
        table_ = workspace.cut_u64(cells_);
        row_ = workspace.cut_u64(units + 1);
        new_row_ = workspace.cut_u64(units + 1);
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
        }
        std::uint64_t granule = 0;
        each_section([&](std::uint32_t k, std::uint32_t s) {
            granule = common_divisor(granule, of.size(k));
            if (is_omitted(s)) return;
            buffer_[next_[s]] = k;
            share_[next_[s]++] = 0;
        });
        std::uint64_t operations = 0;
        if (granule == 0) granule = 1;  // no buffer may stay out
        for (std::uint32_t s = 0; s != of.count(); ++s) {
            if (is_omitted(s)) continue;
            const std::size_t count = first_[s + 1] - first_[s];
            const std::uint64_t most = smaller<std::uint64_t>(most_units_, cells_ / (count + 1) - 1);
            const std::uint64_t pieces = divided_up(of.excess(s), granule);
            unit_[s] = divided_up(pieces, most) * granule;
            need_[s] = static_cast<std::uint32_t>(divided_up(of.excess(s), unit_[s]));
            operations += 4 * count * need_[s];
        }
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
        std::uint64_t sum = 0;
        for (std::uint32_t s = 0; s != of_->count(); ++s) {
            least_[s] = 0;
            if (is_omitted(s)) continue;
            tabulate(s);
            least_[s] = cell(0, need_[s]);
            if (least_[s] >= impossible) return impossible;
            sum += least_[s];
        }
        return sum;
    }

    // ---- the shares ------------------------------------------------------------------------------------------------

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
        width_ = std::size_t{need_[section]} + 1;
        std::size_t j = count(section);
        std::uint64_t* below = table_ + j * width_;
        for (std::size_t e = 0; e != width_; ++e) below[e] = e == 0 ? 0 : impossible;
        for (; j != 0; below -= width_) {
            const member each = (*this)(section, --j);
            std::uint64_t* const row = below - width_;
            const auto units = static_cast<std::size_t>(smaller<std::uint64_t>(each.units, width_));
            for (std::size_t e = 0; e < units; ++e) row[e] = smaller(below[e], each.share);
            for (std::size_t e = units; e < width_; ++e) row[e] = smaller(below[e], each.share + below[e - units]);
            row[0] = 0;
        }
    }
    /// Returns the least sum of shares of the buffers from the j-th on that cover the excess, if others cover `covered`
    /// units. Precondition: `tabulate(section)` was the last call of its kind.
    [[nodiscard]] constexpr std::uint64_t least_from(std::uint32_t section, std::size_t j,
                                                     std::uint64_t covered) const noexcept {
        return cell(j, need_[section] - static_cast<std::size_t>(smaller<std::uint64_t>(covered, need_[section])));
    }

private:
    [[nodiscard]] static constexpr std::size_t cells(std::size_t buffers, std::size_t units) noexcept {
        return smaller((buffers + 1) * (units + 1), larger(most_cells, 2 * (buffers + 1)));
    }
    [[nodiscard]] static constexpr std::uint64_t divided_up(std::uint64_t a, std::uint64_t b) noexcept {
        return a / b + (a % b != 0 ? 1 : 0);
    }
    [[nodiscard]] constexpr std::uint64_t cell(std::size_t j, std::size_t need) const noexcept {
        return table_[j * width_ + need];
    }

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
    /// Gives each buffer its price in each section, lowered to the value if the sum exceeds it. The rest of the value
    /// is divided evenly.
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
        const std::size_t need = need_[section];
        if (cell(0, need) >= impossible) return false;
        for (std::size_t e = 0; e <= need; ++e) row_[e] = e == 0 ? 0 : impossible;
        for (std::size_t j = 0; j != count(section); ++j) {
            const member each = (*this)(section, j);
            const auto units = static_cast<std::size_t>(smaller<std::uint64_t>(each.units, need + 1));
            const std::uint64_t* const others = table_ + (j + 1) * width_;
            std::uint64_t in = 2 * impossible, out = others[need - smaller(units, need)];
            for (std::size_t e = 0; e <= need; ++e) in = smaller(in, row_[e] + others[need - e]);
            for (std::size_t e = 0; e + units <= need; ++e) out = smaller(out, row_[e] + others[need - units - e]);
            out += each.share;
            std::uint64_t& share = share_[first_[section] + j];
            if (const std::uint64_t next = ahead_[each.buffer]; out > in && next != 0) {
                const std::uint64_t rest = smaller(out - in, share),
                                    moved = moves_all ? rest : rest - rest / (next + 1);
                share -= moved;
                pool_[each.buffer] += moved;
            }
            for (std::size_t e = 0; e <= need; ++e)
                new_row_[e] = smaller(row_[e], share + (e > units ? row_[e - units] : 0));
            std::swap(row_, new_row_);
        }
        return true;
    }

    std::size_t most_units_, cells_, most_in_all_, width_ = 1;
    const excess_sections<>* of_ = nullptr;
    std::uint32_t *buffer_ = nullptr, *first_ = nullptr, *next_ = nullptr;  // by share; by section: shares
    std::uint32_t *need_ = nullptr, *is_omitted_ = nullptr;                 // by section: units to cover; 1 if omitted
    std::uint32_t* ahead_ = nullptr;  // by position: number of sections that are still to be visited
    std::uint64_t* share_ = nullptr;  // by share: scaled value
    std::uint64_t* unit_ = nullptr;   // by section: bytes
    std::uint64_t* least_ = nullptr;  // by section: scaled value
    std::uint64_t* pool_ = nullptr;   // by position: value on the way to the next section
    std::uint64_t* value_ = nullptr;  // by position: scaled
    std::uint64_t* table_ = nullptr;  // least shares from the j-th buffer on, by j and units to cover
    std::uint64_t *row_ = nullptr, *new_row_ = nullptr;  // least shares before the j-th buffer, by units to cover
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
