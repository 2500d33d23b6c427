// SPDX-License-Identifier: BSL-1.0
// gpu::events: the timeline of the CUDA and HIP runtimes. Queues are streams, and points are events.
//
//     allot::cuda::events line{0};                                   // streams of GPU 0
//     allot::cuda::events::point_type freed{};
//     auto error = line.record(producer, freed);                     // after all work that was submitted to it so far
//     if (error == cudaSuccess) error = line.wait(consumer, freed);   // its later work starts after the point
//     line.release(freed);
//
//     producer ──work──●──work──►            ● an event without time measurement
//                      │
//     consumer ──work──┴──work──►
//
// When to use: with `ordered` (compose/ordered.hpp), to reuse memory across streams. cuda/events.hpp and hip/events.hpp
// fill in the vendor's calls.
// When not to use: by including this header directly. To time work, create events of your own.
//
// The code relies on these rules of both runtimes. Sources: the CUDA runtime API reference, "Event Management",
// "Stream Management" and "Stream synchronization behavior"; the CUDA programming guide, "CUDA Graphs", section
// "Prohibited and Unhandled Operations"; the comments of <hip/hip_runtime_api.h>.
//   - A wait uses the last record of an event at the time of the call. A later record does not change it. Therefore the
//     event of a released point can be recorded again at once. An event may be destroyed before it completes, and its
//     stream may be destroyed before it.
//   - An event and the stream that records it belong to the same device. A stream may wait for an event of another
//     device. Therefore one object serves the streams of one device, and any stream may wait for its points.
//   - Stream 0 means the default stream of the current device. The object makes its device current for such calls.
//   - The default stream of each thread has one handle in all threads, but it is a different stream in each. It cannot
//     identify a queue: `in_order` returns false for it, and all other functions fail with `invalid_handle`. Create a
//     stream instead.
//   - While a stream captures a graph, an event that it records becomes a part of the graph, and a wait for work
//     outside of the graph ends the capture with an error. `record` and `wait` check this first: they fail with
//     `capture_unsupported`, and the capture continues. `capturing` reports this state.
//   - While any stream captures in the global mode, a query of an event ends the capture with an error, unless the
//     thread is in the relaxed mode. `state` and `wait_on_host` select this mode for their call.
//   - The same holds for an allocation and a free. `ordered` selects the relaxed mode when its arena grows or is
//     trimmed.
//   - After a fault of a kernel, all calls fail, and so does every point. A process cannot recover from it.
//
// Complexity: `record` and `wait` take two runtime calls, `state` three. An event is created, with about four calls,
// only if no point was released before.
// Memory: at most 16 events of released points. A point holds a handle and a flag.
// Thread safety: none for one object. Streams may be used by other threads at the same time.
#pragma once

#include <allot/core/timeline.hpp>
#include <allot/gpu/runtime.hpp>

#include <utility>

