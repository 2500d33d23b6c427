// SPDX-License-Identifier: BSL-1.0
// queued_problem: the input and the result of planning for operators that run on several queues.
//
//     const std::size_t queues[] = {0, 1, 0, 1};                          // the queue of each operator, as submitted
//     const allot::queue_wait waits[] = {{.operation = 3, .earlier = 0}}; // operator 3 waits for operator 0
//     const allot::queued_buffer buffers[] = {{.size = 512}, {.size = 512}, {.size = 256}};
//     const allot::queued_use uses[] = {{0, 0}, {0, 2}, {1, 1}, {2, 3}};  // buffer, operator
//     const allot::queued_problem graph{.buffers = buffers, .queues = queues, .waits = waits, .uses = uses};
//
//     queue 0   ──[0]────────[2]──►             The operators of a queue run in their order. Operators of two queues
//                  └────┐                       may run at the same time, unless one waits for the other, directly or
//     queue 1   ──[1]───[3]──►                  with others between. Here 0 runs before 2 and 3, and 1 before 3.
//
// Two buffers may share bytes only if all operators that use one of them run before all that use the other one. So here
// buffer 2 may share bytes with buffer 1, and with no other, because operator 2 may run beside operator 3.
//
// When to use: as the input of `plan_queues` and `validate_queues`.
// When not to use: one queue (`plan_problem`), or requests that are known only at run time (`ordered`).
//
// Complexity: plain data.
// Memory: views in a problem. A plan stores its places on the heap.
// Thread safety: any number of concurrent readers.
#pragma once

#include <allot/plan/plan.hpp>

namespace allot {
inline namespace v1 {

/// A buffer without a lifetime: its uses state it.
struct queued_buffer {
    std::uint64_t size = 0;   ///< Size in bytes.
    std::uint64_t align = 1;  ///< Alignment of the offset in bytes, a power of two.
};

/// An operator waits for one that was submitted earlier: for example an event between two streams.
struct queue_wait {
    std::size_t operation = 0;  ///< Index of the operator that waits.
    std::size_t earlier = 0;    ///< Index of the operator that it waits for. It is smaller.
};

/// An operator uses a buffer.
struct queued_use {
    std::size_t buffer = 0;     ///< Index of the buffer.
    std::size_t operation = 0;  ///< Index of the operator.
};

/// A planning problem with several queues. All members are views of arrays that the caller owns.
struct queued_problem {
    std::span<const queued_buffer> buffers;  ///< Buffers to place.
    std::span<const std::size_t> queues;     ///< Queue of each operator, in the order of submission; at most 64 queues.
    std::span<const queue_wait> waits{};     ///< Waits between operators.
    std::span<const queued_use> uses{};      ///< Uses, in any order. A buffer without uses gets no bytes.
};

/// A plan for several queues. `step` is the operator of the submission with the most live bytes.
struct queued_plan : memory_plan {
    /// Buffers of which no two may share bytes: the heaviest set, if it was computed. No plan is lower than its sum.
    std::vector<std::size_t> heaviest;
};

namespace detail {

/// Returns the first error of `problem`, or an error with the reason `none`.
[[nodiscard]] constexpr plan_error check_queues(const queued_problem& problem) noexcept {
    constexpr std::size_t most = std::size_t{1} << 29;
    if (problem.buffers.size() > most || problem.queues.size() > most || problem.waits.size() > most ||
        problem.uses.size() > most)
        return {plan_refusal::too_many, 0};
    for (const std::size_t queue : problem.queues)
        if (queue >= 64) return {plan_refusal::too_many, 0};
    for (std::size_t i = 0; i != problem.buffers.size(); ++i)
        if (!is_alignment(problem.buffers[i].align)) return {plan_refusal::not_an_alignment, i};
    for (std::size_t i = 0; i != problem.waits.size(); ++i)
        if (problem.waits[i].earlier >= problem.waits[i].operation ||
            problem.waits[i].operation >= problem.queues.size())
            return {plan_refusal::contradiction, i};
    for (std::size_t i = 0; i != problem.uses.size(); ++i) {
        if (problem.uses[i].buffer >= problem.buffers.size())
            return {plan_refusal::no_such_buffer, problem.uses[i].buffer};
        if (problem.uses[i].operation >= problem.queues.size()) return {plan_refusal::outside_lifetime, i};
    }
    return {};
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
