// SPDX-License-Identifier: BSL-1.0
// fill_choice: a subset of the candidates that would fit a memory if only sizes mattered.
//
//     load                                      A choice is valid if the bytes live in each section are within the
//     limit  ─────────────────────              limit: the capacity less a slack for the loss of packing. Offsets are
//                   ┌──┐   ┌──┐                 not considered here.
//               ┌───┘  └───┘  └──
//            ───┘                               Ruin and recreate improves the choice: buffers around a moment are
//            ──────────────────► sections       removed, and candidates are added in a different order.
//
// Complexity: O(log sections) for each buffer added or removed. Memory: `space`, 4 bytes a buffer and one
// `section_loads`. Thread safety: none.
#pragma once

#include <allot/plan/detail/fill_candidates.hpp>
#include <allot/plan/detail/loads.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

// A template, so that only programs that use it compile it.
template <class = void>
class fill_choice {
public:
    [[nodiscard]] static constexpr plan_space space(std::size_t buffers, std::size_t sections) noexcept {
        return plan_space{.u32 = buffers} + section_loads::space(sections);
    }

    constexpr fill_choice(fill_candidates<>& candidates, std::size_t count, plan_workspace& workspace) noexcept
        : candidates_{&candidates}, buffers_{count}, load_{candidates.where().count(), workspace} {
        chosen_ = workspace.cut_u32(count);
    }

    constexpr void begin() noexcept {
        worth_ = 0;
        for (std::size_t i = 0; i != buffers_; ++i) chosen_[i] = 0;
        load_.clear();
    }

    /// By buffer: 1 if chosen.
    [[nodiscard]] constexpr const std::uint32_t* chosen() const noexcept { return chosen_; }
    [[nodiscard]] constexpr std::uint64_t worth() const noexcept { return worth_; }

    /// Sets the limit to the capacity less `slack` thousandths of it.
    constexpr void limit_to(std::uint64_t slack) noexcept {
        const std::uint64_t capacity = candidates_->capacity();
        limit_ = capacity - (capacity / 1000 * slack + capacity % 1000 * slack / 1000);
        if (!checked_align_up(limit_, candidates_->widest(), limit_)) limit_ = capacity;
    }

    /// Replaces the choice, regardless of its load. `these` is indexed by buffer: 1 for each chosen buffer.
    constexpr void choose_these(const std::uint32_t* these) noexcept {
        for (const std::uint32_t i : candidates_->list())
            if (chosen_[i] != 0 && these[i] == 0) choose(i, false);
        for (const std::uint32_t i : candidates_->list())
            if (chosen_[i] == 0 && these[i] != 0) choose(i, true);
    }
    /// Adds the candidates of these sections that fit, best value for price first. Returns all candidates tried. Ends
    /// when the worth cannot reach `least`.
    constexpr plan_array<const std::uint32_t> choose_more(section_range where, unsigned noise_bits,
                                                          std::uint64_t least = 0) noexcept {
        const auto tried =
            candidates_->in_order(where, noise_bits, [this](std::uint32_t i) { return chosen_[i] != 0; });
        std::uint64_t most = worth_;
        for (const std::uint32_t i : tried) most += candidates_->value(i);
        for (const std::uint32_t i : tried) {
            if (has_room(i)) {
                choose(i, true);
                continue;
            }
            most -= candidates_->value(i);
            if (most < least) break;
        }
        return tried;
    }

    /// Ruins a part of the choice and recreates it. Restores the choice if its worth would fall. Returns whether the
    /// worth rose, and adds the cost to `effort`.
    [[nodiscard]] constexpr bool ruin(std::uint64_t& effort) noexcept {
        ++effort;
        const auto ruined =
            candidates_->some_part([this](std::uint32_t i) { return chosen_[i] == 0 && room_of(i) <= limit_; });
        if (!ruined.any) return false;
        const std::uint64_t before = worth_;
        section_range around = ruined.where;
        const std::uint32_t spared = candidates_->below(4), wanted = ruined.wanted;
        std::uint32_t* const removed = candidates_->removed();
        std::size_t count = 0;
        const auto take_out = [&](std::uint32_t buffer) {
            removed[count++] = buffer;
            choose(buffer, false);
            candidates_->widen(around, buffer);
        };
        const section_tree& where = candidates_->where();
        const auto may_leave = [&](std::uint32_t i) { return chosen_[i] != 0 && !candidates_->is_fixed(i); };
        where.each_living(ruined.where.from, ruined.where.until, [&](std::uint32_t i) {
            if (may_leave(i) && candidates_->below(4) >= spared) take_out(i);
        });
        const auto may_yield = [&](std::uint32_t i) {
            return may_leave(i) && candidates_->value(i) <= candidates_->value(wanted);
        };
        for (const std::uint32_t other : candidates_->separate_from(wanted))
            if (may_yield(other)) take_out(other);
        if (!has_room(wanted)) {
            const auto worse = candidates_->as_listed(candidates_->sections_of(wanted), [&](std::uint32_t i) {
                return may_yield(i) && where.conflict(i, wanted);
            });
            for (std::size_t k = 0; k != worse.size() && !has_room(wanted); ++k) take_out(worse[k]);
        }
        const bool has_wanted = has_room(wanted);
        if (has_wanted) choose(wanted, true);
        const auto tried = choose_more(around, 4 + candidates_->below(6), before);
        effort += (count + tried.size()) / 4;
        if (worth_ >= before) return worth_ > before;
        if (has_wanted) choose(wanted, false);
        for (const std::uint32_t i : tried)
            if (chosen_[i] != 0) choose(i, false);
        for (std::size_t k = 0; k != count; ++k) choose(removed[k], true);
        return false;
    }

private:
    [[nodiscard]] constexpr std::uint64_t rounded(std::uint32_t buffer, std::uint64_t size) const noexcept {
        std::uint64_t room = 0;
        return checked_align_up(size, candidates_->align(buffer), room) ? room : size;
    }
    [[nodiscard]] constexpr std::uint64_t room_of(std::uint32_t buffer) const noexcept {
        return rounded(buffer, candidates_->size(buffer));
    }
    [[nodiscard]] constexpr bool has_room(std::uint32_t buffer) const noexcept {
        bool fits = room_of(buffer) <= limit_ && !candidates_->is_barred(buffer, chosen_);
        candidates_->where().each_size(buffer, [&](std::uint32_t from, std::uint32_t until, std::uint64_t size) {
            fits = fits && load_.most(from, until) <= limit_ - rounded(buffer, size);
        });
        return fits;
    }
    constexpr void choose(std::uint32_t buffer, bool in) noexcept {
        const std::uint64_t value = candidates_->value(buffer);
        chosen_[buffer] = in ? 1 : 0;
        worth_ = in ? worth_ + value : worth_ - value;
        candidates_->where().each_size(buffer, [&](std::uint32_t from, std::uint32_t until, std::uint64_t size) {
            load_.add(from, until, rounded(buffer, size), in);
        });
    }

    fill_candidates<>* candidates_;
    std::size_t buffers_;
    std::uint64_t worth_ = 0, limit_ = 0;  // of the choice; of a section's load
    std::uint32_t* chosen_ = nullptr;
    section_loads load_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
