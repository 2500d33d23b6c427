// SPDX-License-Identifier: BSL-1.0
// problem: the input of a planner: buffers with sizes, alignments and lifetimes, and optional constraints.
//
//     static constexpr allot::plan_buffer steps[] = {{.size = 600, .live = {0, 3}, .align = 4},
//                                                    {.size = 300, .live = {2, 5}, .align = 8}};
//     static constexpr allot::plan_pair in_place[] = {{0, 1}};     // both at one offset
//     const allot::plan_problem network{.buffers = steps, .together = in_place};
//
//     offset                                       Time goes to the right. The caller chooses the steps, such as the
//       ▲   ┌───────────┐                          operators of a network. A lifetime is half open: a buffer that
//       │   │     b     │       ┌─────────┐        ends at a step and one that begins there may share bytes.
//       │   ├───────┬───┘  ┌────┤    d    │
//       │   │   a   │      │ c  └─────────┤        a and c share bytes. a and b live at the same time and do not.
//       └───┴───────┴──────┴──────────────┴──► time
//
// A buffer may have several lifetimes. Other buffers may use its bytes in between. This also describes branches: number
// the steps of each branch separately and give a buffer a lifetime in each branch that needs it. Two buffers that live
// in different branches share bytes.
//
// A problem consists of views: the caller owns all arrays. Buffers are named by their index. Sizes, offsets and
// alignments are in bytes.
//
// When to use: as the input of `plan`, `replan`, `plan_pages` and `validate`, and as a part of `memories_problem` and
// `mixed_problem`.
// When not to use: some lifetimes are unknown before the program runs. Use an arena with a strategy instead.
//
// Complexity: plain data. `lifetime::overlaps` is O(1).
// Memory: six spans in a problem. The arrays belong to the caller.
// Thread safety: any number of concurrent readers.
#pragma once

#include <allot/core/arithmetic.hpp>

#include <span>

namespace allot {
inline namespace v1 {

/// A half-open interval of steps, [from, until).
struct lifetime {
    std::int64_t from = 0;   ///< First step.
    std::int64_t until = 0;  ///< First step after the lifetime.

    /// Returns whether both lifetimes have a step in common.
    [[nodiscard]] constexpr bool overlaps(lifetime other) const noexcept {
        return from < other.until && other.from < until;
    }
    /// Compares both bounds.
    friend constexpr bool operator==(lifetime, lifetime) = default;
};

/// A buffer to place: its size, its first lifetime and its alignment.
struct plan_buffer {
    std::uint64_t size = 0;   ///< Size in bytes.
    lifetime live{};          ///< Steps during which the bytes are in use.
    std::uint64_t align = 1;  ///< Alignment of the offset in bytes, a power of two.
    /// Compares all members.
    friend constexpr bool operator==(plan_buffer, plan_buffer) = default;
};

/// An additional lifetime of a buffer. The lifetimes of one buffer do not overlap.
struct plan_revival {
    std::size_t buffer = 0;  ///< Index of the buffer.
    lifetime live{};         ///< Additional lifetime.
};

/// A buffer with a prescribed offset.
struct plan_fixed {
    std::size_t buffer = 0;    ///< Index of the buffer.
    std::uint64_t offset = 0;  ///< Prescribed offset, a multiple of the buffer's alignment.
};

/// Two buffers that a constraint relates. See `plan_problem::together` and `plan_problem::apart`.
struct plan_pair {
    std::size_t first = 0;   ///< Index of the first buffer.
    std::size_t second = 0;  ///< Index of the second buffer.
};

/// A range of bytes that no buffer may use at any time.
struct plan_reserved {
    std::uint64_t offset = 0;  ///< First byte.
    std::uint64_t size = 0;    ///< Number of bytes.
};

/// A planning problem: buffers and constraints. All members are views of arrays that the caller owns.
struct plan_problem {
    std::span<const plan_buffer> buffers;      ///< Buffers to place.
    std::span<const plan_revival> revivals{};  ///< Additional lifetimes of buffers.
    std::span<const plan_fixed> fixed{};       ///< Buffers with prescribed offsets.
    /// Pairs that share one offset, even if both live at the same time. An operator that works in place needs this.
    std::span<const plan_pair> together{};
    /// Pairs that share no byte, even if they never live at the same time.
    std::span<const plan_pair> apart{};
    std::span<const plan_reserved> reserved{};  ///< Ranges that no buffer may use.
};

}  // namespace v1
}  // namespace allot
