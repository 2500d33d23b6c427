// SPDX-License-Identifier: BSL-1.0
// failed_states: a table of states of a search that have no plan.
//
// A state consists of waiting buffers, the lowest possible offset of each, and a rule that their plans follow. It is
// remembered as a fingerprint of 128 bits, in place of an earlier one with the same position in the table.
//
// Complexity: constant. Memory: 16 bytes a state, in an array that the caller provides. Thread safety: none.
#pragma once

#include <allot/plan/detail/search_orders.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// A fingerprint of a state. It does not depend on the order of its buffers.
struct fingerprint {
    std::uint64_t first = 0, second = 0;

    /// Adds a waiting item. Buffers that follow another rule have another `rule`.
    constexpr void add(std::uint64_t item, std::uint64_t lowest, std::uint64_t rule = 0) noexcept {
        const std::uint64_t one =
            mixed((item + 1) * 0x9e3779b97f4a7c15 ^ lowest * 0xd6e8feb86659fd93 ^ rule * 0x5851f42d4c957f2d);
        first += one;
        second += (one ^ one >> 29) * 0xff51afd7ed558ccd;
    }
};

class failed_states {
public:
    constexpr failed_states() noexcept = default;
    /// Remembers as many states as the largest power of two that `most` is not less than.
    constexpr failed_states(std::size_t most, plan_workspace& workspace) noexcept
        : prints_{cut(workspace.u64, 2 * std::bit_floor(most))} {}

    /// Returns whether no state can be remembered.
    [[nodiscard]] constexpr bool is_empty() const noexcept { return prints_.empty(); }
    constexpr void clear() noexcept { set_all(prints_, std::uint64_t{0}); }
    [[nodiscard]] constexpr bool contains(fingerprint print) const noexcept {
        return !is_empty() && prints_[slot(print)] == print.first && prints_[slot(print) + 1] == print.second;
    }
    constexpr void add(fingerprint print) noexcept {
        if (is_empty()) return;
        prints_[slot(print)] = print.first;
        prints_[slot(print) + 1] = print.second;
    }

private:
    [[nodiscard]] constexpr std::size_t slot(fingerprint print) const noexcept {
        return 2 * static_cast<std::size_t>(print.first & (prints_.size() / 2 - 1));
    }

    plan_array<std::uint64_t> prints_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
