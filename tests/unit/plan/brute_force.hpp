// Finds the lowest plan of a few buffers by trying every offset of each. Generates small problems with all constraints.
// It uses the types of a problem from allot, and no code that plans or checks.
//
//     offsets    One bit for each offset below 64 that a group of buffers may have. A placed group removes from the
//     ▐█▐▐▐█▐…   others the offsets at which they would share a byte. For members that overlap in time or are apart,
//                these are the offsets with −size < difference < size.
#pragma once

#include <allot/plan/problem.hpp>

#include "problems.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>

namespace problems {

/// Old offsets, the buffers that count as moved, and the limit of moves.
struct homes {
    std::array<std::uint64_t, 8> at{};
    std::array<bool, 8> counts{};
    std::size_t may_move = 8;
};

/// For at most eight buffers. All offsets, sizes and heights are at most `highest`.
class brute_force {
public:
    static constexpr std::uint64_t highest = 63;

    constexpr explicit brute_force(const allot::plan_problem& problem)
        : problem_{problem}, count_{problem.buffers.size()} {
        for (std::size_t i = 0; i != count_; ++i) group_[i] = i;
        for (const auto& pair : problem.together) {
            const std::size_t gone = group_[pair.first], kept = group_[pair.second];
            for (std::size_t i = 0; i != count_; ++i)
                if (group_[i] == gone) group_[i] = kept;
        }
        for (std::size_t i = 0; i != count_; ++i)
            for (std::size_t j = 0; j != count_; ++j) {
                if (i == j || !conflict(i, j) || size(i) == 0 || size(j) == 0) continue;
                if (group_[i] == group_[j]) {
                    // Members of a group may live at the same time. If two are also apart, no plan exists.
                    for (const auto& pair : problem.apart)
                        if (is(pair, i, j)) none_ = true;
                    continue;
                }
                conflicts_[i][j] = true;
                std::uint64_t& least = below_[group_[i]][group_[j]];
                least = std::max(least, size(i));
            }
    }

    /// Returns whether these offsets are a plan within `height`.
    [[nodiscard]] constexpr bool is_plan(const auto& offset_of, std::uint64_t height) const {
        for (std::size_t i = 0; i != count_; ++i) {
            const std::uint64_t at = offset_of(i);
            if (at % problem_.buffers[i].align != 0 || (size(i) != 0 && at + size(i) > height)) return false;
            for (const auto& range : problem_.reserved)
                if (size(i) != 0 && at < range.offset + range.size && range.offset < at + size(i) && range.size != 0)
                    return false;
            for (std::size_t j = 0; j != i; ++j)
                if (conflicts_[i][j] && at < offset_of(j) + size(j) && offset_of(j) < at + size(i)) return false;
        }
        for (const auto& each : problem_.fixed)
            if (offset_of(each.buffer) != each.offset) return false;
        for (const auto& each : problem_.together)
            if (offset_of(each.first) != offset_of(each.second)) return false;
        return !none_;
    }

