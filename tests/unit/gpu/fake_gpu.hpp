// A GPU's runtime without a GPU: what the fakes of libcudart and of libamdhip64 have in common, with the rules enforced.
// Each vendor's fake (../cuda/fake_cudart.cpp, ../hip/fake_amdhip64.cpp) gives these functions its vendor's names; a
// program links that in place of the library.
//
//     device memory      pages that the host must not touch: any touch is a fault. "Kernels" and copies reach them
//                        through a second mapping of the same pages
//     bases              multiples of 256 and, unless `phase` says otherwise, of a page; each has pages of its own
//     copies             of a stream wait like its other work, also those out of the host's bytes
//     a wrong free       is refused with the vendor's code, and it is counted
//     out of memory      out_of_memory, by a limit for each device and one for the host
//     no driver          every call answers with the driver's code
//     last error         kept by thread until get_last_error takes it, or, where the vendor has it so, until a call
//                        succeeds; after a fault, all calls fail with it
//     streams            work waits until someone waits for it. Memory of malloc_async is there, for a kernel, only
//                        between its allocation and its free in the order of work; a kernel elsewhere is a fault.
//                        What a stream freed may be had again on that stream at once, on others when that has happened
#pragma once

#include "vendor.hpp"

#include <cstddef>
#include <functional>

namespace fake_gpu {

using error = gpu::error;
using stream = gpu::stream;

// ── what tests say to the machine, and ask it ────────────────────────────────────────────────────────────────────────

struct settings {
    int devices = 2;
    std::size_t memory = std::size_t{64} << 20;  // bytes of each device, and of the host
    std::size_t phase = 0;                       // bytes between a page boundary and every base
    error driver = gpu::success;                 // what every call answers when it is not this
    bool peers = true;                           // devices reach each other's memory
};

/// A new process on a machine like that. Nothing is live, and nothing waits.
void start(const settings& machine = {});

/// The next allocation fails with this.
void refuse_next(error reason);

/// A kernel that works on `size` bytes at `address`. It runs when someone waits for the stream.
void launch(stream order, void* address, std::size_t size, std::function<void(std::byte*)> kernel);

/// Allocations that were not freed.
[[nodiscard]] std::size_t live();
/// Calls that freed what they must not.
[[nodiscard]] std::size_t wrong_frees();
/// Bytes of a device that are in use.
[[nodiscard]] std::size_t in_use(int device);
/// Whether something made a context on this device.
[[nodiscard]] bool has_context(int device);

// ── the runtime's functions ──────────────────────────────────────────────────────────────────────────────────────────

/// The last error, from now on, is what a call of the runtime's answers here.
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

error memcpy(void* to, const void* from, std::size_t size);
error memcpy_async(void* to, const void* from, std::size_t size, stream order);
error memset(void* to, int value, std::size_t size);
error mem_get_info(std::size_t* left, std::size_t* total);
error can_access_peer(int* can, int device, int peer);

/// Whose memory an address is of; `found` is false where it is nobody's.
struct owner {
    bool found = false;
    fake_gpu::kind kind = kind::device;
    int device = 0;
};
error get_owner(owner* of, const void* address);

}  // namespace fake_gpu
