// SPDX-License-Identifier: BSL-1.0
// problem: what a planner is given: buffers with sizes, alignments and lifetimes, and what else is known of them.
//
//     offset                                       time goes to the right, in steps of the caller's, such as the
//       ▲   ┌───────────┐                          operators of a network. A lifetime is half open: a buffer that
//       │   │     b     │       ┌─────────┐        ends at a step and one that begins there may share bytes.
//       │   ├───────┬───┘  ┌────┤    d    │
//       │   │   a   │      │ c  └─────────┤        a and c share bytes; a and b, which live at once, do not.
//       └───┴───────┴──────┴──────────────┴──► time
//
// A buffer may live more than once, and its bytes are another's in between. So branches are told too: the steps of
// either arm are numbered apart, and a buffer lives in those arms that need it; two that live in different arms share
// bytes.
//
// Everything is a view of arrays of the caller's. Buffers are named by their index.
#pragma once

#include <allot/core/arithmetic.hpp>

#include <span>

namespace allot {
inline namespace v1 {

/// Steps [from, until).
struct lifetime {
    std::int64_t from = 0;
    std::int64_t until = 0;

    [[nodiscard]] constexpr bool overlaps(lifetime other) const noexcept {
        return from < other.until && other.from < until;
    }
    friend constexpr bool operator==(lifetime, lifetime) = default;
};

/// Bytes that are needed for some time, at an offset that is a multiple of `align`, a power of two.
struct plan_buffer {
    std::uint64_t size = 0;
    lifetime live{};
    std::uint64_t align = 1;
    friend constexpr bool operator==(plan_buffer, plan_buffer) = default;
};

/// A buffer that lives again: one more lifetime of it, apart from its others.
struct plan_revival {
    std::size_t buffer = 0;
    lifetime live{};
};

/// A buffer whose offset is not the planner's to choose.
struct plan_fixed {
    std::size_t buffer = 0;
    std::uint64_t offset = 0;
};

/// Two buffers: of an operator that works in place, or that must be kept apart whatever their lifetimes.
struct plan_pair {
    std::size_t first = 0;
    std::size_t second = 0;
};

/// Bytes that are somebody else's all the time.
struct plan_reserved {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

struct plan_problem {
    std::span<const plan_buffer> buffers;
    std::span<const plan_revival> revivals{};
    std::span<const plan_fixed> fixed{};
    std::span<const plan_pair> together{};  // share one offset, though they may live at once
    std::span<const plan_pair> apart{};     // share no byte, though they may never live at once
    std::span<const plan_reserved> reserved{};
};

}  // namespace v1
}  // namespace allot