    /// Returns whether a plan within `height` exists.
    [[nodiscard]] constexpr bool exists(std::uint64_t height, const homes& before = {}) const {
        if (none_ || is_crowded(height)) return false;
        std::array<std::uint64_t, 8> allowed{};
        unsigned waiting = 0;
        for (std::size_t group = 0; group != count_; ++group) {
            if (group_[group] != group) continue;
            waiting |= 1u << group;
            for (std::uint64_t at = 0; at <= highest; ++at)
                if (may_be(group, at, height)) allowed[group] |= std::uint64_t{1} << at;
        }
        return place(waiting, allowed, before, before.may_move);
    }
    /// Returns the height of the lowest plan within `limit`, or `limit + 1` if no plan exists.
    [[nodiscard]] constexpr std::uint64_t lowest(std::uint64_t limit, const homes& before = {}) const {
        if (!exists(limit, before)) return limit + 1;
        while (limit != 0 && exists(limit - 1, before)) --limit;
        return limit;
    }

private:
    [[nodiscard]] constexpr std::uint64_t size(std::size_t i) const { return problem_.buffers[i].size; }
    [[nodiscard]] static constexpr bool is(const allot::plan_pair& pair, std::size_t i, std::size_t j) {
        return (pair.first == i && pair.second == j) || (pair.first == j && pair.second == i);
    }
    [[nodiscard]] constexpr bool conflict(std::size_t i, std::size_t j) const {
        for (const auto& pair : problem_.apart)
            if (is(pair, i, j)) return true;
        const auto lives = [&](std::size_t buffer, auto test) {
            if (test(problem_.buffers[buffer].live)) return true;
            for (const auto& revival : problem_.revivals)
                if (revival.buffer == buffer && test(revival.live)) return true;
            return false;
        };
        return lives(i, [&](allot::lifetime a) {
            return lives(j, [&](allot::lifetime b) { return std::max(a.from, b.from) < std::min(a.until, b.until); });
        });
    }
    [[nodiscard]] constexpr bool may_be(std::size_t group, std::uint64_t at, std::uint64_t height) const {
        for (std::size_t i = 0; i != count_; ++i) {
            if (group_[i] != group) continue;
            if (at % problem_.buffers[i].align != 0) return false;
            if (size(i) != 0 && at + size(i) > height) return false;
            for (const auto& each : problem_.fixed)
                if (each.buffer == i && each.offset != at) return false;
            for (const auto& range : problem_.reserved)
                if (size(i) != 0 && range.size != 0 && at < range.offset + range.size && range.offset < at + size(i))
                    return false;
        }
        return true;
    }
    /// Returns whether more than `height` bytes live at one step. Only beginnings of lifetimes need a check.
    [[nodiscard]] constexpr bool is_crowded(std::uint64_t height) const {
        const auto crowded_at = [&](std::int64_t step) {
            std::array<std::uint64_t, 8> living{};  // size by group
            const auto lives = [&](std::size_t i, allot::lifetime live) {
                if (live.from <= step && step < live.until) living[group_[i]] = std::max(living[group_[i]], size(i));
            };
            for (std::size_t i = 0; i != count_; ++i) lives(i, problem_.buffers[i].live);
            for (const auto& revival : problem_.revivals) lives(revival.buffer, revival.live);
            std::uint64_t sum = 0;
            for (const std::uint64_t each : living) sum += each;
            return sum > height;
        };
        for (const auto& buffer : problem_.buffers)
            if (crowded_at(buffer.live.from)) return true;
        for (const auto& revival : problem_.revivals)
            if (crowded_at(revival.live.from)) return true;
        return false;
    }
    /// Returns whether all waiting groups can be placed. Takes the group with the fewest offsets next and tries all of
    /// them.
    [[nodiscard]] constexpr bool place(unsigned waiting, const std::array<std::uint64_t, 8>& allowed,
                                       const homes& before, std::size_t may_move) const {
        if (waiting == 0) return true;
        std::size_t group = 0;
        int fewest = 65;
        for (unsigned rest = waiting; rest != 0; rest &= rest - 1) {
            const auto other = static_cast<std::size_t>(std::countr_zero(rest));
            if (const int left = std::popcount(allowed[other]); left < fewest) {
                fewest = left;
                group = other;
            }
        }
        waiting &= ~(1u << group);
        for (std::uint64_t rest = allowed[group]; rest != 0; rest &= rest - 1) {
            const auto at = static_cast<std::uint64_t>(std::countr_zero(rest));
            std::size_t moves = 0;
            for (std::size_t i = 0; may_move < count_ && i != count_; ++i)
                if (group_[i] == group && before.counts[i] && before.at[i] != at) ++moves;
            if (moves > may_move) continue;
            std::array<std::uint64_t, 8> left = allowed;
            bool fits = true;
            for (unsigned others = waiting; others != 0 && fits; others &= others - 1) {
                const auto other = static_cast<std::size_t>(std::countr_zero(others));
                const std::uint64_t mine = below_[group][other], its = below_[other][group];
                if (mine != 0) {
                    // The offsets of the other group that collide.
                    const std::uint64_t from = at + 1 > its ? at + 1 - its : 0,
                                        until = std::min(at + mine, highest + 1);
                    left[other] &= ~(~std::uint64_t{0} >> (64 - (until - from)) << from);
                }
                fits = left[other] != 0;
            }
            if (fits && place(waiting, left, before, may_move - moves)) return true;
        }
        return false;
    }

    allot::plan_problem problem_;
    std::size_t count_;
    std::array<std::size_t, 8> group_{};                   // by buffer: representative of its group
    std::array<std::array<bool, 8>, 8> conflicts_{};       // by buffer: whether two must not share a byte
    std::array<std::array<std::uint64_t, 8>, 8> below_{};  // by group: distance by which another must be above it
    bool none_ = false;                                    // whether a pair is both together and apart
};

/// A problem of up to six buffers that owns its arrays. Usable in constant expressions.
struct small_problem {
    std::array<allot::plan_buffer, 6> buffers{};
    std::array<allot::plan_revival, 3> revivals{};
    std::array<allot::plan_fixed, 2> fixed{};
    std::array<allot::plan_pair, 3> together{};
    std::array<allot::plan_pair, 4> apart{};
    std::array<allot::plan_reserved, 2> reserved{};
    std::size_t buffer_count = 0, revival_count = 0, fixed_count = 0, together_count = 0, apart_count = 0,
                reserved_count = 0;

