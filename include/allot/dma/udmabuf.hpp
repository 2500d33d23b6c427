// SPDX-License-Identifier: BSL-1.0
// udmabuf: DMA buffers made of ordinary memory, the pages of a memfd (Linux, /dev/udmabuf). Not physically contiguous:
// for devices behind an IOMMU, or that take lists of pages, and for virtual machines and GPUs.
//
//     allot::arena<allot::dma::udmabuf<>, allot::best_fit<>> memory{{}, 8_MiB};
//     auto block = memory.allocate({.size = 4096});
//     memory.device().buffer_of(block.address);      // the descriptor and offset for a driver: see dma_buffer.hpp
//
// Rules relied on (<linux/udmabuf.h> and drivers/dma-buf/udmabuf.c): the memfd is sealed against shrinking and not
// against writing; offset and size are whole pages; the pages stay in memory as long as the buffer exists, which is why
// the memfd itself need not be kept. The module's parameter size_limit_mb (64) bounds one buffer; over it, EINVAL.
//
// Complexity: about eight system calls a region. Memory: that of dma_buffer.hpp. Thread safety: none.
#pragma once

#include <allot/dma/buffer.hpp>

#include <linux/udmabuf.h>

#include <fcntl.h>

namespace allot {
inline namespace v1 {
namespace dma {

struct udmabuf_options {
    bool coherent = false;     // devices see the CPU's caches, so that the library may touch the bytes
    std::size_t regions = 64;  // how many are held at most
};

template <udmabuf_options Options = udmabuf_options{}>
class udmabuf : public detail::dma_buffers<Options.regions> {
    using buffers = detail::dma_buffers<Options.regions>;

public:
    using address_model = raw_pointer;
    using error = int;  // errno
    static constexpr bool host_accessible = Options.coherent;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = 4096;
    static constexpr std::size_t granularity = 4096;
    static constexpr dl_device_type dl_device = Options.coherent ? dl_device_type::cpu : dl_device_type::ext_dev;
    static constexpr bool contiguous = false;

    udmabuf() noexcept = default;
    /// `node` is the driver's, and outlives the device.
    explicit udmabuf(const char* node) noexcept : node_{node} {}

    /// Zeroed memory. Refused with errno: ENOENT without the driver, ENOMEM, EINVAL for an invalid layout or one over
    /// the driver's limit, EMFILE when `regions` are held.
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
        detail::descriptor buffer{::ioctl(*driver, UDMABUF_CREATE, &request)};
        if (!buffer) return acquired<udmabuf>::failure(errno);
        return buffers::keep(std::move(buffer), *admitted);
    }

private:
    const char* node_ = "/dev/udmabuf";
};

static_assert(device<udmabuf<>> && !bounded_device<udmabuf<>>);

}  // namespace dma
}  // namespace v1
}  // namespace allot