namespace allot {
inline namespace v1 {
namespace gpu {

/// A vendor's table for events: the calls and codes of `gpu::events` in addition to those of `gpu::runtime`.
template <class Runtime>
concept event_runtime =
    runtime<Runtime> && requires(typename Runtime::error error, typename Runtime::stream stream,
                                 typename Runtime::event event, typename Runtime::capture_mode mode, bool active) {
        error = Runtime::not_ready;            // for an event whose work is not complete
        error = Runtime::invalid_handle;       // for a stream that cannot be a queue
        error = Runtime::capture_unsupported;  // for a stream that captures
        mode = Runtime::relaxed_capture;
        { Runtime::is_per_thread(stream) } noexcept -> std::same_as<bool>;         // a different stream in each thread
        { Runtime::is_of_current_device(stream) } noexcept -> std::same_as<bool>;  // a different stream of each device
        {
            Runtime::create_event(&event)
        } noexcept -> std::same_as<typename Runtime::error>;  // without time measurement
        { Runtime::destroy_event(event) } noexcept -> std::same_as<typename Runtime::error>;
        { Runtime::record_event(event, stream) } noexcept -> std::same_as<typename Runtime::error>;
        { Runtime::query_event(event) } noexcept -> std::same_as<typename Runtime::error>;
        { Runtime::synchronize_event(event) } noexcept -> std::same_as<typename Runtime::error>;
        { Runtime::wait_event(stream, event) } noexcept -> std::same_as<typename Runtime::error>;
        { Runtime::is_capturing(stream, &active) } noexcept -> std::same_as<typename Runtime::error>;
        { Runtime::exchange_capture_mode(&mode) } noexcept -> std::same_as<typename Runtime::error>;
    };

/// The timeline of the streams of one device.
template <event_runtime Runtime>
class events {
public:
    using queue_type = typename Runtime::stream;  ///< A stream.
    using error_type = typename Runtime::error;   ///< The runtime's error codes.
    using event_type = typename Runtime::event;   ///< The runtime's event type.

    /// An event, or none.
    struct point_type {
        event_type event{};    ///< The event, or null.
        bool adopted = false;  ///< The event belongs to another library.

        /// Returns true if there is an event.
        [[nodiscard]] explicit operator bool() const noexcept { return event != event_type{}; }
    };

    /// Permits queries and allocations in this thread while streams capture in the global mode, for the lifetime of the
    /// object.
    class relaxed_capture {
    public:
        /// Selects the relaxed mode.
        relaxed_capture() noexcept { static_cast<void>(Runtime::exchange_capture_mode(&mode_)); }
        relaxed_capture(const relaxed_capture&) = delete;
        relaxed_capture& operator=(const relaxed_capture&) = delete;
        /// Restores the mode.
        ~relaxed_capture() { static_cast<void>(Runtime::exchange_capture_mode(&mode_)); }

    private:
        typename Runtime::capture_mode mode_ = Runtime::relaxed_capture;
    };

    /// Selects device 0.
    events() noexcept = default;
    /// Selects the device of the streams.
    explicit events(int device) noexcept : device_{device} {}
    /// Takes the unused events of `other`, which has none afterwards.
    events(events&& other) noexcept { swap(other); }
    /// Swaps the devices and the unused events.
    events& operator=(events&& other) noexcept {
        swap(other);
        return *this;
    }
    /// Destroys the unused events.
    ~events() {
        while (count_ != 0) destroy(idle_[--count_]);
    }

    /// Returns the point of an event of another library, which keeps the event. The event must exist as long as the
    /// point is used. If it is recorded again, the point moves with it.
    [[nodiscard]] static point_type adopt(event_type event) noexcept { return {event, true}; }

    /// Makes `point` the point after all work that was submitted to the stream so far. Uses the event of the point, or
    /// one of a released point, or creates one. Fails with the runtime's error; `point` is then unchanged.
    [[nodiscard]] error_type record(queue_type queue, point_type& point) noexcept {
        return on(queue, [&]() noexcept {
            if (point && !point.adopted) return Runtime::record_event(point.event, queue);
            if (count_ == 0)
                if (const error_type error = create(idle_[0]); error != Runtime::success) return error;
            const unsigned last = count_ == 0 ? 0 : count_ - 1;
            count_ = last + 1;
            const error_type error = Runtime::record_event(idle_[last], queue);
            if (error == Runtime::success) point = {idle_[--count_], false};
            return error;
        });
    }

    /// Makes work that is submitted to the stream later start after the point. Fails with the runtime's error.
    [[nodiscard]] error_type wait(queue_type queue, const point_type& point) noexcept {
        if (!point) return Runtime::success;
        return on(queue, [&]() noexcept { return Runtime::wait_event(queue, point.event); });
    }

    /// Fails: streams are in order, except those that cannot be queues.
    [[nodiscard]] error_type barrier(queue_type) noexcept { return Runtime::invalid_handle; }

    /// Blocks the calling thread until the point passes. Fails with the runtime's error.
    [[nodiscard]] error_type wait_on_host(const point_type& point) noexcept {
        if (!point) return Runtime::success;
        const relaxed_capture relaxed;
        return cleared(Runtime::synchronize_event(point.event));
    }

    /// Returns true, except for the default stream of each thread.
    [[nodiscard]] bool in_order(queue_type queue) const noexcept { return !Runtime::is_per_thread(queue); }

    /// Returns the state of a point. An empty point has passed.
    [[nodiscard]] point_state state(const point_type& point) const noexcept {
        if (!point) return point_state::passed;
        const relaxed_capture relaxed;
        const error_type error = cleared(Runtime::query_event(point.event));
        return error == Runtime::success     ? point_state::passed
               : error == Runtime::not_ready ? point_state::pending
                                             : point_state::failed;
    }

    /// Keeps the event of the point for a later record, or destroys it, unless it is adopted. The point becomes empty.
    /// The point is one that this object recorded.
    void release(point_type& point) noexcept {
        const point_type old = std::exchange(point, point_type{});
        if (!old || old.adopted) return;
        if (count_ == most_idle) destroy(old.event);
        else idle_[count_++] = old.event;
    }

    /// Returns true if the stream captures a graph, or if the runtime cannot tell.
    [[nodiscard]] bool capturing(queue_type queue) const noexcept {
        return on(queue, []() noexcept { return Runtime::success; }) != Runtime::success;
    }

    /// Returns the device's ordinal, as the runtime counts.
    [[nodiscard]] int device() const noexcept { return device_; }

private:
    static constexpr unsigned most_idle = 16;

    void swap(events& other) noexcept {
        std::swap(device_, other.device_);
        std::swap(idle_, other.idle_);
        std::swap(count_, other.count_);
    }
    static void destroy(event_type old) noexcept { static_cast<void>(cleared(Runtime::destroy_event(old))); }
    // Clears the runtime's last error, so that the program does not take it for the error of a kernel.
    [[nodiscard]] static error_type cleared(error_type error) noexcept {
        if (error != Runtime::success) static_cast<void>(Runtime::get_last_error());
        return error;
    }
    [[nodiscard]] error_type create(event_type& fresh) const noexcept {
        const current_device<Runtime> there{device_};
        return there.error() != Runtime::success ? there.error() : Runtime::create_event(&fresh);
    }
    [[nodiscard]] static error_type check_capture(queue_type queue) noexcept {
        bool active = false;
        const error_type error = cleared(Runtime::is_capturing(queue, &active));
        return error == Runtime::success && active ? Runtime::capture_unsupported : error;
    }
    // Calls `use` for a stream that does not capture.
    template <class Use>
    [[nodiscard]] error_type on(queue_type queue, Use&& use) const noexcept {
        if (!in_order(queue)) return Runtime::invalid_handle;
        const auto checked = [&]() noexcept {
            const error_type error = check_capture(queue);
            return error == Runtime::success ? cleared(use()) : error;
        };
        if (!Runtime::is_of_current_device(queue)) return checked();
        const current_device<Runtime> there{device_};
        return there.error() == Runtime::success ? checked() : cleared(there.error());
    }

    int device_ = 0;
    unsigned count_ = 0;
    event_type idle_[most_idle]{};  // of released points
};

}  // namespace gpu
}  // namespace v1
}  // namespace allot