    [[nodiscard]] constexpr allot::plan_problem view() const {
        const auto first = [](const auto& of, std::size_t count) { return std::span{of}.first(count); };
        return {first(buffers, buffer_count),    first(revivals, revival_count), first(fixed, fixed_count),
                first(together, together_count), first(apart, apart_count),      first(reserved, reserved_count)};
    }
};

/// Returns a random problem in which each kind of constraint may occur.
constexpr small_problem everything(std::uint64_t seed) {
    random draw{seed};
    for (int i = 0; i != 3; ++i) (void)draw(2);
    small_problem made;
    const std::size_t count = made.buffer_count = std::max<std::size_t>(1, 6 - draw.index(7) * draw.index(2));
    const std::uint64_t largest = 1 + draw(7), alignments = draw(3) == 0 ? 1 + draw(4) : 1;
    const auto steps = 2 + draw(6), longest = 1 + draw(steps);
    const auto life = [&](std::uint64_t begin) {
        const auto from = static_cast<std::int64_t>(begin);
        return allot::lifetime{from, from + 1 + static_cast<std::int64_t>(draw(longest))};
    };
    for (std::size_t i = 0; i != count; ++i)
        made.buffers[i] = {draw(8) == 0 ? 0 : 1 + draw(largest), life(draw(steps)),
                           std::uint64_t{1} << draw(alignments)};
    const auto some = [&](std::size_t most) { return draw(2) == 0 ? 0 : draw.index(most + 1); };
    for (std::size_t i = some(made.revivals.size()); i-- != 0;) {
        const std::size_t of = draw.index(count);
        std::int64_t after = made.buffers[of].live.until;
        for (std::size_t k = 0; k != made.revival_count; ++k)
            if (made.revivals[k].buffer == of) after = std::max(after, made.revivals[k].live.until);
        made.revivals[made.revival_count++] = {of, life(static_cast<std::uint64_t>(after) + draw(3))};
    }
    const auto pairs = [&](auto& of, std::size_t& kept) {
        for (std::size_t i = some(of.size()); count > 1 && i-- != 0;) {
            const std::size_t first = draw.index(count);
            of[kept++] = {first, (first + 1 + draw.index(count - 1)) % count};
        }
    };
    pairs(made.together, made.together_count);
    pairs(made.apart, made.apart_count);
    for (std::size_t i = draw(2) == 0 ? some(made.fixed.size()) : 0; i-- != 0;) {
        const std::size_t of = draw.index(count);
        made.fixed[made.fixed_count++] = {of, draw(16) / made.buffers[of].align * made.buffers[of].align};
    }
    for (std::size_t i = some(made.reserved.size()); i-- != 0;)
        made.reserved[made.reserved_count++] = {draw(16), draw(6)};
    return made;
}

/// Returns the problem as source text for a test.
inline std::string text_of(const allot::plan_problem& problem) {
    const auto number = [](auto n) { return std::to_string(n); };
    std::string text = "buffers = {";
    for (const auto& each : problem.buffers)
        text += "{" + number(each.size) + ", {" + number(each.live.from) + ", " + number(each.live.until) + "}, " +
                number(each.align) + "}, ";
    text += "}; revivals = {";
    for (const auto& each : problem.revivals)
        text += "{" + number(each.buffer) + ", {" + number(each.live.from) + ", " + number(each.live.until) + "}}, ";
    text += "}; fixed = {";
    for (const auto& each : problem.fixed) text += "{" + number(each.buffer) + ", " + number(each.offset) + "}, ";
    text += "}; together = {";
    for (const auto& each : problem.together) text += "{" + number(each.first) + ", " + number(each.second) + "}, ";
    text += "}; apart = {";
    for (const auto& each : problem.apart) text += "{" + number(each.first) + ", " + number(each.second) + "}, ";
    text += "}; reserved = {";
    for (const auto& each : problem.reserved) text += "{" + number(each.offset) + ", " + number(each.size) + "}, ";
    return text + "};";
}

}  // namespace problems
