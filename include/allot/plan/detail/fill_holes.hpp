// SPDX-License-Identifier: BSL-1.0
// fill_holes: the buffers placed in a memory, and further candidates in the holes between them.
//
//     offset                           c is placed in the lowest hole that fits, or in the smallest. Holes are the gaps
//       ▲   ┌─────┐      ┌───────┐     between the buffers that live at the same time as c, in order of offsets.
//       │   │  b  │  c?  │   d   │
//       │   └─────┼──────┴───────┤     Ruin and recreate: the buffers around a moment are removed, and candidates are
//       │         │      a       │     added in a different order. The change is undone if the worth falls.
//       └─────────┴──────────────┴──► time
//
// Buffers with several sizes (`plan_sizes`) are handled as in `gaps`. A placed buffer keeps its offset until it is
// ruined. A candidate is rejected without a search if a section of its lifetime has too few free bytes.
//
// Complexity: a placement visits the buffers that live in the part, and counts them. Memory: `space`, 24 bytes a buffer
// and one `section_loads`; 20 more bytes a buffer if the problem has `together`. Thread safety: none.
#pragma once

#include <allot/plan/detail/fill_candidates.hpp>
#include <allot/plan/detail/loads.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

// A template, so that only programs that use it compile it.
template <class = void>
class fill_holes {
public:
    static constexpr std::uint64_t looks_a_placement = 16;  // as many visits cost about one placement

    /// Returns the number of visits for an effort.
    [[nodiscard]] static constexpr std::uint64_t looks_for(std::uint64_t effort) noexcept {
        constexpr std::uint64_t most = ~std::uint64_t{0};
        return effort > most / looks_a_placement ? most : effort * looks_a_placement;
    }

    [[nodiscard]] static constexpr plan_space space(std::size_t buffers, std::size_t sections,
                                                    bool has_sizes) noexcept {
        const plan_space own{.u32 = 2 * buffers, .u64 = 2 * buffers}, met{.u32 = buffers, .u64 = 2 * buffers};
        return own + section_loads::space(sections) + (has_sizes ? met : plan_space{});
    }

    constexpr fill_holes(fill_candidates<>& candidates, std::size_t count, plan_workspace& workspace) noexcept
        : candidates_{&candidates}, buffers_{count}, load_{candidates.where().count(), workspace} {
        placed_ = workspace.cut_u32(count);
        at_ = workspace.cut_u32(count);
        offset_ = workspace.cut_u64(count);
        kept_offset_ = workspace.cut_u64(count);
        if (!candidates.where().has_sizes()) return;
        met_ = workspace.cut_u32(count);
        met_begin_ = workspace.cut_u64(count);
        met_end_ = workspace.cut_u64(count);
    }

    /// Removes all buffers, then places the fixed ones.
    constexpr void begin() noexcept {
        worth_ = 0;
        near_ = 0;
        load_.clear();
        for (std::size_t i = 0; i != buffers_; ++i) placed_[i] = 0;
        for (const std::uint32_t i : candidates_->list())
            if (candidates_->is_fixed(i)) put(i, candidates_->fixed(i));
    }
    /// Replaces the plan by these buffers at these offsets.
    constexpr void adopt(plan_array<const std::uint32_t> these, const std::uint64_t* offsets) noexcept {
        worth_ = 0;
        load_.clear();
        for (const std::uint32_t i : candidates_->list()) placed_[i] = 0;
        for (std::size_t k = 0; k != these.size(); ++k) {
            offset_[these[k]] = offsets[k];
            is_placed(these[k], true);
        }
    }

    /// By buffer: 1 if placed.
    [[nodiscard]] constexpr const std::uint32_t* placed() const noexcept { return placed_; }
    [[nodiscard]] constexpr std::uint64_t offset(std::uint32_t buffer) const noexcept { return offset_[buffer]; }
    [[nodiscard]] constexpr std::uint64_t worth() const noexcept { return worth_; }

