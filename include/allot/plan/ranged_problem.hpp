// SPDX-License-Identifier: BSL-1.0
// ranged_problem: the input and the result of planning for all values of symbols.
//
//     constexpr allot::plan_symbol batch{0}, length{1};
//     const allot::symbolic_buffer buffers[] = {{.size = {batch, length, 64, 4}, .live = {0, 2}},
//                                               {.size = {batch, length, length, 4}, .live = {1, 3}}};
//     const std::uint64_t most[] = {8, 512}, least[] = {1, 16};        // of batch and of length
//     const allot::ranged_problem shapes{{.buffers = buffers, .bounds = most}, least};
//
//     order: a, b, c, d                        An order names the buffers from the bottom up. Each buffer lies on the
//       ▲  ┌─────┐                             earlier ones with which it shares a step: its offset is the greatest
//       │  │  c  ├─────┐   c lies on a and b   of their ends, rounded up to its alignment. So the offsets are
//       │  ├──┬──┘  d  │   d lies on b         expressions of the symbols, and buffers that live together share no
//       │  │a │   b────┤                       byte for any sizes.
//       └──┴──┴──────┴─┴─► time
//
// When to use: as the input of `plan_ranged` and `validate_ranged`.
// When not to use: the values become known while buffers live (`plan_symbolic`).
//
// Complexity: plain data. `place` is O(n + the number of pairs of which one lies on the other).
// Memory: views in a problem. A plan stores its orders on the heap, about 16 bytes for each buffer and order.
// Thread safety: any number of concurrent readers, which includes `place`.
#pragma once

#include <allot/core/result.hpp>
#include <allot/plan/planned.hpp>
#include <allot/plan/symbolic.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {

/// A planning problem whose symbols have ranges. The constraints `fixed`, `together` and `reserved` are not supported.
struct ranged_problem {
    symbolic_problem sizes;                  ///< Buffers, constraints, and the largest value of each symbol.
    std::span<const std::uint64_t> least{};  ///< The smallest value of each symbol. Empty: 0 for each.
};

/// Options of `plan_ranged`.
struct ranged_options {
    /// For each value, the peak should be at most this far above the lower bound of the value, in thousandths, or above
    /// the lowest plan that is known for it.
    std::uint64_t tolerance = 50;
    std::size_t pieces_at_most = 64;    ///< Largest number of ranges of values with an order of their own.
    std::uint64_t effort = 200'000;     ///< Limit on the number of values and ranges that test and prove orders.
    plan_options each{.effort = 5000};  ///< Options of the plans for one value, from which the orders come.
};

/// An order of the buffers, from the bottom up. See the opening comment.
struct stacking_order {
    std::vector<std::uint32_t> buffers;  ///< The buffers in this order.
    std::vector<std::uint32_t> first;  ///< Buffer `buffers[k]` lies on `below[first[k]]` to `below[first[k + 1] - 1]`.
    std::vector<std::uint32_t> below;  ///< Indices of buffers.
    /// Compares all members.
    friend bool operator==(const stacking_order&, const stacking_order&) = default;
};

/// A range of values, and the order that serves them.
struct ranged_piece {
    /// `excess` of a piece without a proof.
    static constexpr std::uint64_t unproved = ~std::uint64_t{0};

    std::vector<std::uint64_t> least;  ///< Smallest value of each symbol.
    std::vector<std::uint64_t> most;   ///< Largest value of each symbol.
    std::size_t order = 0;             ///< Index of the order.
    std::uint64_t peak = 0;            ///< Peak for the largest values: no values of the piece need more bytes.
    /// Proved: for all values of the piece, the peak is at most this far above the lower bound, in thousandths.
    std::uint64_t excess = 0;

    /// Returns whether the piece serves these values.
    [[nodiscard]] bool holds(std::span<const std::uint64_t> values) const noexcept {
        for (std::size_t i = 0; i != values.size(); ++i)
            if (values[i] < least[i] || values[i] > most[i]) return false;
        return true;
    }
};

namespace detail {

/// Computes offsets from the bottom up and returns the highest end. `size_of(buffer)` returns bytes.
template <class Size>
[[nodiscard]] std::uint64_t stack_buffers(const stacking_order& order, std::span<const symbolic_buffer> buffers,
                                          Size size_of, std::span<plan_place> places) noexcept {
    std::uint64_t peak = 0;
    for (std::size_t k = 0; k != order.buffers.size(); ++k) {
        const std::uint32_t now = order.buffers[k];
        std::uint64_t offset = 0;
        for (std::uint32_t at = order.first[k]; at != order.first[k + 1]; ++at) {
            const plan_place& under = places[order.below[at]];
            offset = std::max(offset, under.offset + under.size);
        }
        offset = align_up(offset, buffers[now].align);
        places[now] = {offset, size_of(now)};
        if (places[now].size != 0) peak = std::max(peak, offset + places[now].size);
    }
    return peak;
}

}  // namespace detail

/// A plan for all values of the symbols. `plan_ranged` creates it. It views the arrays of the problem.
struct ranged_plan {
    ranged_problem of{};                 ///< The problem.
    std::vector<ranged_piece> pieces;    ///< Together they hold all values.
    std::vector<stacking_order> orders;  ///< The orders of the pieces.
    std::uint64_t peak = 0;              ///< The size of a memory for all values.
    std::uint64_t align = 1;             ///< Required alignment of the memory's base, in bytes.

    /// Returns the piece for these values, or a null pointer.
    [[nodiscard]] const ranged_piece* piece_of(std::span<const std::uint64_t> values) const noexcept {
        if (values.size() != of.sizes.bounds.size()) return nullptr;
        for (const ranged_piece& each : pieces)
            if (each.holds(values)) return &each;
        return nullptr;
    }
    /// Writes the place of each buffer for the values of all symbols, and returns the peak. Does not use the heap.
    /// Fails with `above_bound` for the first symbol whose value is missing or outside of its range, and with
    /// `workspace_too_small` if `places` has too few elements.
    [[nodiscard]] result<std::uint64_t, plan_error> place(std::span<const std::uint64_t> values,
                                                          std::span<plan_place> places) const noexcept {
        using answer = result<std::uint64_t, plan_error>;
        if (places.size() < of.sizes.buffers.size()) return answer::failure({plan_refusal::workspace_too_small, 0});
        const ranged_piece* const piece = piece_of(values);
        if (piece == nullptr) return answer::failure({plan_refusal::above_bound, outside(values)});
        return detail::stack_buffers(
            orders[piece->order], of.sizes.buffers,
            [&](std::size_t buffer) {
                std::uint64_t bytes = 0;  // it cannot fail, because it did not for the bounds
                static_cast<void>(of.sizes.buffers[buffer].size.bytes(values, bytes));
                return bytes;
            },
            places);
    }

private:
    [[nodiscard]] std::size_t outside(std::span<const std::uint64_t> values) const noexcept {
        std::size_t i = 0;
        while (i != values.size() && i != of.sizes.bounds.size() && values[i] <= of.sizes.bounds[i] &&
               (of.least.empty() || values[i] >= of.least[i]))
            ++i;
        return i;
    }
};

}  // namespace v1
}  // namespace allot
