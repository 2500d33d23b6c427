// SPDX-License-Identifier: BSL-1.0
// cuda::events: CUDA streams as queues, and CUDA events as points, for `ordered` (compose/ordered.hpp).
//
//     allot::cuda::events line{0};                                   // streams of GPU 0
//     allot::cuda::events::point_type freed{};
//     auto error = line.record(producer, freed);                     // after all work that was submitted to it so far
//     if (error == cudaSuccess) error = line.wait(consumer, freed);   // its later work starts after the point
//     line.release(freed);
//
// When to use: to reuse memory across CUDA streams.
// When not to use: on AMD's GPUs, use hip/events.hpp. For the default stream of each thread (cudaStreamPerThread),
// which cannot identify a queue: create a stream.
//
// gpu/events.hpp describes the rules of devices, default streams, captures and errors. HIP's events share it.
// cudaStreamLegacy (1) means stream 0. With nvcc's option --default-stream per-thread, stream 0 is the default stream
// of each thread.
//
// Requires <cuda_runtime_api.h> and libcudart, which the CMake target allot::cuda provides; nvcc is not needed.
//
// Complexity: `record` and `wait` take two runtime calls, `state` three. An event is created, with about four calls,
// only if no point was released before.
// Memory: at most 16 events of released points. A point holds a handle and a flag.
// Thread safety: none for one object. Streams may be used by other threads at the same time.
#pragma once

#include <allot/cuda/memory.hpp>
#include <allot/gpu/events.hpp>

namespace allot {
inline namespace v1 {
namespace cuda {

/// The table of CUDA's runtime for gpu/events.hpp.
struct event_runtime : runtime {
    using event = cudaEvent_t;                                                       ///< The runtime's event type.
    using capture_mode = cudaStreamCaptureMode;                                      ///< How calls affect captures.
    static constexpr error not_ready = cudaErrorNotReady;                            ///< The error for pending work.
    static constexpr error invalid_handle = cudaErrorInvalidResourceHandle;          ///< The error for a wrong stream.
    static constexpr error capture_unsupported = cudaErrorStreamCaptureUnsupported;  ///< The error during a capture.
    static constexpr capture_mode relaxed_capture = cudaStreamCaptureModeRelaxed;    ///< Permits queries of events.

    /// Returns true for the default stream of each thread.
    static bool is_per_thread(stream order) noexcept {
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
        if (order == nullptr) return true;
#endif
        return order == cudaStreamPerThread;
    }
    /// Returns true for the default stream of the current device.
    static bool is_of_current_device(stream order) noexcept { return order == nullptr || order == cudaStreamLegacy; }
    /// Creates an event that measures no time.
    static error create_event(event* fresh) noexcept {
        return ::cudaEventCreateWithFlags(fresh, cudaEventDisableTiming);
    }
    /// Destroys an event.
    static error destroy_event(event old) noexcept { return ::cudaEventDestroy(old); }
    /// Records an event in a stream.
    static error record_event(event point, stream order) noexcept { return ::cudaEventRecord(point, order); }
    /// Returns `success`, or `not_ready` if the event's work is not complete.
    static error query_event(event point) noexcept { return ::cudaEventQuery(point); }
    /// Waits for an event on the host.
    static error synchronize_event(event point) noexcept { return ::cudaEventSynchronize(point); }
    /// Makes a stream wait for an event.
    static error wait_event(stream order, event point) noexcept { return ::cudaStreamWaitEvent(order, point, 0); }
    /// Gets whether a stream captures a graph.
    static error is_capturing(stream order, bool* active) noexcept {
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        const error result = ::cudaStreamIsCapturing(order, &status);
        *active = status != cudaStreamCaptureStatusNone;
        return result;
    }
    /// Exchanges the thread's capture mode.
    static error exchange_capture_mode(capture_mode* mode) noexcept {
        return ::cudaThreadExchangeStreamCaptureMode(mode);
    }
};

using events = gpu::events<event_runtime>;  ///< The timeline of the streams of one GPU.

static_assert(timeline<events>);

}  // namespace cuda
}  // namespace v1
}  // namespace allot
