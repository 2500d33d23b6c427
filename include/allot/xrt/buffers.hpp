// SPDX-License-Identifier: BSL-1.0
// xrt::buffers: buffer objects of AMD's Xilinx Runtime (XRT), for Alveo cards and boards such as PYNQ, Kria and others
// with Zynq processors. Not run on hardware.
//
//     const allot::xrt::calls xrt = allot::xrt::installed();
//     allot::arena<allot::xrt::buffers<>, allot::best_fit<>> memory{{xrt, board, bank}, 8_MiB};
//     const auto block = memory.allocate({.size = 4096, .align = 64});
//     {
//         const auto access = memory.device().access(block.address, block.size, allot::dma::cpu_use::write);
//         std::memcpy(block.address, from, block.size);
//     }                                                             // the bytes are on the board
//     const auto bus = memory.device().bus_address(block.address, block.size);        // for a kernel's register
//
//     host   │ block … │  end of access: to_device ──►  ◄── begin of access: from_device  │ block … │  board's memory
//
// When to use: for kernels in an FPGA that XRT loads.
// When not to use: on boards without XRT, such as the DE10: use `dma::u_dma_buf` or `dma::bus_addressed`. For buffers
// of other drivers: xrt/imported_memory.hpp.
//
// The code relies on these rules of XRT (2.13 or later; <experimental/xrt_bo.h> and its implementation):
//   - A buffer object has a mapping for the host, in whole pages, and an address on the board. xrtBOSync moves bytes
//     between them: by DMA on a card, by cache maintenance on a board. The host's writes have no effect before.
//   - xrtBOSync moves exactly the given bytes. It leaves the neighbors of a block unchanged.
//   - xrtBOExport returns a descriptor of a DMA buffer that belongs to the buffer object, which closes it. Each call
//     returns the same one. `export_memory` duplicates it.
//   - Functions return null or a negative number for a failure, and set `errno` for most.
// The board, its handle and the loaded kernels must outlive the device.
//
// Complexity: four calls of XRT for a region. Each access is one call or two.
// Memory: 32 bytes for each of `Regions`, and the table of functions. No heap allocation.
// Thread safety: not synchronized.
#pragma once

#include <allot/xrt/detail/buffer_objects.hpp>

namespace allot {
inline namespace v1 {
namespace xrt {

/// Device whose regions are buffer objects.
template <std::size_t Regions = 16>
class buffers : public detail::buffer_objects<Regions>, public pointer_memory_traits<buffers<Regions>, false> {
    using objects = detail::buffer_objects<Regions>;

public:
    using error = int;                                ///< An `errno` value.
    static constexpr std::size_t min_align = 4096;    ///< Minimum alignment of a region, in bytes, on both sides.
    static constexpr std::size_t granularity = 4096;  ///< Region sizes are multiples of this, in bytes.

    /// Allocates in a memory bank of a board. `group` is the result of xrtKernelArgGroupId for the kernel's argument,
    /// and `flags` are XRT_BO_FLAGS: 0 for a buffer object with both sides.
    buffers(const calls& functions, device_handle board, std::uint32_t group, std::uint64_t flags = 0) noexcept
        : objects{functions, board}, group_{group}, flags_{flags} {}

    /// Allocates and maps a buffer object. Fails with an `errno` value: ENOSYS without XRT's functions; EINVAL for an
    /// invalid layout; ENOMEM for a size beyond the address space; EMFILE if `Regions` are held; EADDRNOTAVAIL if XRT's
    /// addresses are not aligned as requested; EOVERFLOW if XRT returns fewer bytes; otherwise XRT's, or EIO.
    [[nodiscard]] acquired<buffers> acquire(layout wanted) noexcept {
        using answer = acquired<buffers>;
        if (!objects::functions()) return answer::failure(ENOSYS);
        if (!wanted.is_valid()) return answer::failure(EINVAL);
        if (!checked_align_up(wanted.size, granularity, wanted.size)) return answer::failure(ENOMEM);
        if (!objects::has_room()) return answer::failure(EMFILE);
        if (wanted.align < min_align) wanted.align = min_align;
        errno = 0;
        const buffer_handle made = objects::functions().alloc(objects::board(), wanted.size, flags_, group_);
        if (made == nullptr) return answer::failure(objects::reason());
        return objects::keep(made, wanted);
    }

private:
    std::uint32_t group_;
    std::uint64_t flags_;
};

static_assert(external::exportable<buffers<>>);

}  // namespace xrt
}  // namespace v1
}  // namespace allot
