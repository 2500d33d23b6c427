// A CUDA driver without a GPU: the functions of libcuda.so.1 that cuda::virtual_memory and its tests call, with the
// driver's rules enforced. It is built as a library of that name, which dlopen then finds in a program that links it.
//
//     order              cuInit before anything else
//     sizes, addresses   multiples of the granularity; of a page where addresses are reserved
//     a range            is freed as it was reserved, and not while something is mapped in it
//     a mapping          lies in a range, on memory of its size; is undone as it was made, and ends all access
//     memory             counts until its handle is released and its mappings are undone
//     bytes              cuMemsetD8 and cuMemcpyDtoH reach them where cuMemSetAccess let the current context's device;
//                        the host does not: any touch of a reserved range is a fault
//     contexts           retained ones are counted. One that ends while a device has memory mapped is a wrong call, and
//                        so is waiting without one
//     kernels            work when someone waits for their device; memory that is unmapped before is a fault of theirs
//
// Whatever breaks a rule is refused as the driver would, and counted.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace fake_libcuda {

struct settings {
    int devices = 2;
    std::size_t memory = std::size_t{256} << 20;  // bytes of each device
    std::size_t granularity = std::size_t{2} << 20;
    bool virtual_memory = true;      // what the devices' attribute says
    std::size_t misalign = 0;        // bytes between an aligned address and every range
    CUresult driver = CUDA_SUCCESS;  // what cuInit answers
};

/// A new process on a machine like that. Nothing is held.
void start(const settings& machine = {});

/// The `count`-th call from now, of those that give something, is refused with this; 1 is the next.
void refuse_call(std::size_t count, CUresult error);
/// The same for the calls that undo a mapping.
void refuse_unmap(std::size_t count, CUresult error);
/// Whether what was to be refused has not been yet.
[[nodiscard]] bool is_refusal_pending();

/// A kernel on `size` bytes at `address`, which writes `value` there when someone waits for its device.
void launch(int device, CUdeviceptr address, std::size_t size, unsigned char value);

/// Ranges, mappings, handles, memory and contexts that were not given back.
[[nodiscard]] std::size_t held();
/// Calls that broke a rule, and kernels whose memory was gone.
[[nodiscard]] std::size_t wrong_calls();
/// Bytes of a device that are in use.
[[nodiscard]] std::size_t in_use(int device);
/// Bytes of addresses that are reserved.
[[nodiscard]] std::size_t reserved();

}  // namespace fake_libcuda
