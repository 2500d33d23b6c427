// SPDX-License-Identifier: BSL-1.0
// timeline: the concept of the queues of a driver and of the points on them, for `ordered` (compose/ordered.hpp).
//
//     queue    ──work──work──●──work──►        ● a point: it passes when all work before it is done
//                            │
//     other    ──work────────┴──work──►        `wait(other, point)`: later work of `other` starts after the point
//
// A queue runs work: a CUDA stream, an OpenCL command queue, a Vulkan queue, a host thread. `record` makes a point
// after all work that was submitted to a queue so far, and after all points that the queue waits for. A point passes
// once and then remains passed.
//
// When to use: to write a timeline for a driver that allot does not support.
// When not to use: to allocate. Use `ordered`.
//
// Complexity and memory: none, because a concept is checked at compile time. Each timeline states those of its calls.
// Thread safety: stated by each timeline.
#pragma once

#include <concepts>

namespace allot {
inline namespace v1 {

/// State of a point.
enum class point_state : unsigned char {
    passed,   ///< All work before the point is done.
    pending,  ///< Work before the point may still run.
    failed,   ///< The driver cannot tell, because the device is lost or a call failed.
};

/// A driver's queues and points.
///
/// - `queue_type` identifies a queue. It is cheap to copy.
/// - `point_type` holds a recorded point, or is empty. It does not release anything when it is destroyed.
/// - `error_type` is the driver's error. A value-initialized error means success.
/// - `record(queue, point)` makes `point` the point after all work that was submitted to the queue so far and after all
///   points that the queue waits for, also if no work was submitted after the wait. A point that was used before is
///   reused. On failure, the point stays as it was.
/// - `wait(queue, point)` makes work that is submitted to the queue later start after the point.
/// - `barrier(queue)` makes work that is submitted to the queue later start after all its earlier work. It is called
///   only for queues that are not in order.
/// - `in_order(queue)` returns true if the work of a queue runs in the order of its submission, so that a later command
///   can reuse the memory of an earlier one without a wait.
/// - `state(point)` returns the state of a point without waiting.
/// - `wait_on_host(point)` blocks the calling thread until the point passes.
/// - `release(point)` returns the resources of a point to the driver and makes the point empty.
template <class Type>
concept timeline = std::movable<Type> && std::movable<typename Type::point_type> &&
                   std::default_initializable<typename Type::point_type> &&
                   requires(Type& line, const Type& known, typename Type::queue_type queue,
                            typename Type::point_type& point, const typename Type::point_type& recorded) {
                       requires std::equality_comparable<typename Type::error_type>;
                       { line.record(queue, point) } noexcept -> std::same_as<typename Type::error_type>;
                       { line.wait(queue, recorded) } noexcept -> std::same_as<typename Type::error_type>;
                       { line.barrier(queue) } noexcept -> std::same_as<typename Type::error_type>;
                       { line.wait_on_host(recorded) } noexcept -> std::same_as<typename Type::error_type>;
                       { known.in_order(queue) } noexcept -> std::same_as<bool>;
                       { line.state(recorded) } noexcept -> std::same_as<point_state>;
                       { line.release(point) } noexcept;
                   };

}  // namespace v1
}  // namespace allot
