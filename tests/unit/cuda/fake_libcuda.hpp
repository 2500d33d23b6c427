// A CUDA driver without a GPU: the functions of libcuda.so.1 that cuda::virtual_memory and its tests call. The driver
// enforces the rules. It is a library of that name; dlopen returns it in a program that links it.
//
//     order              cuInit precedes all other calls
//     sizes, addresses   multiples of the granularity; of a page for address reservations
//     a range            is freed as it was reserved, and only without mappings
//     a mapping          is inside a range, on memory of its size; is undone as a whole, which ends all access
//     memory             exists until its handle is released and its mappings are undone
//     exports            need memory that was created for them; an address range is exported as it was mapped
//     bytes              cuMemsetD8 and cuMemcpyDtoH need cuMemSetAccess for the device of the current context; the
//                        host has no access: any access to a reserved range is a fault
//     contexts           retained contexts are counted. Releasing one while its device has mapped memory is a wrong
//                        call, and so is waiting without a context
//     kernels            run when the program waits for their device; they fault if their memory is already unmapped
//
// A call that breaks a rule fails as with the driver and is counted.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace fake_libcuda {

struct settings {
    int devices = 2;
    std::size_t memory = std::size_t{256} << 20;  // bytes of each device
    std::size_t granularity = std::size_t{2} << 20;
    bool virtual_memory = true;      // the value of the devices' attribute
    bool descriptors = true;         // exports opaque descriptors
    bool dma_buffers = true;         // exports DMA buffers
    std::size_t misalign = 0;        // the distance of every range from an aligned address
    CUresult driver = CUDA_SUCCESS;  // the result of cuInit
};

/// Starts a new process on such a machine. No resource is held.
void start(const settings& machine = {});

/// Makes the `count`-th later call that acquires a resource fail with this error; 1 is the next call.
void refuse_call(std::size_t count, CUresult error);
/// The same for calls that undo a mapping.
void refuse_unmap(std::size_t count, CUresult error);
/// Returns true if the failure is still to come.
[[nodiscard]] bool is_refusal_pending();

/// Enqueues a kernel that writes `value` to `size` bytes at `address` when the program waits for its device.
void launch(int device, CUdeviceptr address, std::size_t size, unsigned char value);

/// Returns the number of ranges, mappings, handles, memories and contexts that are still held.
[[nodiscard]] std::size_t held();
/// Returns the number of descriptors that the program closed although they belong to the driver.
[[nodiscard]] std::size_t lost_descriptors();
/// Returns the number of calls that broke a rule, and of kernels whose memory was unmapped.
[[nodiscard]] std::size_t wrong_calls();
/// Returns the bytes of a device that are in use.
[[nodiscard]] std::size_t in_use(int device);
/// Returns the bytes of reserved addresses.
[[nodiscard]] std::size_t reserved();
/// Returns true if the address is reserved.
[[nodiscard]] bool is_reserved(const void* address);

}  // namespace fake_libcuda
