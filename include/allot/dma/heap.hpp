// SPDX-License-Identifier: BSL-1.0
// dma::heap: DMA buffers from a heap of the kernel (Linux, /dev/dma_heap), zeroed and mapped, each with a descriptor.
//
//     allot::arena<allot::dma::heap<"system">, allot::best_fit<>> scattered{{}, 8_MiB};
//     using contiguous = allot::dma::heap<"reserved", allot::dma::heap_options{.contiguous = true}>;
//     allot::arena<contiguous, allot::best_fit<>> memory{{}, 8_MiB};
//     auto block = memory.allocate({.size = 4096});
//     memory.device().buffer_of(block.address);      // the descriptor and the offset for a driver: see dma::buffer
//
// The name is the name of the heap's node. The available heaps depend on the machine. "system" returns pages from
// anywhere. The heap of the contiguous memory allocator (CMA) is "reserved", or "default_cma_region" on newer kernels,
// or has a name from the device tree. Its buffers are physically contiguous. No system call reports this property, so
// the user states it in the options, and the trait `contiguous` repeats it.
//
// Kernel rules (<linux/dma-heap.h>, the kernel's documentation of dma-buf heaps, and drivers/dma-buf/heaps): sizes are
// rounded up to whole pages. Memory is zeroed. A mapping is shared. The memory is freed when the descriptor and all its
// mappings, in all processes, are gone. A heap without enough memory, or without enough contiguous memory, fails with
// ENOMEM.
// Alignment: an alignment up to a page also holds for physical addresses. Above a page, the CPU's address is aligned.
// The physical address is aligned as well if the heap is a CMA heap and the buffer is at least as large as the
// alignment, up to CONFIG_CMA_ALIGNMENT (usually 1 MiB).
//
// When to use: for buffers that drivers of cameras, codecs, displays, and accelerators import by descriptor.
// When not to use: for devices that need a bus address from the program. Only the driver that attaches a buffer has its
// address. Use `dma::u_dma_buf` or `contiguous_pages`.
// Complexity: about six system calls for each region.
// Memory: 24 bytes for each of `regions`, inside the object. No heap allocation.
// Thread safety: not synchronized.
#pragma once

#include <allot/dma/buffer.hpp>
#include <allot/dma/detail/control.hpp>
#include <allot/external/crossing.hpp>

#include <linux/dma-heap.h>

#include <fcntl.h>

namespace allot {
inline namespace v1 {
namespace dma {

/// Name of a heap as a template argument.
template <std::size_t Size>
struct heap_name {
    char text[Size];  ///< The name with its terminating zero.
    /// Copies a string literal.
    consteval heap_name(const char (&name)[Size]) noexcept {
        for (std::size_t i = 0; i != Size; ++i) text[i] = name[i];
    }
};

/// Options of `dma::heap`.
struct heap_options {
    bool contiguous = false;   ///< The heap is a CMA heap, whose buffers are physically contiguous.
    bool coherent = false;     ///< Devices snoop the CPU's caches, so the library may access the bytes.
    std::size_t regions = 64;  ///< Maximum number of held regions.
};

/// Device whose regions are DMA buffers of the heap `Name`.
template <heap_name Name, heap_options Options = heap_options{}>
class heap : public detail::dma_buffers<Options.regions>,
             public pointer_memory_traits<heap<Name, Options>, Options.coherent> {
    using buffers = detail::dma_buffers<Options.regions>;

public:
    using error = int;                                      ///< An `errno` value.
    static constexpr std::size_t min_align = 4096;          ///< Minimum alignment of a region, in bytes.
    static constexpr std::size_t granularity = 4096;        ///< Region sizes are multiples of this, in bytes.
    static constexpr bool contiguous = Options.contiguous;  ///< Whether the buffers are physically contiguous.

    /// Uses the heaps in /dev/dma_heap.
    heap() noexcept = default;
    /// Uses the heaps in `directory`, a string that must outlive the device.
    explicit heap(const char* directory) noexcept : directory_{directory} {}

    /// Acquires zeroed memory. Fails with an `errno` value: ENOENT if the heap does not exist; ENOMEM if the heap has
    /// too little memory; EINVAL for an invalid layout; EMFILE if `regions` are held; otherwise the error of the system
    /// call.
    [[nodiscard]] acquired<heap> acquire(layout wanted) noexcept {
        const auto admitted = buffers::admit(wanted);
        if (!admitted) return acquired<heap>::failure(admitted.error());
        const detail::descriptor directory{::open(directory_, O_PATH | O_DIRECTORY | O_CLOEXEC)};
        if (!directory) return acquired<heap>::failure(errno);
        const detail::descriptor node{::openat(*directory, Name.text, O_RDONLY | O_CLOEXEC)};
        if (!node) return acquired<heap>::failure(errno);
        ::dma_heap_allocation_data request{};
        request.len = admitted->size;
        request.fd_flags = O_RDWR | O_CLOEXEC;
        if (detail::control(*node, DMA_HEAP_IOCTL_ALLOC, &request) != 0) return acquired<heap>::failure(errno);
        return buffers::keep(detail::descriptor{static_cast<int>(request.fd)}, *admitted);
    }

private:
    const char* directory_ = "/dev/dma_heap";
};

static_assert(external::exportable<heap<"system">> && !bounded_device<heap<"system">>);

}  // namespace dma
}  // namespace v1
}  // namespace allot