    /// Places the candidates of these sections that fit, until `looks` visits are spent. Returns the candidates in the
    /// order in which they are tried.
    constexpr plan_array<const std::uint32_t> fill(section_range where, unsigned noise_bits,
                                                   std::uint64_t looks = ~std::uint64_t{0}) noexcept {
        constexpr std::size_t many = 1024;
        const auto tried =
            candidates_->in_order(where, noise_bits, [this](std::uint32_t i) { return placed_[i] != 0; });
        for (const std::uint32_t i : tried) candidates_->widen(where, i);
        look_at(where);
        looked_at_ = 0;
        const bool one_by_one = tried.size() + near_ > many;  // few of all the visited buffers live near one candidate
        for (const std::uint32_t i : tried) {
            const bool smallest = noise_bits == 0 || candidates_->coin();
            if (!has_room(i)) continue;
            if (one_by_one) look_at(candidates_->sections_of(i));
            place(i, smallest);
            if (looked_at_ > looks) break;
        }
        return tried;
    }
    /// Number of buffers that the last `fill` visited candidate by candidate.
    [[nodiscard]] constexpr std::uint64_t looked_at() const noexcept { return looked_at_; }

    /// Ruins a part and recreates it, with an effort of about `most`. Restores the plan if its worth would fall.
    /// Returns the effort.
    constexpr std::uint64_t ruin(std::uint64_t most) noexcept {
        const auto ruined = candidates_->some_part([this](std::uint32_t i) { return placed_[i] == 0; });
        if (!ruined.any) return 1;
        const std::uint64_t before = worth_;
        section_range around = ruined.where;
        const std::uint32_t spared = candidates_->below(4);
        std::uint32_t* const removed = candidates_->removed();
        std::size_t count = 0;
        look_at(ruined.where);
        for (std::size_t k = 0; k != near_; ++k) {
            const std::uint32_t buffer = at_[k];
            if (candidates_->is_fixed(buffer) || candidates_->below(4) < spared) continue;
            removed[count++] = buffer;
            kept_offset_[buffer] = offset_[buffer];
            is_placed(buffer, false);
            candidates_->widen(around, buffer);
        }
        if (candidates_->coin() && !candidates_->is_barred(ruined.wanted, placed_)) {
            look_at(candidates_->sections_of(ruined.wanted));
            place(ruined.wanted, candidates_->coin());
        }
        const bool wanted = placed_[ruined.wanted] != 0;
        const auto tried = fill(around, 4 + candidates_->below(6), looks_for(most));
        const std::uint64_t effort = 1 + (near_ + tried.size()) / 4 + looked_at_ / looks_a_placement;
        if (worth_ >= before) return effort;
        if (wanted) is_placed(ruined.wanted, false);
        for (const std::uint32_t i : tried)
            if (placed_[i] != 0) is_placed(i, false);
        for (std::size_t k = 0; k != count; ++k) {
            offset_[removed[k]] = kept_offset_[removed[k]];
            is_placed(removed[k], true);
        }
        return effort;
    }

private:
    constexpr void is_placed(std::uint32_t buffer, bool in) noexcept {
        const std::uint64_t value = candidates_->value(buffer);
        placed_[buffer] = in ? 1 : 0;
        worth_ = in ? worth_ + value : worth_ - value;
        candidates_->where().each_size(buffer, [&](std::uint32_t from, std::uint32_t until, std::uint64_t size) {
            load_.add(from, until, size, in);
        });
    }
    /// Returns whether each section of the buffer has enough free bytes, contiguous or not, and no placed buffer must
    /// be in another memory.
    [[nodiscard]] constexpr bool has_room(std::uint32_t buffer) const noexcept {
        bool has = !candidates_->is_barred(buffer, placed_);
        candidates_->where().each_size(buffer, [&](std::uint32_t from, std::uint32_t until, std::uint64_t size) {
            const std::uint64_t capacity = candidates_->capacity(), most = has ? load_.most(from, until) : 0;
            has = has && most <= capacity && size <= capacity - most;
        });
        return has;
    }
    constexpr void put(std::uint32_t buffer, std::uint64_t offset) noexcept {
        offset_[buffer] = offset;
        is_placed(buffer, true);
        std::size_t at = near_++;
        for (; at != 0 && offset_[at_[at - 1]] > offset; --at) at_[at] = at_[at - 1];
        at_[at] = buffer;
    }

