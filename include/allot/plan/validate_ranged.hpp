// SPDX-License-Identifier: BSL-1.0
// validate_ranged: proves that a plan for ranges of values is valid for all of them.
//
//     constexpr allot::plan_symbol length{0};
//     const allot::symbolic_buffer buffers[] = {{.size = {length, 64}, .live = {0, 2}},
//                                               {.size = {length, length}, .live = {1, 3}}};
//     const std::uint64_t most[] = {512};
//     const allot::ranged_problem problem{{.buffers = buffers, .bounds = most}};
//     const auto made = allot::plan_ranged(problem);
//     if (!made) return complain(made.error());
//     const auto found = allot::validate_ranged(problem, *made);
//     if (found.kind != allot::ranged_violation_kind::none) complain(found.kind, found.which);
//
//     pieces ──► hold all values           orders ──► each buffer once; of two buffers that must not share bytes, one
//            ──► peak, at the largest                 lies on the other, directly or with others between: so it begins
//                values; excess, by                   above the end of the other, for all sizes
//                division of the range
//
// It shares no code with `plan_ranged`, except the sizes of the problem and the check of the buffers.
//
// When to use: to check a plan from another program or a file before using it, and in tests.
// When not to use: for a plan of one value (validate.hpp).
//
// Complexity: for each order O(n² + n · m / 64), where m is the number of pairs of which one lies on the other; for
// each piece at most `checks` computations of offsets and of the load.
// Memory: on the heap, n² / 8 bytes and about 100 bytes a buffer.
// Thread safety: pure functions.
#pragma once

#include <allot/plan/ranged_problem.hpp>

#include <algorithm>
#include <map>

