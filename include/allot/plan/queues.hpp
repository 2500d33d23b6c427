// SPDX-License-Identifier: BSL-1.0
// queues: plans the memory of operators that run on several queues. Buffers share bytes only when ordered.
//
//     const std::size_t queues[] = {0, 1, 0, 1};                          // the queue of each operator, as submitted
//     const allot::queue_wait waits[] = {{.operation = 3, .earlier = 0}}; // operator 3 waits for operator 0
//     const allot::queued_buffer buffers[] = {{.size = 512}, {.size = 512}, {.size = 256}};
//     const allot::queued_use uses[] = {{0, 0}, {0, 2}, {1, 1}, {2, 3}};  // buffer, operator
//     const auto made = allot::plan_queues({.buffers = buffers, .queues = queues, .waits = waits, .uses = uses});
//     if (!made) …                                                        // made.error()
//     made->places[2].offset; made->peak; made->bound; made->heaviest;
//
//     order of the operators ──► buffers that may run at the same time ──► pairs that are apart ──► `plan`
//                            └─► the heaviest set without an ordered pair ──► the bound
//
// A lifetime is a partial order here: a buffer ends when all queues have passed its last uses. The order of submission
// gives each buffer an interval. Two buffers whose intervals are disjoint, and which may still be in use at the same
// time, are `apart` for the planner of one memory.
//
// Up to 1024 buffers, the bound is exact for the sizes: the heaviest set of buffers of which no two may share bytes, by
// the theorem of Dilworth for weights. `heaviest` has the buffers, so that the bound can be checked.
//
// When to use: the graph and its queues are known in advance, such as streams of a GPU, or a DSP beside a processor,
// and waits are events that the program sets anyway. The plan adds no wait.
// When not to use: one queue (`plan` gives lower plans), or requests that are known at run time (`ordered`).
//
// Complexity: O(n² · queues) for n buffers, `plan`, and up to 1024 buffers a flow on n² pairs.
// Memory: the heap: 16 bytes for each pair that is apart, 8 n² bytes for the bound, and `space_of_plan`.
// Thread safety: pure functions.
#pragma once

#include <allot/plan/detail/queue_order.hpp>
#include <allot/plan/plan.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {

/// Returns a plan for operators on several queues.
///
/// Throws the exceptions of the heap, such as `std::bad_alloc`. Fails like `plan`, with `contradiction` for a wait that
/// is not for an earlier operator, with `outside_lifetime` for a use by an unknown operator, and with `too_many` for
/// more than 64 queues.
template <class Watch = unwatched>
[[nodiscard]] result<queued_plan, plan_error> plan_queues(const queued_problem& problem,
                                                          const plan_options& options = {}, Watch watch = {}) {
    using answer = result<queued_plan, plan_error>;
    if (const plan_error error = detail::check_queues(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    const detail::queue_order order{problem};
    std::vector<std::size_t> used;
    std::vector<plan_buffer> buffers;
    std::vector<std::uint64_t> sizes;
    for (std::size_t i = 0; i != problem.buffers.size(); ++i) {
        if (!order.is_used(i)) continue;
        used.push_back(i);
        buffers.push_back({problem.buffers[i].size, order.life(i), problem.buffers[i].align});
        sizes.push_back(problem.buffers[i].size);
    }
    std::vector<plan_pair> apart;
    for (std::size_t a = 0; a != used.size(); ++a)
        for (std::size_t b = 0; b != a; ++b)
            if (!buffers[a].live.overlaps(buffers[b].live) && !order.is_before(used[a], used[b]) &&
                !order.is_before(used[b], used[a]))
                apart.push_back({a, b});
    auto made = plan({.buffers = buffers, .apart = apart}, options, watch);
    if (!made) return answer::failure(made.error());
    queued_plan result;
    static_cast<plan_summary&>(result) = *made;
    result.places.resize(problem.buffers.size());
    for (std::size_t i = 0; i != used.size(); ++i) result.places[used[i]] = made->places[i];

    constexpr std::size_t exact_at_most = 1024;
    if (used.size() > exact_at_most) return result;
    const detail::heaviest_set heaviest{
        sizes, [&](std::size_t a, std::size_t b) { return order.is_before(used[a], used[b]); }};
    std::uint64_t sum = 0;
    for (const std::size_t i : heaviest.members()) {
        sum += sizes[i];
        if (sizes[i] != 0) result.heaviest.push_back(used[i]);
    }
    result.bound = std::max(result.bound, sum);
    if (result.status == plan_status::feasible && result.peak <= result.bound) result.status = plan_status::optimal;
    if (result.status == plan_status::out_of_budget && result.bound > options.capacity)
        result.status = plan_status::infeasible;
    return result;
}

}  // namespace v1
}  // namespace allot
