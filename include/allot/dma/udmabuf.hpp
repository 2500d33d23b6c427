// SPDX-License-Identifier: BSL-1.0
// dma::udmabuf: DMA buffers made of ordinary memory, the pages of a memfd (Linux, /dev/udmabuf).
//
//     allot::arena<allot::dma::udmabuf<>, allot::best_fit<>> memory{{}, 8_MiB};
//     auto block = memory.allocate({.size = 4096});
//     memory.device().buffer_of(block.address);      // the descriptor and the offset for a driver: see dma::buffer
//
// Driver rules (<linux/udmabuf.h> and drivers/dma-buf/udmabuf.c): the memfd is sealed against shrinking and not against
// writing. Offset and size are whole pages. The pages stay in memory as long as the buffer exists, so the device closes
// the memfd. The module parameter size_limit_mb (64) limits the size of one buffer. A larger request fails with EINVAL.
//
// When to use: for devices behind an IOMMU, for devices that accept lists of pages, and for virtual machines and GPUs.
// When not to use: for devices that need physically contiguous memory. Use a CMA `dma::heap` or `dma::u_dma_buf`.
// Complexity: about eight system calls for each region.
// Memory: 24 bytes for each of `regions`, inside the object. No heap allocation.
// Thread safety: not synchronized.
#pragma once

#include <allot/dma/buffer.hpp>
#include <allot/dma/detail/control.hpp>
#include <allot/external/crossing.hpp>

#include <linux/udmabuf.h>

#include <fcntl.h>

namespace allot {
inline namespace v1 {
namespace dma {

/// Options of `dma::udmabuf`.
struct udmabuf_options {
    bool coherent = false;     ///< Devices snoop the CPU's caches, so the library may access the bytes.
    std::size_t regions = 64;  ///< Maximum number of held regions.
};

/// Device whose regions are DMA buffers over memfd pages.
template <udmabuf_options Options = udmabuf_options{}>
class udmabuf : public detail::dma_buffers<Options.regions>,
                public pointer_memory_traits<udmabuf<Options>, Options.coherent> {
    using buffers = detail::dma_buffers<Options.regions>;

public:
    using error = int;                                ///< An `errno` value.
    static constexpr std::size_t min_align = 4096;    ///< Minimum alignment of a region, in bytes.
    static constexpr std::size_t granularity = 4096;  ///< Region sizes are multiples of this, in bytes.
    static constexpr bool contiguous = false;         ///< The buffers are not physically contiguous.

    /// Uses the driver at /dev/udmabuf.
    udmabuf() noexcept = default;
    /// Uses the driver at `node`, a string that must outlive the device.
    explicit udmabuf(const char* node) noexcept : node_{node} {}

    /// Acquires zeroed memory. Fails with an `errno` value: ENOENT if the driver is not loaded; ENOMEM; EINVAL for an
    /// invalid layout or a size above the driver's limit; EMFILE if `regions` are held; otherwise the error of the
    /// system call.
    [[nodiscard]] acquired<udmabuf> acquire(layout wanted) noexcept {
        const auto admitted = buffers::admit(wanted);
        if (!admitted) return acquired<udmabuf>::failure(admitted.error());
        const detail::descriptor driver{::open(node_, O_RDWR | O_CLOEXEC)};
        if (!driver) return acquired<udmabuf>::failure(errno);
        const detail::descriptor memory{::memfd_create("allot", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
        if (!memory || ::ftruncate(*memory, static_cast<off_t>(admitted->size)) != 0 ||
            ::fcntl(*memory, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
            return acquired<udmabuf>::failure(errno);
        ::udmabuf_create request{};
        request.memfd = static_cast<std::uint32_t>(*memory);
        request.flags = UDMABUF_FLAGS_CLOEXEC;
        request.size = admitted->size;
        detail::descriptor buffer{detail::control(*driver, UDMABUF_CREATE, &request)};
        if (!buffer) return acquired<udmabuf>::failure(errno);
        return buffers::keep(std::move(buffer), *admitted);
    }

private:
    const char* node_ = "/dev/udmabuf";
};

static_assert(external::exportable<udmabuf<>> && !bounded_device<udmabuf<>>);

}  // namespace dma
}  // namespace v1
}  // namespace allot
