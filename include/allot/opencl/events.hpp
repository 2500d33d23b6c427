// SPDX-License-Identifier: BSL-1.0
// opencl::events: OpenCL command queues as queues, and OpenCL events as points, for `ordered` (compose/ordered.hpp).
//
//     allot::opencl::events line;
//     allot::opencl::events::point_type freed{};
//     cl_int error = line.record(producer(), freed);                        // after all commands in the queue so far
//     if (error == CL_SUCCESS) error = line.wait(consumer(), freed);        // its later commands start after the point
//     line.release(freed);
//
//     producer ──command──●──command──►      ● the event of a marker
//                         │
//     consumer ──command──┴──command──►      ┴ a barrier behind it
//
// When to use: to reuse memory across OpenCL queues of one context, or in an out-of-order queue.
// When not to use: across contexts. OpenCL has no events between contexts: `wait` fails with CL_INVALID_CONTEXT (-34).
//
// The code relies on these rules of OpenCL (specification 3.0). They hold for in-order and for out-of-order queues:
//   - clEnqueueMarkerWithWaitList without a list returns an event that completes after all earlier commands of its
//     queue.
//   - clEnqueueBarrierWithWaitList without a list makes later commands of the queue wait for all earlier ones. With a
//     list it makes them wait for the events of the list. In an out-of-order queue, PoCL 3.1 then forgets an earlier
//     barrier. Therefore `wait` enqueues a marker there, which waits for the event, and a barrier without a list.
//   - A command of another queue may wait for an event only if the queue of the event is flushed (clFlush). `record`
//     flushes.
//   - A query of an event (clGetEventInfo) is no synchronization point: the results of a complete command may be
//     invisible to other commands. clWaitForEvents is one. Therefore `state` calls it for a complete event.
//   - A command that waits for a failed event fails. `wait` checks this first, and returns the event's error.
//
// Points are counted references: `adopt` retains an event, and `release` releases it. A user event can be a point, for
// example of a part of the program that runs on the host. The owner of an adopted event flushes its queue.
//
// Complexity: `record` and `state` take two driver calls, `wait` three or four, the other functions one.
// Memory: no state. A point holds an event.
// Thread safety: that of the driver. Any thread may use the object and all queues. One thread at a time uses a point.
#pragma once

#include <allot/core/timeline.hpp>

#include <CL/opencl.hpp>

#include <utility>

namespace allot {
inline namespace v1 {
namespace opencl {

/// The timeline of command queues, in order or out of order.
class events {
public:
    using queue_type = cl_command_queue;  ///< A command queue.
    using error_type = cl_int;            ///< OpenCL's error codes.

    /// A reference to an event, or none.
    struct point_type {
        cl_event event = nullptr;  ///< The event, or null.

        /// Returns true if there is an event.
        [[nodiscard]] explicit operator bool() const noexcept { return event != nullptr; }
    };

    /// Returns the point of an event of another library, and retains the event. Returns an empty point for an invalid
    /// event.
    [[nodiscard]] static point_type adopt(cl_event event) noexcept {
        return ::clRetainEvent(event) == CL_SUCCESS ? point_type{event} : point_type{};
    }

    /// Makes `point` the point after all commands in the queue so far, and flushes the queue. Fails with OpenCL's code;
    /// `point` is then unchanged.
    [[nodiscard]] error_type record(queue_type queue, point_type& point) noexcept {
        cl_event marker = nullptr;
        error_type error = ::clEnqueueMarkerWithWaitList(queue, 0, nullptr, &marker);
        if (error != CL_SUCCESS) return error;
        error = ::clFlush(queue);
        point_type old{marker};
        if (error == CL_SUCCESS) std::swap(point, old);
        release(old);
        return error;
    }

    /// Makes commands that are enqueued later start after the point. Fails with the error of a point that has failed,
    /// or with OpenCL's code.
    [[nodiscard]] error_type wait(queue_type queue, const point_type& point) noexcept {
        if (!point) return CL_SUCCESS;
        cl_int status = CL_COMPLETE;
        if (const error_type error = get_status(point, status); error != CL_SUCCESS) return error;
        if (status < 0) return status;
        if (in_order(queue)) return ::clEnqueueBarrierWithWaitList(queue, 1, &point.event, nullptr);
        const error_type error = ::clEnqueueMarkerWithWaitList(queue, 1, &point.event, nullptr);
        return error == CL_SUCCESS ? barrier(queue) : error;
    }

    /// Makes commands that are enqueued later start after all earlier ones. Fails with OpenCL's code.
    [[nodiscard]] error_type barrier(queue_type queue) noexcept {
        return ::clEnqueueBarrierWithWaitList(queue, 0, nullptr, nullptr);
    }

    /// Blocks the calling thread until the point passes. Fails with OpenCL's code: -14,
    /// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, for a point that fails.
    [[nodiscard]] error_type wait_on_host(const point_type& point) noexcept {
        return point ? ::clWaitForEvents(1, &point.event) : CL_SUCCESS;
    }

    /// Returns true if the queue was created without CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE.
    [[nodiscard]] bool in_order(queue_type queue) const noexcept {
        cl_command_queue_properties properties = 0;
        const cl_int error =
            ::clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, nullptr);
        return error == CL_SUCCESS && (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
    }

    /// Returns the state of a point. An empty point has passed.
    [[nodiscard]] point_state state(const point_type& point) const noexcept {
        if (!point) return point_state::passed;
        cl_int status = CL_COMPLETE;
        if (get_status(point, status) != CL_SUCCESS || status < 0) return point_state::failed;
        if (status != CL_COMPLETE) return point_state::pending;
        return ::clWaitForEvents(1, &point.event) == CL_SUCCESS ? point_state::passed : point_state::failed;
    }

    /// Releases the event of the point. The point becomes empty.
    void release(point_type& point) noexcept {
        const point_type old = std::exchange(point, point_type{});
        if (old) ::clReleaseEvent(old.event);
    }

private:
    [[nodiscard]] static cl_int get_status(const point_type& point, cl_int& status) noexcept {
        return ::clGetEventInfo(point.event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
    }
};

static_assert(timeline<events>);

}  // namespace opencl
}  // namespace v1
}  // namespace allot
