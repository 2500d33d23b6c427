// A GPU runtime without a GPU: the common part of the fakes of libcudart and libamdhip64. It enforces the rules. Each
// vendor's fake (../cuda/fake_cudart.cpp, ../hip/fake_amdhip64.cpp) gives these functions its vendor's names. A program
// links the fake in place of the library.
//
//     device memory      pages that the host must not touch: any access is a fault. "Kernels" and copies use a second
//                        mapping of the same pages
//     bases              multiples of 256 and, unless `phase` is set, of a page; each allocation has its own pages
//     copies             of a stream wait like its other work, also copies from host memory
//     a wrong free       fails with the vendor's code and is counted
//     out of memory      out_of_memory, by a limit for each device and one for the host
//     no driver          every call returns the driver's code
//     last error         kept for each thread until get_last_error or, with some vendors, until a call succeeds; after
//                        a fault, all calls fail with it
//     streams            work executes when the program waits for it. Kernels may use memory of malloc_async only
//                        between its allocation and its free in the order of work; other use is a fault. Freed memory is
//                        available immediately to the same stream, and to other streams after the free has executed.
//                        A test can execute each stream step by step, in any order that the events allow
//     imported memory    takes over an opaque descriptor if the import succeeds; is mapped inside its size; is freed like
//                        device memory, before its object is destroyed
//     events             complete when the work before their record has executed. An event belongs to one device. A
//                        destroyed event or stream is invalid; its pending work still executes
//     captures           of a stream: its work is recorded, not executed. A query of another event and an allocation or
//                        free in the thread's global mode, and a wait for work outside of the graph, end the capture
//                        with an error. A graph executes its recorded work in one order, in the stream of its launch
#pragma once

#include "vendor.hpp"

#include <cstddef>
#include <functional>

namespace fake_gpu {

using error = gpu::error;
using stream = gpu::stream;
using event = gpu::event;

// ── control and inspection by tests ──────────────────────────────────────────────────────────────────────────────────

struct settings {
    int devices = 2;
    std::size_t memory = std::size_t{64} << 20;  // bytes of each device, and of the host
    std::size_t phase = 0;                       // bytes between a page boundary and every base
    error driver = gpu::success;                 // the result of every call, unless it is `success`
    bool peers = true;                           // devices can access each other's memory
    unsigned char uuid = 1;                      // the first byte of device 0; device 1 has the next number
};

/// Starts a new process on such a machine. No allocation exists and no work is pending.
void start(const settings& machine = {});

/// Makes the next allocation fail with this error.
void refuse_next(error reason);

/// Enqueues a kernel that works on `size` bytes at `address`. It runs when the program waits for the stream.
void launch(stream order, void* address, std::size_t size, std::function<void(std::byte*)> kernel);

/// Executes the next work of a stream. Returns false if there is none, or if it waits for an event of another stream.
bool step(stream order);
/// Makes all later calls fail with this error, as after a fault of a kernel.
void lose_devices(error reason);
/// Makes the next call about an event or a capture fail with this error.
void refuse_next_event_call(error reason);
/// Counts of calls about events since the start.
struct event_calls {
    std::size_t creations = 0, records = 0, waits = 0, queries = 0;
};
[[nodiscard]] event_calls calls();

/// Returns the number of events that exist.
[[nodiscard]] std::size_t events();
/// Enqueues work that uses no memory of the machine.
void enqueue(stream order, std::function<void()> work);

/// Makes the next mapping of imported memory fail with this error.
void refuse_next_mapping(error reason);
/// Returns the number of objects of imported memory.
[[nodiscard]] std::size_t imports();
/// Returns the number of allocations that are not freed.
[[nodiscard]] std::size_t live();
/// Returns the number of invalid frees.
[[nodiscard]] std::size_t wrong_frees();
/// Returns the bytes of a device that are in use.
[[nodiscard]] std::size_t in_use(int device);
/// Returns true if this device has a context.
[[nodiscard]] bool has_context(int device);

// ── the runtime's functions ──────────────────────────────────────────────────────────────────────────────────────────

/// Makes this the last error of all later calls in this thread.
error answered(error what);
error get_last_error();
error peek_at_last_error();

error get_device_count(int* count);
error get_device(int* device);
error set_device(int device);

enum class kind { device, pinned, managed, async };
error malloc_device(void** address, std::size_t size);
error malloc_host(void** address, std::size_t size);
error malloc_managed(void** address, std::size_t size, bool flags_are_right);
error malloc_async(void** address, std::size_t size, stream order);
error free_device(void* address);
error free_host(void* address);
error free_async(void* address, stream order);

error stream_create(stream* fresh);
error stream_synchronize(stream order);
error stream_destroy(stream old);
error device_synchronize();

error event_create(event* fresh);
error event_destroy(event old);
error event_record(event point, stream order);
error event_query(event point);
error event_synchronize(event point);
error stream_wait_event(stream order, event point);
/// What a call for another event does during a capture, for each thread.
enum class capture_mode { global, thread_local_only, relaxed };
error exchange_capture_mode(capture_mode* mode);
error begin_capture(stream order, capture_mode mode);
/// The work of a capture.
struct graph_work;
/// Ends a capture, and makes a graph of its work and of that of the streams that joined it.
error end_capture(stream order, graph_work** graph);
/// Makes another graph of the same work.
error copy_graph(graph_work** copy, const graph_work* graph);
error destroy_graph(graph_work* graph);
/// Enqueues the work of a graph.
error launch_graph(const graph_work* graph, stream order);
error is_capturing(stream order, bool* active);

error memcpy(void* to, const void* from, std::size_t size);
error memcpy_async(void* to, const void* from, std::size_t size, stream order);
error memset(void* to, int value, std::size_t size);
error mem_get_info(std::size_t* left, std::size_t* total);
error can_access_peer(int* can, int device, int peer);

/// Memory of another driver.
struct imported;
error import_memory(imported** fresh, int descriptor, std::size_t size, bool kind_is_right);
error map_imported(void** address, imported* of, std::size_t offset, std::size_t size);
error destroy_imported(imported* gone);
error get_uuid(unsigned char* to, int device);

/// The device of an address; `found` is false for an unknown address.
struct owner {
    bool found = false;
    fake_gpu::kind kind = kind::device;
    int device = 0;
};
error get_owner(owner* of, const void* address);

}  // namespace fake_gpu
