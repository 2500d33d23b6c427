// SPDX-License-Identifier: BSL-1.0
// copy_path: how bytes went from one memory to another; and the ways of copying that `copy_tensor` is given.
//
//     opencl::queue_copy{queue}        host ◄──► buffers ◄──► buffers      mapped where the host has them, or transferred
//     opencl::import_copy{queue}       host ◄──► buffers                   the device works in the host's bytes
//     opencl::svm_copy{queue}          host ◄──► shared virtual memory
//     vulkan::mapped_copy{device}      host ◄──► mapped device memory
//     vulkan::command_copy{commands…}  device memory ◄──► device memory    recorded; submitted by the caller
//     cuda::stream_copy{stream}        host ◄──► devices ◄──► devices      transferred, or from peer to peer; hip's too
//     metal::queue_copy<…>{queue}      host ◄──► buffers ◄──► buffers      by the host where it has them, or transferred
//     dma_copy{device, …}              host ◄──► DMA buffers               caches synchronised around the CPU's copy
//     remote_copy<mpi::window>{}       host ◄──► windows ◄──► windows      of this rank and others; shmem::heap too
//     staged_copy{way, way, bytes}     anywhere ──► host bytes ──► anywhere
//     a function                       (from, to, bytes) noexcept -> long, 0 for success
//
// A way is an object with
//
//     template <class From, class To> requires …                          // memories that it knows how to copy between
//     allot::copied copy(From::address_type, To::address_type, std::size_t bytes) noexcept;
//     long finish(allot::copy_path) noexcept;                             // optional: waits for what copy began
//
// `From` and `To` are tensors, or whatever has their `host_accessible`, `dl_device` and `address_model`. A way that meets
// bytes it cannot copy after all, such as those of another context, answers `copy_path::none`; the next is asked then.
#pragma once

#include <allot/core/device.hpp>

namespace allot {
inline namespace v1 {

/// From short to long. A copy whose runs went by different paths is said to have gone by the longest.
enum class copy_path : unsigned char {
    none,         // nothing was copied
    function,     // by a function of the caller's
    host,         // by the host, which can touch both sides
    mapped,       // by the host, while a device's memory was given to it
    on_device,    // by a device, within its memory
    peer,         // by a device, into or out of another's memory
    imported,     // by a device, into or out of the host's bytes where they lie
    to_device,    // by a driver, out of the host's bytes
    from_device,  // by a driver, into the host's bytes
    staged,       // twice, through bytes of the host
};

/// For a person.
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

/// The path that bytes went, or the device's own code.
using copied = result<copy_path, long>;

/// Memory that is named by pointers, whoever may use them.
template <class Memory>
concept pointer_memory = std::convertible_to<typename Memory::address_model::address, const void*>;

/// Memory that the host may touch at any time.
template <class Memory>
concept host_memory = pointer_memory<Memory> && Memory::host_accessible;

}  // namespace v1
}  // namespace allot
