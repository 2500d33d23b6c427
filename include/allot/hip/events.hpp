// SPDX-License-Identifier: BSL-1.0
// hip::events: HIP streams as queues, and HIP events as points, for `ordered` (compose/ordered.hpp).
//
//     allot::hip::events line{0};                                   // streams of GPU 0
//     allot::hip::events::point_type freed{};
//     auto error = line.record(producer, freed);                     // after all work that was submitted to it so far
//     if (error == hipSuccess) error = line.wait(consumer, freed);   // its later work starts after the point
//     line.release(freed);
//
// When to use: to reuse memory across HIP streams.
// When not to use: on NVIDIA's GPUs, use cuda/events.hpp. For the default stream of each thread (hipStreamPerThread),
// which cannot identify a queue: create a stream.
//
// gpu/events.hpp describes the rules of devices, default streams, captures and errors. CUDA's events share it. With
// hipcc's option -fgpu-default-stream=per-thread, stream 0 is the default stream of each thread. The calls about
// captures require ROCm 5.
//
// Requires <hip/hip_runtime_api.h> and libamdhip64. The CMake target allot::hip provides both and defines
// __HIP_PLATFORM_AMD__; hipcc is not needed.
//
// Complexity: `record` and `wait` take two runtime calls, `state` three. An event is created, with about four calls,
// only if no point was released before.
// Memory: at most 16 events of released points. A point holds a handle and a flag.
// Thread safety: none for one object. Streams may be used by other threads at the same time.
#pragma once

#include <allot/gpu/events.hpp>
#include <allot/hip/memory.hpp>

namespace allot {
inline namespace v1 {
namespace hip {

/// The table of HIP's runtime for gpu/events.hpp.
struct event_runtime : runtime {
    using event = hipEvent_t;                                                       ///< The runtime's event type.
    using capture_mode = hipStreamCaptureMode;                                      ///< How calls affect captures.
    static constexpr error not_ready = hipErrorNotReady;                            ///< The error for pending work.
    static constexpr error invalid_handle = hipErrorInvalidHandle;                  ///< The error for a wrong stream.
    static constexpr error capture_unsupported = hipErrorStreamCaptureUnsupported;  ///< The error during a capture.
    static constexpr capture_mode relaxed_capture = hipStreamCaptureModeRelaxed;    ///< Permits queries of events.

    /// Returns true for the default stream of each thread.
    static bool is_per_thread(stream order) noexcept {
#ifdef HIP_API_PER_THREAD_DEFAULT_STREAM
        if (order == nullptr) return true;
#endif
        return order == hipStreamPerThread;
    }
    /// Returns true for the default stream of the current device.
    static bool is_of_current_device(stream order) noexcept { return order == nullptr; }
    /// Creates an event that measures no time.
    static error create_event(event* fresh) noexcept { return ::hipEventCreateWithFlags(fresh, hipEventDisableTiming); }
    /// Destroys an event.
    static error destroy_event(event old) noexcept { return ::hipEventDestroy(old); }
    /// Records an event in a stream.
    static error record_event(event point, stream order) noexcept { return ::hipEventRecord(point, order); }
    /// Returns `success`, or `not_ready` if the event's work is not complete.
    static error query_event(event point) noexcept { return ::hipEventQuery(point); }
    /// Waits for an event on the host.
    static error synchronize_event(event point) noexcept { return ::hipEventSynchronize(point); }
    /// Makes a stream wait for an event.
    static error wait_event(stream order, event point) noexcept { return ::hipStreamWaitEvent(order, point, 0); }
    /// Gets whether a stream captures a graph.
    static error is_capturing(stream order, bool* active) noexcept {
        hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
        const error result = ::hipStreamIsCapturing(order, &status);
        *active = status != hipStreamCaptureStatusNone;
        return result;
    }
    /// Exchanges the thread's capture mode.
    static error exchange_capture_mode(capture_mode* mode) noexcept {
        return ::hipThreadExchangeStreamCaptureMode(mode);
    }
};

using events = gpu::events<event_runtime>;  ///< The timeline of the streams of one GPU.

static_assert(timeline<events>);

}  // namespace hip
}  // namespace v1
}  // namespace allot
