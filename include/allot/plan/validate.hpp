// SPDX-License-Identifier: BSL-1.0
// validate: checks whether a plan satisfies its problem. It shares no code with the planners except a sort.
//
//     static constexpr allot::plan_buffer frames[] = {{.size = 64, .live = {0, 2}}, {.size = 64, .live = {1, 3}}};
//     const allot::plan_problem problem{.buffers = frames};
//     const std::uint64_t offsets[] = {0, 64};
//     allot::plan_heap workspace{allot::validate_space(problem)};
//     const auto found = allot::validate(problem, offsets, 128, workspace);
//     if (found.kind != allot::plan_violation_kind::none) report(found.kind, found.first, found.second);
//
//     offset                              A sweep over time keeps the live buffers in order of their offsets. As long
//       ▲  ┌────────┐                     as they share no byte, a buffer that begins can only overlap its two
//       │  │   b    │                     neighbors: here c overlaps b and d.
//       │  └────┬───┴───┐
//       │       │   c   │                 The order of all buffers is known in advance. Therefore the set of live
//       │  ┌────┴───┬───┘                 buffers is a bitmap over positions in that order, with a bitmap over its
//       └──┴── d ───┴───────► time        words, and so on. Six levels of 64 represent 2^36 positions, and each level
//                                         of a search for a neighbor takes a few shifts.
//
// Buffers that are `together` may share bytes and act as one neighbor. They are adjacent in the order, and the largest
// of them is last.
//
// When to use: to check the result of any planner, of this library or of another tool, before using it.
// When not to use: for pages (validate_pages.hpp, validate_mixed.hpp) and for plans with moves (validate_moves.hpp). To
// check a plan with several memories, validate the buffers of each memory separately.
//
// Complexity: O(n log n), independent of the number of buffers that live at the same time.
// Memory: `validate_space`: 25 bytes a buffer, plus the larger of 12 bytes a lifetime and 12 bytes a reserved range.
// Thread safety: the functions have no state. Concurrent calls need separate workspaces.
#pragma once

#include <allot/plan/check.hpp>
#include <allot/plan/workspace.hpp>

#include <bit>

