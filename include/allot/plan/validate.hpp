// SPDX-License-Identifier: BSL-1.0
// validate: whether a plan keeps what its problem asks. It shares nothing with those who make plans but a sort.
//
//     offset                              A sweep over time keeps the buffers that are live now, in order of offsets.
//       ▲  ┌────────┐                     As long as they share no byte, one that begins can only share bytes with its
//       │  │   b    │                     two neighbours: here c with b and d.
//       │  └────┬───┴───┐
//       │       │   c   │                 The order is known beforehand, so that the set of those live is a bitmap over
//       │  ┌────┴───┬───┘                 places in it, with a bitmap over its words, and so on: six levels of 64 hold
//       └──┴── d ───┴───────► time        2^36, and a neighbour is a few shifts away.
//
// Buffers that are `together` may share bytes, and are one neighbour: they lie side by side in the order, the largest
// last.
//
// Complexity: O(n log n), whatever is live at once. Memory: `validate_space`, 25 bytes a buffer, 12 a lifetime,
// or 12 a reserved range where those are more. Thread safety: pure but for the workspace.
#pragma once

#include <allot/plan/check.hpp>
#include <allot/plan/workspace.hpp>

#include <bit>

namespace allot {
inline namespace v1 {

enum class plan_violation_kind : unsigned char {
    none,
    bad_problem,       // `check_problem` says why
    offsets_missing,   // there is not one for each buffer
    workspace_too_small,
    misaligned,        // the offset of `first`
    wraps,             // the end of `first` does not fit 64 bits
    over_capacity,     // the end of `first`
    not_where_fixed,   // `first`
    not_together,      // `first` and `second`, which should have one offset
    not_apart,         // `first` and `second` share bytes
    reserved,          // `first` lies on the reserved range `second`
    overlap,           // `first` and `second` live at once and share bytes
};

struct plan_violation {
    plan_violation_kind kind = plan_violation_kind::none;
    std::size_t first = 0;
    std::size_t second = 0;
    friend constexpr bool operator==(plan_violation, plan_violation) = default;
};

/// What `validate` works in.
[[nodiscard]] constexpr plan_space validate_space(const plan_problem& problem) noexcept {
    const std::size_t buffers = problem.buffers.size(), lifetimes = buffers + problem.revivals.size();
    const std::size_t sorted = std::max(lifetimes, problem.reserved.size());
    return {3 * sorted + 6 * buffers, buffers / 32 + 12, 0};
}

namespace detail {

/// A set of numbers below a limit, which knows the neighbours of any.
class number_set {
    static constexpr std::size_t bits = 64;
    static constexpr unsigned most_levels = 6;

public:
    static constexpr std::size_t none = ~std::size_t{0};

    constexpr number_set(std::size_t limit, plan_workspace& workspace) noexcept {
        do {
            limit = (limit + bits - 1) / bits;
            level_[levels_] = workspace.cut_longs(limit);
            for (std::size_t i = 0; i != limit; ++i) level_[levels_][i] = 0;
            words_[levels_++] = limit;
        } while (limit > 1);
    }
    constexpr void insert(std::size_t number) noexcept {
        for (unsigned i = 0; i != levels_; ++i, number /= bits)
            level_[i][number / bits] |= std::uint64_t{1} << number % bits;
    }
    /// Precondition: it is in the set.
    constexpr void erase(std::size_t number) noexcept {
        for (unsigned i = 0; i != levels_; ++i, number /= bits)
            if ((level_[i][number / bits] ^= std::uint64_t{1} << number % bits) != 0) return;
    }
    /// The largest below `number`, or none.
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
    /// The smallest from `number` on, or none.
    [[nodiscard]] constexpr std::size_t from(std::size_t number) const noexcept {
        for (unsigned i = 0; i != levels_; ++i, number = number / bits + 1) {
            if (number / bits >= words_[i]) return none;
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
    std::size_t words_[most_levels]{};
    unsigned levels_ = 0;
};

class validator {
public:
    constexpr validator(const plan_problem& problem, const std::uint64_t* offsets, plan_workspace workspace) noexcept
        : problem_{&problem}, buffers_{problem.buffers.data()}, revivals_{problem.revivals.data()}, offsets_{offsets},
          count_{problem.buffers.size()}, lifetimes_{count_ + problem.revivals.size()}, workspace_{workspace} {
        const std::size_t sorted = std::max(lifetimes_, problem.reserved.size());
        starts_ = workspace_.cut_words(sorted);
        ends_ = workspace_.cut_words(sorted);
        scratch_ = workspace_.cut_words(sorted);
        group_ = workspace_.cut_words(count_);
        order_ = workspace_.cut_words(count_);
        place_ = workspace_.cut_words(count_);
        first_ = workspace_.cut_words(count_);
        last_ = workspace_.cut_words(count_);
        live_ = workspace_.cut_words(count_);
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
            if (std::max(begin(pair.first), begin(pair.second)) < std::min(end(pair.first), end(pair.second)))
                return {plan_violation_kind::not_apart, pair.first, pair.second};
        return {};
    }

    /// Of the ranges that begin below a buffer's end, the one that ends last is on it, or none is.
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
            std::size_t low = 0, high = count;  // how many begin below the end
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

    /// Places of buffers in the order of offsets, and between which places those lie that each is together with.
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
    // By buffer: one of those together with it, its place, its lifetimes that go on.
    std::uint32_t *group_, *place_, *live_;
    std::uint32_t *order_, *first_, *last_;  // by place: the buffer there, the first and last place of its group
};

}  // namespace detail

/// The first violation found; of kind `none` when the plan is right.
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
