// SPDX-License-Identifier: BSL-1.0
// dma_heap: DMA buffers from a heap of the kernel (Linux, /dev/dma_heap), zeroed and mapped, each with a descriptor.
//
//     allot::arena<allot::dma::heap<"system">, allot::best_fit<>> scattered{{}, 8_MiB};
//     using contiguous = allot::dma::heap<"reserved", allot::dma::heap_options{.contiguous = true}>;
//     allot::arena<contiguous, allot::best_fit<>> memory{{}, 8_MiB};
//     auto block = memory.allocate({.size = 4096});
//     memory.device().buffer_of(block.address);      // the descriptor and offset for a driver: see dma_buffer.hpp
//
// The name is that of the heap's node; which there are is the machine's business: "system" gives pages from anywhere,
// and the heap of the contiguous memory allocator (CMA) is "reserved", on newer kernels "default_cma_region", or named
// as the device tree names it. Its buffers are physically contiguous. No call tells whether a heap's are, so the user
// says it, and `contiguous` passes it on.
//
// Rules relied on (<linux/dma-heap.h>, the kernel's documentation of dma-buf heaps, and drivers/dma-buf/heaps): sizes
// are rounded up to whole pages; memory is zeroed; a mapping is shared; memory goes back when the descriptor and every
// mapping of it, in all processes, are gone. A heap that has no such memory, or none in one piece, says ENOMEM. An
// alignment up to a page holds for physical addresses as well; beyond it the CPU's address is aligned, and so is the
// physical one of a CMA heap whose buffer is no smaller (up to CONFIG_CMA_ALIGNMENT, as a rule 1 MiB).
//
// No bus address: where a device sees the buffer is known to the driver that attaches it. Complexity: four system calls
// a region. Memory: that of dma_buffer.hpp. Thread safety: none.
#pragma once

#include <allot/dma/buffer.hpp>

#include <linux/dma-heap.h>

#include <fcntl.h>

namespace allot {
inline namespace v1 {
namespace dma {

/// The name of a heap, as a template argument.
template <std::size_t Size>
struct heap_name {
    char text[Size];
    consteval heap_name(const char (&name)[Size]) noexcept {
        for (std::size_t i = 0; i != Size; ++i) text[i] = name[i];
    }
};

struct heap_options {
    bool contiguous = false;    // the heap's buffers are physically contiguous: it is one of CMA
    bool coherent = false;      // devices see the CPU's caches, so that the library may touch the bytes
    std::size_t regions = 64;   // how many are held at most
};

template <heap_name Name, heap_options Options = heap_options{}>
class heap : public detail::dma_buffers<Options.regions> {
    using buffers = detail::dma_buffers<Options.regions>;

public:
    using address_model = raw_pointer;
    using error = int;  // errno
    static constexpr bool host_accessible = Options.coherent;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = 4096;
    static constexpr std::size_t granularity = 4096;
    static constexpr dl_device_type dl_device = Options.coherent ? dl_device_type::cpu : dl_device_type::ext_dev;
    static constexpr bool contiguous = Options.contiguous;

    heap() noexcept = default;
    /// `directory` is where the heaps' nodes are, and outlives the device.
    explicit heap(const char* directory) noexcept : directory_{directory} {}

    /// Refused with errno: ENOENT without such a heap, ENOMEM, EINVAL for an invalid layout, EMFILE when `regions` are
    /// held.
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
        if (::ioctl(*node, DMA_HEAP_IOCTL_ALLOC, &request) != 0) return acquired<heap>::failure(errno);
        return buffers::keep(detail::descriptor{static_cast<int>(request.fd)}, *admitted);
    }

private:
    const char* directory_ = "/dev/dma_heap";
};

static_assert(device<heap<"system">> && !bounded_device<heap<"system">>);

}  // namespace dma
}  // namespace v1
}  // namespace allot
