// SPDX-License-Identifier: BSL-1.0
// moves_problem: buffers that may leave a fast memory and come back: what `plan_moves` is asked, and what it answers.
//
//     accesses   w  r                r  r       A buffer is one piece for its life; or it has a home in a slower
//     fast       ████                ████       memory, and visits to a faster one around some of its accesses. It is
//     home          ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒          copied in where a visit begins, unless it is written there first, and
//                  out              in          out where one ends, if it was written there and is read again. A home
//                                               lasts from the first copy out, or from where the buffer came with
//                                               contents, to the last copy in or access.
//
// An access is a use of the whole buffer at a step of its life. One that writes replaces all contents; what is changed
// in part is read and written at that step. Reads come before writes at a step. A buffer that is read before it was
// written came with contents: they are expected in the first of its pieces. What has to be there at the end is read
// there.
//
// An access costs the buffer's size times the cost of the memory where it happens; a copy costs it times the sum of
// both memories' costs. A copy happens before or after the accesses of its step, and both pieces live throughout that
// step: copies of one step, before or after, may be done in any order, and at once.
//
// Steps are the caller's, as those of lifetimes; sizes are bytes. Everything that is asked is a view of arrays of the
// caller's; everything that is answered is named by its index.
#pragma once

#include <allot/plan/memories_problem.hpp>

namespace allot {
inline namespace v1 {

struct plan_access {
    std::size_t buffer = 0;
    std::int64_t step = 0;
    bool writes = false;
};

struct moves_problem {
    memories_problem memories;                // without uses: those are the accesses
    std::span<const plan_access> accesses{};  // in any order
};

/// A buffer for some time in one place.
struct plan_piece {
    std::size_t buffer = 0;
    lifetime live{};
    memory_place place{};
    friend constexpr bool operator==(const plan_piece&, const plan_piece&) = default;
};

/// All bytes of a buffer, from one of its pieces to another.
struct plan_copy {
    std::size_t buffer = 0;
    std::int64_t step = 0;
    bool after = false;  // the accesses of that step; or before them
    std::size_t from = 0;
    std::size_t to = 0;
    std::uint64_t size = 0;
    friend constexpr bool operator==(const plan_copy&, const plan_copy&) = default;
};

/// A plan, but for its pieces and copies. Where it is infeasible or out of budget, some buffers are nowhere: they cost
/// nothing here, and nothing is moved.
struct moves_summary {
    plan_status status = plan_status::optimal;
    std::uint64_t cost = 0;        // of accesses and copies
    std::uint64_t bound = 0;       // no plan costs less
    std::uint64_t whole_cost = 0;  // of the plan in which each buffer stays where it is all of its life
    std::uint64_t copied = 0;      // bytes, of all copies
    std::uint64_t spilled = 0;     // bytes of buffers that are not always in the first memory
    std::uint64_t unplaced = 0;    // buffers that are nowhere
    std::size_t which = 0;         // infeasible: a buffer that fits no memory that is allowed; otherwise their number
    friend constexpr bool operator==(const moves_summary&, const moves_summary&) = default;
};

struct moves_plan : moves_summary {
    std::vector<plan_piece> pieces;     // by buffer, and the first of each is where its first contents are
    std::vector<plan_copy> copies;      // in order of time
    std::vector<std::size_t> piece_of;  // for each access
    std::vector<memory_needs> needs;    // of each memory
};

namespace detail {

[[nodiscard]] constexpr plan_error check_moves(const moves_problem& problem) noexcept {
    const memories_problem& given = problem.memories;
    if (const plan_error error = check_memories(given); error.reason != plan_refusal::none) return error;
    if (!given.uses.empty()) return {plan_refusal::unsupported, 0};
    for (std::size_t a = 0; a != problem.accesses.size(); ++a) {
        const plan_access& access = problem.accesses[a];
        if (access.buffer >= given.buffers.buffers.size()) return {plan_refusal::no_such_buffer, access.buffer};
        const auto is_in = [&](lifetime live) { return live.from <= access.step && access.step < live.until; };
        bool lives = is_in(given.buffers.buffers[access.buffer].live);
        for (std::size_t r = 0; !lives && r != given.buffers.revivals.size(); ++r)
            lives = given.buffers.revivals[r].buffer == access.buffer && is_in(given.buffers.revivals[r].live);
        if (!lives) return {plan_refusal::outside_lifetime, a};
    }
    return {};
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