namespace allot {
inline namespace v1 {

/// Kind of a violation. `first` and `second` are the members of `plan_violation`.
enum class plan_violation_kind : unsigned char {
    none,                 ///< The plan is valid.
    bad_problem,          ///< The problem is invalid: `check_problem` returns the reason.
    offsets_missing,      ///< The number of offsets, `first`, differs from the number of buffers.
    workspace_too_small,  ///< The workspace is smaller than `validate_space`.
    misaligned,           ///< The offset of buffer `first` is not a multiple of its alignment.
    wraps,                ///< The end of buffer `first` exceeds 64 bits.
    over_capacity,        ///< The end of buffer `first` exceeds the capacity.
    not_where_fixed,      ///< Buffer `first` is not at its fixed offset.
    not_together,         ///< Buffers `first` and `second` are `together` and have different offsets.
    not_apart,            ///< Buffers `first` and `second` are `apart` and share bytes.
    reserved,             ///< Buffer `first` overlaps the reserved range `second`.
    overlap,              ///< Buffers `first` and `second` live at the same time and share bytes.
};

/// Returns a human-readable description of the kind.
[[nodiscard]] constexpr const char* to_string(plan_violation_kind kind) noexcept {
    switch (kind) {
        case plan_violation_kind::none: return "the plan is valid";
        case plan_violation_kind::bad_problem: return "the planning problem is invalid";
        case plan_violation_kind::offsets_missing: return "the number of offsets differs from the number of buffers";
        case plan_violation_kind::workspace_too_small: return "the workspace is too small";
        case plan_violation_kind::misaligned: return "the offset of a buffer is not a multiple of its alignment";
        case plan_violation_kind::wraps: return "the end of a buffer exceeds 64 bits";
        case plan_violation_kind::over_capacity: return "the end of a buffer exceeds the capacity";
        case plan_violation_kind::not_where_fixed: return "a buffer is not at its fixed offset";
        case plan_violation_kind::not_together: return "two buffers are together and have different offsets";
        case plan_violation_kind::not_apart: return "two buffers are apart and share bytes";
        case plan_violation_kind::reserved: return "a buffer overlaps a reserved range";
        case plan_violation_kind::overlap: return "two buffers live at the same time and share bytes";
    }
    return "unknown";
}

/// A violation: its kind, and the indices of the elements that it concerns.
struct plan_violation {
    plan_violation_kind kind = plan_violation_kind::none;  ///< Kind of the violation.
    std::size_t first = 0;                                 ///< Index that the kind refers to.
    std::size_t second = 0;                                ///< Second index that the kind refers to, or 0.

    /// Returns a human-readable description of the kind.
    [[nodiscard]] constexpr const char* what() const noexcept { return to_string(kind); }
    /// Compares all members.
    friend constexpr bool operator==(plan_violation, plan_violation) = default;
};

/// Returns the size of the workspace that `validate` needs.
[[nodiscard]] constexpr plan_space validate_space(const plan_problem& problem) noexcept {
    const std::size_t buffers = problem.buffers.size(), lifetimes = buffers + problem.revivals.size();
    const std::size_t sorted = detail::larger(lifetimes, problem.reserved.size());
    return {3 * sorted + 6 * buffers, buffers / 32 + 12, 0};
}

namespace detail {

/// A set of integers below a limit that finds the neighbors of any integer.
class number_set {
    static constexpr std::size_t bits = 64;
    static constexpr unsigned most_levels = 6;

public:
    static constexpr std::size_t none = ~std::size_t{0};

    constexpr number_set(std::size_t limit, plan_workspace& workspace) noexcept {
        do {
            limit = (limit + bits - 1) / bits;
            level_[levels_] = workspace.cut_u64(limit);
            for (std::size_t i = 0; i != limit; ++i) level_[levels_][i] = 0;
            length_[levels_++] = limit;
        } while (limit > 1);
    }
    constexpr void insert(std::size_t number) noexcept {
        for (unsigned i = 0; i != levels_; ++i, number /= bits)
            level_[i][number / bits] |= std::uint64_t{1} << number % bits;
    }
    /// Precondition: `number` is in the set.
    constexpr void erase(std::size_t number) noexcept {
        for (unsigned i = 0; i != levels_; ++i, number /= bits)
            if ((level_[i][number / bits] ^= std::uint64_t{1} << number % bits) != 0) return;
    }
    /// Returns the largest element below `number`, or `none`.
    [[nodiscard]] constexpr std::size_t below(std::size_t number) const noexcept {
        for (unsigned i = 0; i != levels_; ++i, number /= bits) {
            if (number % bits == 0) continue;
            const std::uint64_t rest = level_[i][number / bits] << (bits - number % bits);
            if (rest == 0) continue;
            number -= 1 + static_cast<std::size_t>(std::countl_zero(rest));
            while (i-- != 0)
                number = number * bits + (bits - 1) - static_cast<std::size_t>(std::countl_zero(level_[i][number]));
            return number;
        }
        return none;
    }
    /// Returns the smallest element that is not below `number`, or `none`.
    [[nodiscard]] constexpr std::size_t from(std::size_t number) const noexcept {
        for (unsigned i = 0; i != levels_; ++i, number = number / bits + 1) {
            if (number / bits >= length_[i]) return none;
            const std::uint64_t rest = level_[i][number / bits] >> number % bits;
            if (rest == 0) continue;
            number += static_cast<std::size_t>(std::countr_zero(rest));
            while (i-- != 0) number = number * bits + static_cast<std::size_t>(std::countr_zero(level_[i][number]));
            return number;
        }
        return none;
    }

private:
    std::uint64_t* level_[most_levels]{};
    std::size_t length_[most_levels]{};
    unsigned levels_ = 0;
};

/// Implementation of `validate` for a valid problem.
class validator {
public:
    constexpr validator(const plan_problem& problem, const std::uint64_t* offsets, plan_workspace workspace) noexcept
        : problem_{&problem},
          buffers_{problem.buffers.data()},
          revivals_{problem.revivals.data()},
          offsets_{offsets},
          count_{problem.buffers.size()},
          lifetimes_{count_ + problem.revivals.size()},
          workspace_{workspace} {
        const std::size_t sorted = larger(lifetimes_, problem.reserved.size());
        starts_ = workspace_.cut_u32(sorted);
        ends_ = workspace_.cut_u32(sorted);
        scratch_ = workspace_.cut_u32(sorted);
        group_ = workspace_.cut_u32(count_);
        order_ = workspace_.cut_u32(count_);
        place_ = workspace_.cut_u32(count_);
        first_ = workspace_.cut_u32(count_);
        last_ = workspace_.cut_u32(count_);
        live_ = workspace_.cut_u32(count_);
    }

    [[nodiscard]] constexpr plan_violation run(std::uint64_t capacity) noexcept {
        plan_violation found = each_buffer(capacity);
        if (found.kind == plan_violation_kind::none) found = each_pair();
        if (found.kind == plan_violation_kind::none) found = each_reserved();
        return found.kind == plan_violation_kind::none ? over_time() : found;
    }

private:
    [[nodiscard]] constexpr plan_violation each_buffer(std::uint64_t capacity) const noexcept {
        for (std::size_t i = 0; i != count_; ++i) {
            if (begin(i) % buffers_[i].align != 0) return {plan_violation_kind::misaligned, i, 0};
            if (end(i) < begin(i)) return {plan_violation_kind::wraps, i, 0};
            if (buffers_[i].size != 0 && end(i) > capacity) return {plan_violation_kind::over_capacity, i, 0};
        }
        for (const plan_fixed& fixed : problem_->fixed)
            if (begin(fixed.buffer) != fixed.offset) return {plan_violation_kind::not_where_fixed, fixed.buffer, 0};
        return {};
    }

    [[nodiscard]] constexpr plan_violation each_pair() const noexcept {
        for (const plan_pair& pair : problem_->together)
            if (begin(pair.first) != begin(pair.second))
                return {plan_violation_kind::not_together, pair.first, pair.second};
        for (const plan_pair& pair : problem_->apart)
            if (larger(begin(pair.first), begin(pair.second)) < smaller(end(pair.first), end(pair.second)))
                return {plan_violation_kind::not_apart, pair.first, pair.second};
        return {};
    }

    /// Checks reserved ranges. Among the ranges that begin below the end of a buffer, it suffices to check the range
    /// that ends last.
    [[nodiscard]] constexpr plan_violation each_reserved() noexcept {
        const plan_reserved* const ranges = problem_->reserved.data();
        std::uint32_t *const sorted = starts_, *const farthest = ends_;
        std::size_t count = 0;
        for (std::size_t i = 0; i != problem_->reserved.size(); ++i)
            if (ranges[i].size != 0) sorted[count++] = static_cast<std::uint32_t>(i);
        if (count == 0) return {};
        sort_by(sorted, scratch_, count, [=](std::uint32_t i) { return ranges[i].offset; });
        const auto range_end = [=](std::uint32_t i) { return ranges[i].offset + ranges[i].size; };
        farthest[0] = sorted[0];
        for (std::size_t i = 1; i != count; ++i)
            farthest[i] = range_end(sorted[i]) > range_end(farthest[i - 1]) ? sorted[i] : farthest[i - 1];
        for (std::size_t i = 0; i != count_; ++i) {
            std::size_t low = 0, high = count;  // number of ranges that begin below the end
            while (low != high)
                if (const std::size_t middle = (low + high) / 2; ranges[sorted[middle]].offset < end(i))
                    low = middle + 1;
                else high = middle;
            if (low != 0 && buffers_[i].size != 0 && range_end(farthest[low - 1]) > begin(i))
                return {plan_violation_kind::reserved, i, farthest[low - 1]};
        }
        return {};
    }

    [[nodiscard]] constexpr plan_violation over_time() noexcept {
        put_in_order();
        for (std::size_t i = 0; i != lifetimes_; ++i) starts_[i] = ends_[i] = static_cast<std::uint32_t>(i);
        sort_by(starts_, scratch_, lifetimes_, [this](std::uint32_t i) { return ordered(live(i).from); });
        sort_by(ends_, scratch_, lifetimes_, [this](std::uint32_t i) { return ordered(live(i).until); });
        number_set places{count_, workspace_};
        for (std::size_t next = 0, ended = 0; next != lifetimes_; ++next) {
            for (; live(ends_[ended]).until <= live(starts_[next]).from; ++ended)
                if (const std::uint32_t gone = buffer(ends_[ended]); buffers_[gone].size != 0 && --live_[gone] == 0)
                    places.erase(place_[gone]);
            const std::uint32_t now = buffer(starts_[next]), place = place_[now];
            if (buffers_[now].size == 0 || live_[now]++ != 0) continue;
            if (const std::size_t below = places.below(first_[place]);
                below != number_set::none && end(order_[below]) > begin(now))
                return {plan_violation_kind::overlap, now, order_[below]};
            if (const std::size_t above = places.from(last_[place] + 1);
                above != number_set::none && begin(order_[above]) < end(now))
                return {plan_violation_kind::overlap, now, order_[above]};
            places.insert(place);
        }
        return {};
    }

    /// Sorts the buffers by offset. Computes the position of each buffer and the range of positions of each group.
    constexpr void put_in_order() noexcept {
        for (std::size_t i = 0; i != count_; ++i) {
            order_[i] = group_[i] = static_cast<std::uint32_t>(i);
            live_[i] = 0;
        }
        for (const plan_pair& pair : problem_->together) group_[group_of(pair.first)] = group_of(pair.second);
        for (std::size_t i = 0; i != count_; ++i) group_[i] = group_of(i);
        sort_by(order_, scratch_, count_, [this](std::uint32_t i) { return end(i); });
        sort_by(order_, scratch_, count_, [this](std::uint32_t i) { return std::uint64_t{group_[i]}; });
        sort_by(order_, scratch_, count_, [this](std::uint32_t i) { return begin(i); });
        for (std::size_t i = 0; i != count_; ++i) {
            place_[order_[i]] = static_cast<std::uint32_t>(i);
            first_[i] =
                i != 0 && group_[order_[i]] == group_[order_[i - 1]] ? first_[i - 1] : static_cast<std::uint32_t>(i);
        }
        for (std::size_t i = count_; i-- != 0;)
            last_[i] = i + 1 != count_ && first_[i + 1] == first_[i] ? last_[i + 1] : static_cast<std::uint32_t>(i);
    }
    [[nodiscard]] constexpr std::uint32_t group_of(std::size_t i) noexcept {
        while (group_[i] != i) i = group_[i] = group_[group_[i]];
        return static_cast<std::uint32_t>(i);
    }

    [[nodiscard]] constexpr std::uint64_t begin(std::size_t i) const noexcept { return offsets_[i]; }
    [[nodiscard]] constexpr std::uint64_t end(std::size_t i) const noexcept { return offsets_[i] + buffers_[i].size; }
    [[nodiscard]] constexpr const lifetime& live(std::uint32_t i) const noexcept {
        return i < count_ ? buffers_[i].live : revivals_[i - count_].live;
    }
    [[nodiscard]] constexpr std::uint32_t buffer(std::uint32_t i) const noexcept {
        return i < count_ ? i : static_cast<std::uint32_t>(revivals_[i - count_].buffer);
    }

    const plan_problem* problem_;
    const plan_buffer* buffers_;
    const plan_revival* revivals_;
    const std::uint64_t* offsets_;
    std::size_t count_, lifetimes_;
    plan_workspace workspace_;
    std::uint32_t *starts_, *ends_, *scratch_;  // lifetimes in order of time
    // By buffer: the representative of its group, its position, the number of its current lifetimes.
    std::uint32_t *group_, *place_, *live_;
    std::uint32_t *order_, *first_, *last_;  // by position: the buffer, the first and last position of its group
};

}  // namespace detail

/// Returns the first violation that it finds, or a violation of kind `none` if the plan is valid.
///
/// `offsets` has the offset of each buffer, in bytes. No buffer may end above `capacity`.
[[nodiscard]] constexpr plan_violation validate(const plan_problem& problem, std::span<const std::uint64_t> offsets,
                                                std::uint64_t capacity, plan_workspace workspace) noexcept {
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none)
        return {plan_violation_kind::bad_problem, error.which, 0};
    if (offsets.size() != problem.buffers.size()) return {plan_violation_kind::offsets_missing, offsets.size(), 0};
    if (!workspace.holds(validate_space(problem))) return {plan_violation_kind::workspace_too_small, 0, 0};
    return detail::validator{problem, offsets.data(), workspace}.run(capacity);
}

}  // namespace v1
}  // namespace allot
