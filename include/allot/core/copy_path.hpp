// SPDX-License-Identifier: BSL-1.0
// copy_path: describes the path of a copy between memories, and lists the copiers that `copy_tensor` accepts.
//
//     opencl::queue_copy{queue}        host ◄──► buffers ◄──► buffers      mapped if the host can, or transferred
//     opencl::import_copy{queue}       host ◄──► buffers                   the device accesses the host's bytes
//     opencl::svm_copy{queue}          host ◄──► shared virtual memory
//     vulkan::mapped_copy{device}      host ◄──► mapped device memory
//     vulkan::command_copy{commands…}  device memory ◄──► device memory    recorded; the caller submits
//     cuda::stream_copy{stream}        host ◄──► devices ◄──► devices      transferred, or peer to peer; also for HIP
//     metal::queue_copy<…>{queue}      host ◄──► buffers ◄──► buffers      by the host if it can, or transferred
//     dma::mapped_copy{device, …}      host ◄──► DMA buffers               the CPU copies; caches are synchronized
//     remote_copy<mpi::window>{}       host ◄──► windows ◄──► windows      between ranks; also for shmem::heap
//     staged_copy{copier, copier, n}   any ──► host bytes ──► any          in pieces of n bytes
//     a function                       (from, to, bytes) noexcept -> long, 0 for success
//
// A copier is an object with these members:
//
//     template <class From, class To> requires …                          // the memories that it can copy between
//     allot::copied copy(From::address_type, To::address_type, std::size_t bytes) noexcept;
//     long finish(allot::copy_path) noexcept;                             // optional: waits for the copies
//
// `From` and `To` are tensors, or types with the same `host_accessible`, `dl_device` and `address_model`. A copier
// that cannot copy the given bytes, for example because they belong to another context, returns `copy_path::none`. The
// caller then tries the next copier.
//
// When to use: to write a copier for a new kind of memory, or to report the path of a copy.
// When not to use: to copy a tensor. Call `copy_tensor` with the copiers above.
//
// Complexity: that of the copier.
// Memory: none.
// Thread safety: the enumeration and the texts are constants. Each copier documents its own.
#pragma once

#include <allot/core/device.hpp>

namespace allot {
inline namespace v1 {

/// The path of a copy, from short to long. When the runs of one copy take different paths, the longest is reported.
enum class copy_path : unsigned char {
    none,         ///< Nothing was copied.
    function,     ///< A function of the caller copied.
    host,         ///< The host copied; it can access both sides.
    mapped,       ///< The host copied while the device's memory was mapped.
    on_device,    ///< A device copied within its memory.
    peer,         ///< A device copied to or from the memory of another device.
    imported,     ///< A device copied to or from the host's bytes in place.
    to_device,    ///< A driver copied from the host's bytes to the device.
    from_device,  ///< A driver copied from the device to the host's bytes.
    staged,       ///< The bytes were copied twice, through a staging buffer of the host.
};

/// Returns a human-readable description of the path.
[[nodiscard]] constexpr const char* to_string(copy_path path) noexcept {
    switch (path) {
        case copy_path::none: return "nothing was copied";
        case copy_path::function: return "by the caller's function";
        case copy_path::host: return "by the host";
        case copy_path::mapped: return "by the host, mapped";
        case copy_path::on_device: return "on the device";
        case copy_path::peer: return "from device to device";
        case copy_path::imported: return "by the device, in the host's bytes";
        case copy_path::to_device: return "to the device";
        case copy_path::from_device: return "from the device";
        case copy_path::staged: return "staged on the host";
    }
    return "unknown";
}

/// The path of a copy, or the error code of the device.
using copied = result<copy_path, long>;

/// Memory whose addresses are pointers. The host need not be able to dereference them.
template <class Memory>
concept pointer_memory = std::convertible_to<typename Memory::address_model::address, const void*>;

/// Memory that the host can access at any time.
template <class Memory>
concept host_memory = pointer_memory<Memory> && Memory::host_accessible;

}  // namespace v1
}  // namespace allot
