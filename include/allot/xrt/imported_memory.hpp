// SPDX-License-Identifier: BSL-1.0
// xrt::imported_memory: a DMA buffer of another driver as a buffer object of AMD's Xilinx Runtime (XRT). Not run on
// hardware.
//
//     auto shared = frames.device().export_memory(frames.regions()[0]);        // dma::heap, another card, …
//     allot::arena<allot::xrt::imported_memory, allot::best_fit<>> memory{{xrt, board, std::move(*shared)}};
//
//     other driver │ region …              │
//                      ▲ the same bytes
//     board        │ … block at the offset │
//
// When to use: for kernels that read a camera's buffers, or the memory of another card, in place.
// When not to use: for memory that XRT itself allocates: xrt/buffers.hpp.
//
// The code relies on the rules in xrt/buffers.hpp and on one more: xrtBOImport opens the buffer by its descriptor
// (DRM_IOCTL_PRIME_FD_TO_HANDLE in XRT's drivers) and leaves the descriptor with the program. This device keeps it.
//
// Complexity: four calls of XRT for the region.
// Memory: the descriptor, 32 bytes, and the table of functions.
// Thread safety: not synchronized.
#pragma once

#include <allot/xrt/detail/buffer_objects.hpp>

namespace allot {
inline namespace v1 {
namespace xrt {

/// Device whose only region is a DMA buffer of another driver.
class imported_memory : public detail::buffer_objects<1>, public pointer_memory_traits<imported_memory, false> {
public:
    using error = int;                                ///< An `errno` value.
    static constexpr std::size_t min_align = 4096;    ///< Minimum alignment of a region, in bytes, on both sides.
    static constexpr std::size_t granularity = 4096;  ///< Region sizes are multiples of this, in bytes.
    /// The kinds of handles that the device accepts.
    static constexpr external::handle_kinds imports{.dma_buf = true};

    /// Keeps the memory for a board. `acquire` imports it.
    imported_memory(const calls& functions, device_handle board, external::memory from) noexcept
        : buffer_objects{functions, board}, from_{std::move(from)} {}

    /// Returns the imported memory.
    [[nodiscard]] const external::memory& source() const noexcept { return from_; }
    /// Returns the size of the memory in bytes.
    [[nodiscard]] std::size_t capacity() const noexcept { return from_.about().size; }

    /// Imports and maps all of the memory. Fails with an `errno` value: ENOSYS without XRT's functions; EBADF if there
    /// is no memory; ENOTSUP if it is not a DMA buffer; EINVAL for an invalid layout or a size that is not in whole
    /// pages; ENOMEM for a size above the capacity; EMFILE while the region is held; otherwise like `buffers`.
    [[nodiscard]] acquired<imported_memory> acquire(layout wanted) noexcept {
        using answer = acquired<imported_memory>;
        if (!functions()) return answer::failure(ENOSYS);
        if (!from_) return answer::failure(EBADF);
        if (from_.about().kind != external::handle_kind::dma_buf) return answer::failure(ENOTSUP);
        if (!wanted.is_valid() || capacity() == 0 || capacity() % granularity != 0) return answer::failure(EINVAL);
        if (wanted.size > capacity()) return answer::failure(ENOMEM);
        if (!has_room()) return answer::failure(EMFILE);
        errno = 0;
        const buffer_handle made = functions().import_buffer(board(), from_.descriptor());
        if (made == nullptr) return answer::failure(reason());
        return keep(made, {capacity(), wanted.align < min_align ? min_align : wanted.align});
    }

private:
    external::memory from_;
};

static_assert(external::importable<imported_memory>);

}  // namespace xrt
}  // namespace v1
}  // namespace allot