    /// Collects the placed buffers that live in these sections, in order of offsets.
    constexpr void look_at(section_range where) noexcept {
        near_ = 0;
        looked_at_ += looks_a_placement;
        candidates_->where().each_living(where.from, where.until, [&](std::uint32_t i) {
            ++looked_at_;
            if (placed_[i] != 0) at_[near_++] = i;
        });
        candidates_->sort(at_, near_, [this](std::uint32_t i) { return offset_[i]; });
    }

    /// Places a buffer in the lowest hole that fits, or in the smallest. Precondition: `look_at` has visited the
    /// buffer's sections.
    constexpr bool place(std::uint32_t buffer, bool smallest) noexcept {
        constexpr std::uint64_t nowhere = fill_candidates<>::nowhere;
        const std::uint64_t size = candidates_->size(buffer), align = candidates_->align(buffer);
        std::uint64_t top = 0, offset = nowhere, least = nowhere, from = 0;
        const auto try_hole = [&](std::uint64_t end) {
            if (!checked_align_up(top, align, from) || from > end || end - from < size) return;
            if (offset != nowhere && end - top >= least) return;
            offset = from;
            least = end - top;
        };
        const bool has_sizes = candidates_->where().has_sizes();
        const std::size_t count = has_sizes ? meet(buffer) : near_;
        for (std::size_t i = 0; i != count; ++i) {
            const std::uint32_t other = has_sizes ? met_[i] : at_[i];
            const std::uint64_t begin = has_sizes ? met_begin_[other] : offset_[other];
            const std::uint64_t end = has_sizes ? met_end_[other] : begin + candidates_->size(other);
            if (end <= top || (!has_sizes && !candidates_->where().conflict(buffer, other))) continue;
            // The adjusted offset of a buffer that meets a smaller size may exceed the capacity.
            if (begin > top) try_hole(smaller(begin, candidates_->capacity()));
            if (offset != nowhere && !smallest) break;
            top = larger(top, end);
        }
        if (offset == nowhere || smallest) try_hole(candidates_->capacity());
        if (offset == nowhere) return false;
        put(buffer, offset);
        return true;
    }

    /// Collects the visited buffers that must not share a byte with `buffer`, and returns their number. As in `gaps`,
    /// the offset of a buffer is raised by the difference where `buffer` is smaller beside it than its maximum.
    [[nodiscard]] constexpr std::size_t meet(std::uint32_t buffer) noexcept {
        const section_tree& where = candidates_->where();
        std::size_t count = 0;
        for (std::size_t i = 0; i != near_; ++i) {
            const std::uint32_t other = at_[i];
            const std::uint64_t size = where.size_beside(buffer, other), offset = offset_[other];
            if (size == 0) continue;
            if (!checked_add(offset, candidates_->size(buffer) - size, met_begin_[other]))
                met_begin_[other] = ~std::uint64_t{0};
            met_end_[other] = offset + where.size_beside(other, buffer);
            met_[count++] = other;
        }
        candidates_->sort(met_, count, [this](std::uint32_t i) { return met_begin_[i]; });
        return count;
    }

    fill_candidates<>* candidates_;
    std::size_t buffers_, near_ = 0;
    std::uint64_t worth_ = 0;                                   // of the placed buffers
    std::uint32_t *placed_ = nullptr, *at_ = nullptr;           // by buffer; visited buffers by offset
    std::uint64_t *offset_ = nullptr, *kept_offset_ = nullptr;  // by buffer
    std::uint32_t* met_ = nullptr;                              // buffers in conflict with the candidate
    std::uint64_t *met_begin_ = nullptr, *met_end_ = nullptr;   // by buffer: of the buffers in conflict
    std::uint64_t looked_at_ = 0;
    section_loads load_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
