// SPDX-License-Identifier: BSL-1.0
// moves_problem: the input and the result of planning with several memories when buffers may move between them.
//
//     static constexpr allot::plan_buffer tensors[] = {{.size = 600, .live = {0, 10}}, {.size = 800, .live = {3, 7}}};
//     static constexpr allot::plan_memory chip[] = {{.capacity = 1000}, {.cost = 1}};
//     static constexpr allot::plan_access used[] = {{0, 0, true}, {0, 1}, {1, 3, true}, {1, 6}, {0, 9}};
//     const allot::moves_problem network{{.buffers = {.buffers = tensors}, .memories = chip}, used};
//
//     accesses   w  r                r  r       A buffer is either one piece for its whole life, or it has a home in a
//     fast       ████                ████       slower memory and visits a faster one around some of its accesses. It
//     home          ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒          is copied in when a visit begins, unless the visit writes it first. It
//                  out              in          is copied out when a visit ends, if the visit wrote it and a later
//                                               access reads it. A home lasts from the first copy out, or from the
//                                               beginning of a buffer that comes with contents, to the last copy in or
//                                               access.
//
// An access uses the whole buffer at one step of its life. A write replaces all contents. Represent a partial update as
// a read and a write at the same step. At each step, reads precede writes. A buffer that is read before it is written
// comes with contents. The plan expects them in the first of its pieces. To keep contents until the end, read them
// there.
//
// A buffer with several lifetimes does not move, and its contents last until the end of a lifetime, because other
// buffers may use its bytes between two lifetimes. If the first access of a lifetime is a read, the caller provides the
// contents, as at the beginning of a branch. To keep contents, use one long lifetime. The buffer may then move.
//
// An access costs the buffer's size times the cost of the memory where it happens. A copy costs the size times the sum
// of both memories' costs. A copy happens before or after the accesses of its step, and both pieces live throughout
// that step. Therefore the copies before the accesses of one step may run in any order or concurrently, and so may the
// copies after them.
//
// The caller chooses the steps, as for lifetimes. Sizes are in bytes. A problem consists of views: the caller owns all
// arrays. The result refers to buffers, accesses and pieces by index.
//
// When to use: as the input of `plan_moves` and `validate_moves`, when the steps of all accesses are known.
// When not to use: buffers stay in one memory (`memories_problem`).
//
// Complexity: plain data. The check of a problem is O(n + memories + accesses × (1 + revivals)).
// Memory: views in a problem. `moves_plan` stores its pieces and copies on the heap.
// Thread safety: any number of concurrent readers.
#pragma once

#include <allot/plan/memories_problem.hpp>

namespace allot {
inline namespace v1 {

/// One use of a whole buffer.
struct plan_access {
    std::size_t buffer = 0;  ///< Index of the buffer.
    std::int64_t step = 0;   ///< Step of the access, in a lifetime of the buffer.
    bool writes = false;     ///< Whether the access replaces all contents. Otherwise it reads them.
};

/// A planning problem with several memories and moves between them.
struct moves_problem {
    memories_problem memories;                ///< Buffers and memories, without `uses`: the accesses replace them.
    std::span<const plan_access> accesses{};  ///< All accesses, in any order.
};

/// A buffer at one place for one interval of steps.
struct plan_piece {
    std::size_t buffer = 0;  ///< Index of the buffer.
    lifetime live{};         ///< Steps during which the buffer occupies the place.
    memory_place place{};    ///< Memory, offset and size.
    /// Compares all members.
    friend constexpr bool operator==(const plan_piece&, const plan_piece&) = default;
};

/// A copy of all bytes of a buffer from one of its pieces to another.
struct plan_copy {
    std::size_t buffer = 0;  ///< Index of the buffer.
    std::int64_t step = 0;   ///< Step of the copy.
    bool after = false;      ///< Whether the copy follows the accesses of that step. Otherwise it precedes them.
    std::size_t from = 0;    ///< Index of the source piece.
    std::size_t to = 0;      ///< Index of the destination piece.
    std::uint64_t size = 0;  ///< Number of bytes.
    /// Compares all members.
    friend constexpr bool operator==(const plan_copy&, const plan_copy&) = default;
};

/// Properties of a plan with moves, without its pieces and copies. A plan that is `infeasible` or `out_of_budget` has
/// unplaced buffers, which do not count in `cost`, and no copies.
struct moves_summary {
    plan_status status = plan_status::optimal;  ///< Quality of the plan.
    std::uint64_t cost = 0;                     ///< Sum of the costs of all accesses and copies.
    std::uint64_t bound = 0;                    ///< Lower bound on the cost of every plan.
    /// Cost of the plan without moves, in which each buffer keeps one place. Its unplaced buffers do not count, even if
    /// this plan places them.
    std::uint64_t whole_cost = 0;
    std::uint64_t copied = 0;    ///< Bytes that all copies transfer.
    std::uint64_t spilled = 0;   ///< Bytes of buffers that are in a memory other than the first at some time.
    std::uint64_t unplaced = 0;  ///< Number of unplaced buffers.
    std::size_t which = 0;       ///< A buffer that fits none of its allowed memories, or the number of buffers.
    /// Compares all members.
    friend constexpr bool operator==(const moves_summary&, const moves_summary&) = default;
};

/// A plan with moves that stores its pieces and copies on the heap.
struct moves_plan : moves_summary {
    std::vector<plan_piece> pieces;     ///< Ordered by buffer. The first piece of a buffer holds its first contents.
    std::vector<plan_copy> copies;      ///< In order of time.
    std::vector<std::size_t> piece_of;  ///< Index of the piece that each access uses.
    std::vector<memory_needs> needs;    ///< Requirements on each memory.
};

namespace detail {

/// Returns the first error of `problem`, or an error with the reason `none` if the problem is valid.
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
