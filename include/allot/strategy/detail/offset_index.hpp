// SPDX-License-Identifier: BSL-1.0
// offset_index: a search tree of the holes of a side table by offset, for best_fit_options::offset_index.
//
//                     ┌──── hole at 4096 ────┐
//              hole at 512            hole at 8192 ───┐
//                                               hole at 9000
//
// Internal. The links are in the notes of the records. The tree is a zip tree: the rank of a node is the number of
// trailing zeros of a hash of its index, and no child has a higher rank than its parent. The same calls give the same
// tree on every machine. A hole keeps its place in the tree while its ends move, because holes do not overlap.
//
// Complexity: O(log holes) expected for each operation.
// Memory: one index, and two indices for each record.
// Thread safety: not synchronized.
//
// Source: R. Tarjan, C. Levy and S. Timmel, "Zip Trees", WADS 2019.
#pragma once

#include <allot/core/arithmetic.hpp>
#include <allot/strategy/detail/record_table.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The note of a record in a side table with an index.
struct index_links {
    record_index lower = no_record, higher = no_record;  // the subtrees of lower and of higher offsets
};

/// Search tree of holes by offset.
template <class Nodes>
class offset_index {
    using node = typename Nodes::node;
    static constexpr node none = Nodes::none;

public:
    /// Adds a hole that is not in the tree.
    constexpr void insert(Nodes& nodes, node hole) noexcept {
        const auto offset = nodes.offset(hole);
        node* at = &root_;
        while (*at != none && is_over(*at, nodes.offset(*at) < offset, hole)) at = child(nodes, *at, offset);
        node rest = *at;
        *at = hole;
        // The nodes of the subtree below the new one become its children: those of lower and those of higher offsets.
        node *lower = &nodes.note(hole).lower, *higher = &nodes.note(hole).higher;
        while (rest != none) {
            if (nodes.offset(rest) < offset) {
                *lower = rest;
                lower = &nodes.note(rest).higher;
                rest = *lower;
            } else {
                *higher = rest;
                higher = &nodes.note(rest).lower;
                rest = *higher;
            }
        }
        *lower = *higher = none;
    }
    /// Removes a hole that is in the tree.
    constexpr void erase(Nodes& nodes, node hole) noexcept {
        const auto offset = nodes.offset(hole);
        node* at = &root_;
        while (*at != hole) at = child(nodes, *at, offset);
        node lower = nodes.note(hole).lower, higher = nodes.note(hole).higher;
        while (lower != none && higher != none) {
            if (is_over(lower, true, higher)) {
                *at = lower;
                at = &nodes.note(lower).higher;
                lower = *at;
            } else {
                *at = higher;
                at = &nodes.note(higher).lower;
                higher = *at;
            }
        }
        *at = lower != none ? lower : higher;
    }
    /// Returns the last hole that starts at or below an offset; `none` if no hole does.
    template <class Offset>
    [[nodiscard]] constexpr node at_or_below(const Nodes& nodes, Offset offset) const noexcept {
        node found = none;
        for (node at = root_; at != none;) {
            const bool is_higher = nodes.offset(at) > offset;
            if (!is_higher) found = at;
            at = is_higher ? nodes.note(at).lower : nodes.note(at).higher;
        }
        return found;
    }

private:
    [[nodiscard]] static constexpr unsigned rank(node of) noexcept {
        std::uint32_t hash = (of ^ of >> 16) * 0x85EB'CA6BU;
        hash = (hash ^ hash >> 13) * 0xC2B2'AE35U;
        return static_cast<unsigned>(lowest_one((hash ^ hash >> 16) | std::uint32_t{1} << 31));
    }
    /// Returns true if `first` is an ancestor of `second`, given that one of them is.
    [[nodiscard]] static constexpr bool is_over(node first, bool first_is_lower, node second) noexcept {
        const unsigned a = rank(first), b = rank(second);
        return a > b || (a == b && first_is_lower);
    }
    template <class Offset>
    [[nodiscard]] static constexpr node* child(Nodes& nodes, node of, Offset offset) noexcept {
        return offset < nodes.offset(of) ? &nodes.note(of).lower : &nodes.note(of).higher;
    }

    node root_ = none;
};

/// The absence of an index.
struct no_index {};

}  // namespace detail
}  // namespace v1
}  // namespace allot