namespace allot {
inline namespace v1 {

/// Kind of a violation. `which` and `other` are the members of `ranged_violation`.
enum class ranged_violation_kind : unsigned char {
    none,            ///< The plan is valid.
    bad_problem,     ///< The problem is invalid: `plan_ranged` returns the reason.
    bad_piece,       ///< Piece `which` has another number of symbols, an empty range, or no order.
    value_missing,   ///< Some values are in no piece.
    bad_order,       ///< Order `which` does not have each buffer once, after the ones on which it lies.
    overlap,         ///< Buffers `which` and `other` must not share bytes, and no order of them is stated.
    wrong_peak,      ///< Piece `which`, or the plan, needs more bytes than it states.
    wrong_align,     ///< Buffer `which` has a larger alignment than the plan states.
    excess_too_low,  ///< Piece `which` has values with a higher excess than it states.
    not_proved,      ///< The excess of piece `which` is not proved by this number of checks.
};

/// Returns a human-readable description of the kind.
[[nodiscard]] constexpr const char* to_string(ranged_violation_kind kind) noexcept {
    switch (kind) {
        case ranged_violation_kind::none: return "the plan is valid";
        case ranged_violation_kind::bad_problem: return "the problem is invalid";
        case ranged_violation_kind::bad_piece: return "a piece has other symbols, an empty range, or no order";
        case ranged_violation_kind::value_missing: return "some values are in no piece";
        case ranged_violation_kind::bad_order: return "an order does not have each buffer once, from the bottom up";
        case ranged_violation_kind::overlap: return "buffers that must not share bytes are not ordered";
        case ranged_violation_kind::wrong_peak: return "a piece or the plan needs more bytes than it states";
        case ranged_violation_kind::wrong_align: return "a buffer has a larger alignment than the plan states";
        case ranged_violation_kind::excess_too_low: return "some values have a higher excess than the piece states";
        case ranged_violation_kind::not_proved: return "the excess is not proved by this number of checks";
    }
    return "unknown";
}

/// The first violation that was found.
struct ranged_violation {
    ranged_violation_kind kind = ranged_violation_kind::none;  ///< Kind.
    std::size_t which = 0;                                     ///< Index that the kind refers to.
    std::size_t other = 0;                                     ///< Second index that the kind refers to.

    /// Returns a human-readable description of the kind.
    [[nodiscard]] constexpr const char* what() const noexcept { return to_string(kind); }
};

namespace detail {

class ranged_validator {
public:
    ranged_validator(const ranged_problem& of, const ranged_plan& plan, std::uint64_t checks)
        : of_{of.sizes}, plan_{plan}, checks_{checks}, least_(of.sizes.bounds.size()), count_{of.sizes.buffers.size()} {
        if (!of.least.empty()) least_.assign(of.least.begin(), of.least.end());
    }

    [[nodiscard]] ranged_violation run() {
        for (std::size_t i = 0; i != count_; ++i)
            if (of_.buffers[i].align > plan_.align) return {ranged_violation_kind::wrong_align, i};
        for (std::size_t i = 0; i != plan_.pieces.size(); ++i)
            if (!is_piece(plan_.pieces[i])) return {ranged_violation_kind::bad_piece, i};
        if (!is_covered(least_, {of_.bounds.begin(), of_.bounds.end()})) return {ranged_violation_kind::value_missing};
        for (std::size_t i = 0; i != plan_.orders.size(); ++i)
            if (const ranged_violation found = in_order(i); found.kind != ranged_violation_kind::none) return found;
        for (std::size_t i = 0; i != plan_.pieces.size(); ++i)
            if (const ranged_violation found = in_piece(i); found.kind != ranged_violation_kind::none) return found;
        return {};
    }

private:
    using values = std::vector<std::uint64_t>;
    using bits = std::vector<std::uint64_t>;

    [[nodiscard]] bool is_piece(const ranged_piece& piece) const {
        if (piece.least.size() != least_.size() || piece.most.size() != least_.size()) return false;
        for (std::size_t i = 0; i != least_.size(); ++i)
            if (piece.least[i] > piece.most[i] || piece.most[i] > of_.bounds[i]) return false;
        return piece.order < plan_.orders.size();
    }
    /// Removes a piece from the range, and continues with the parts that remain.
    [[nodiscard]] bool is_covered(values least, values most) const {
        for (const ranged_piece& piece : plan_.pieces) {
            bool meets = true;
            for (std::size_t i = 0; i != least.size(); ++i)
                meets = meets && piece.least[i] <= most[i] && least[i] <= piece.most[i];
            if (!meets) continue;
            for (std::size_t i = 0; i != least.size(); ++i) {
                if (least[i] < piece.least[i]) {
                    values below = most;
                    below[i] = piece.least[i] - 1;
                    if (!is_covered(least, below)) return false;
                    least[i] = piece.least[i];
                }
                if (piece.most[i] < most[i]) {
                    values above = least;
                    above[i] = piece.most[i] + 1;
                    if (!is_covered(above, most)) return false;
                    most[i] = piece.most[i];
                }
            }
            return true;
        }
        return false;
    }

    [[nodiscard]] ranged_violation in_order(std::size_t which) const {
        const stacking_order& order = plan_.orders[which];
        const ranged_violation wrong{ranged_violation_kind::bad_order, which};
        if (order.buffers.size() != count_ || order.first.size() != count_ + 1 || order.first.front() != 0 ||
            order.first.back() != order.below.size() || !std::is_sorted(order.first.begin(), order.first.end()))
            return wrong;
        const std::size_t words = (count_ + 63) / 64;
        std::vector<bits> under(count_);  // by buffer: all buffers that end below its offset
        for (std::size_t k = 0; k != count_; ++k) {
            const std::uint32_t now = order.buffers[k];
            if (now >= count_ || !under[now].empty()) return wrong;
            bits found(words);
            for (std::uint32_t at = order.first[k]; at != order.first[k + 1]; ++at) {
                const std::uint32_t lower = order.below[at];
                if (lower >= count_ || under[lower].empty()) return wrong;
                for (std::size_t w = 0; w != words; ++w) found[w] |= under[lower][w];
                found[lower / 64] |= std::uint64_t{1} << lower % 64;
            }
            under[now] = std::move(found);
        }
        const auto is_under = [&](std::size_t a, std::size_t b) { return (under[b][a / 64] >> a % 64 & 1) != 0; };
        for (std::size_t a = 0; a != count_; ++a)
            for (std::size_t b = 0; b != a; ++b)
                if (conflicts(a, b) && !is_under(a, b) && !is_under(b, a))
                    return {ranged_violation_kind::overlap, a, b};
        return {};
    }
    [[nodiscard]] bool conflicts(std::size_t a, std::size_t b) const {
        if (of_.buffers[a].live.overlaps(of_.buffers[b].live)) return true;
        for (const plan_pair& each : of_.apart)
            if ((each.first == a && each.second == b) || (each.first == b && each.second == a)) return true;
        for (const plan_revival& each : of_.revivals) {
            if (each.buffer != a && each.buffer != b) continue;
            const std::size_t other = each.buffer == a ? b : a;
            if (each.live.overlaps(of_.buffers[other].live)) return true;
            for (const plan_revival& again : of_.revivals)
                if (again.buffer == other && each.live.overlaps(again.live)) return true;
        }
        return false;
    }

    [[nodiscard]] ranged_violation in_piece(std::size_t which) const {
        const ranged_piece& piece = plan_.pieces[which];
        const std::uint64_t peak = peak_at(piece, piece.most);
        if (peak > piece.peak || piece.peak > plan_.peak) return {ranged_violation_kind::wrong_peak, which};
        if (piece.excess == ranged_piece::unproved) return {};
        std::uint64_t left = checks_;
        std::vector<std::pair<values, values>> open{{piece.least, piece.most}};
        while (!open.empty()) {
            auto [least, most] = std::move(open.back());
            open.pop_back();
            if (left-- == 0) return {ranged_violation_kind::not_proved, which};
            const std::uint64_t highest = peak_at(piece, most);
            if (is_within(highest, load_at(least), piece.excess)) continue;
            if (!is_within(highest, load_at(most), piece.excess)) return {ranged_violation_kind::excess_too_low, which};
            std::size_t widest = 0;
            for (std::size_t i = 1; i != least.size(); ++i)
                if ((most[i] - least[i]) * (least[widest] + 1) > (most[widest] - least[widest]) * (least[i] + 1))
                    widest = i;
            values lower = most, upper = least;
            lower[widest] = least[widest] + (most[widest] - least[widest]) / 2;
            upper[widest] = lower[widest] + 1;
            open.emplace_back(std::move(upper), most);
            open.emplace_back(std::move(least), std::move(lower));
        }
        return {};
    }
    [[nodiscard]] static bool is_within(std::uint64_t peak, std::uint64_t load, std::uint64_t excess) {
        if (peak <= load) return true;
        std::uint64_t product = 0, above = 0;
        if (!checked_multiply(peak - load, std::uint64_t{1000}, above)) return false;
        return !checked_multiply(load, excess, product) || above <= product;
    }
    [[nodiscard]] std::uint64_t bytes(std::size_t buffer, const values& at) const {
        std::uint64_t size = 0;
        return of_.buffers[buffer].size.bytes(at, size) ? size : 0;
    }
    [[nodiscard]] std::uint64_t peak_at(const ranged_piece& piece, const values& at) const {
        const stacking_order& order = plan_.orders[piece.order];
        std::vector<std::uint64_t> end(count_);
        std::uint64_t peak = 0;
        for (std::size_t k = 0; k != count_; ++k) {
            const std::uint32_t now = order.buffers[k];
            std::uint64_t offset = 0;
            for (std::uint32_t i = order.first[k]; i != order.first[k + 1]; ++i)
                offset = std::max(offset, end[order.below[i]]);
            const std::uint64_t align = of_.buffers[now].align, size = bytes(now, at);
            end[now] = (offset + align - 1) / align * align + size;
            if (size != 0) peak = std::max(peak, end[now]);
        }
        return peak;
    }
    /// Returns the most bytes that are live, or those in units of the least alignment, of which the last may be partly
    /// used.
    [[nodiscard]] std::uint64_t load_at(const values& at) const {
        std::uint64_t unit = ~std::uint64_t{0};
        for (const symbolic_buffer& each : of_.buffers) unit = std::min(unit, each.align);
        struct change {
            std::uint64_t more = 0, less = 0, more_units = 0, less_units = 0;
        };
        std::map<std::int64_t, change> changes;
        const auto add = [&](std::size_t buffer, lifetime live) {
            const std::uint64_t size = bytes(buffer, at), units = (size + unit - 1) / unit;
            changes[live.from].more += size;
            changes[live.from].more_units += units;
            changes[live.until].less += size;
            changes[live.until].less_units += units;
        };
        for (std::size_t i = 0; i != count_; ++i) add(i, of_.buffers[i].live);
        for (const plan_revival& each : of_.revivals) add(each.buffer, each.live);
        std::uint64_t live = 0, units = 0, most = 0;
        for (const auto& [step, each] : changes) {
            live += each.more - each.less;
            units += each.more_units - each.less_units;
            most = std::max({most, live, units == 0 ? 0 : (units - 1) * unit + 1});
        }
        return most;
    }

    symbolic_problem of_;
    const ranged_plan& plan_;
    std::uint64_t checks_;
    values least_;
    std::size_t count_;
};

}  // namespace detail

/// Returns the first violation that it finds, or a violation of kind `none` if the plan is valid for all values.
///
/// `checks` limits the proof of the excess of each piece. Throws the exceptions of the heap, such as `std::bad_alloc`.
[[nodiscard]] inline ranged_violation validate_ranged(const ranged_problem& problem, const ranged_plan& plan,
                                                      std::uint64_t checks = 1'000'000) {
    const symbolic_problem& of = problem.sizes;
    std::vector<plan_buffer> buffers;
    for (const symbolic_buffer& each : of.buffers) buffers.push_back({0, each.live, each.align});
    if (const plan_error error = check_problem(symbolic_plan::problem_of(of, buffers));
        error.reason != plan_refusal::none)
        return {ranged_violation_kind::bad_problem, error.which};
    if (!problem.least.empty() && problem.least.size() != of.bounds.size())
        return {ranged_violation_kind::bad_problem, problem.least.size()};
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i != of.buffers.size(); ++i) {
        std::uint64_t size = 0;
        if (!of.buffers[i].size.bytes(of.bounds, size) || !checked_add(sum, size, sum) ||
            !checked_add(sum, of.buffers[i].align, sum))
            return {ranged_violation_kind::bad_problem, i};
    }
    if (!of.fixed.empty() || !of.together.empty() || !of.reserved.empty()) return {ranged_violation_kind::bad_problem};
    return detail::ranged_validator{problem, plan, checks}.run();
}

}  // namespace v1
}  // namespace allot
