// SPDX-License-Identifier: BSL-1.0
// dma::imported_memory: a DMA buffer of another driver as memory of the host (Linux).
//
//     auto shared = on_gpu.device().export_memory(on_gpu.regions()[0]);        // vulkan::exported_memory<dma_buf>, …
//     allot::arena<allot::dma::imported_memory<>, allot::best_fit<>> memory{{std::move(*shared)}};
//     const auto access = memory.device().access(block.address, block.size, allot::dma::cpu_use::read);
//
//     driver     │ region …                     │
//                    ▲ the same bytes, mapped
//     host       │ … block at the same offset … │
//
// Kernel rules (kernel documentation, driver-api/dma-buf): SEEK_END reports the size of a buffer. A mapping lies inside
// the buffer and is shared. The CPU accesses it only in periods of `access` (dma/buffer.hpp). Not every exporter
// supports mappings: mmap then fails, and `acquire` returns its error. A DMA buffer lives until all descriptors and
// mappings are gone, so this device may outlive the exporter.
//
// When to use: the host reads and writes the buffer of another driver without a copy.
// When not to use: for buffers that the program itself allocates: `dma::heap`, `dma::udmabuf`.
// Complexity: about four system calls for the region.
// Memory: the descriptor and 24 bytes. No heap allocation.
// Thread safety: not synchronized.
#pragma once

#include <allot/dma/buffer.hpp>
#include <allot/external/crossing.hpp>

namespace allot {
inline namespace v1 {
namespace dma {

/// Options of `dma::imported_memory`.
struct imported_options {
    bool coherent = false;  ///< Devices snoop the CPU's caches, so the library may access the bytes.
};

/// Device whose only region is a DMA buffer of another driver.
template <imported_options Options = imported_options{}>
class imported_memory : public detail::dma_buffers<1>,
                        public pointer_memory_traits<imported_memory<Options>, Options.coherent> {
public:
    using error = int;                                ///< An `errno` value.
    static constexpr std::size_t min_align = 4096;    ///< Minimum alignment of a region, in bytes.
    static constexpr std::size_t granularity = 4096;  ///< Region sizes are multiples of this, in bytes.
    static constexpr external::handle_kinds imports{.dma_buf = true};  ///< The kinds of handles that it accepts.

    /// Keeps the memory. `acquire` maps it.
    explicit imported_memory(external::memory from) noexcept : from_{std::move(from)} {}

    /// Returns the imported memory.
    [[nodiscard]] const external::memory& source() const noexcept { return from_; }
    /// Returns the size of the memory in bytes.
    [[nodiscard]] std::size_t capacity() const noexcept { return from_.about().size; }

    /// Maps all of the memory. Fails with an `errno` value: EBADF if there is no memory; ENOTSUP if it is not a DMA
    /// buffer; EINVAL for an invalid layout or a size that is not in whole pages; ENOMEM for a size above the capacity;
    /// EOVERFLOW if the buffer is smaller than stated; EMFILE while the region is held; otherwise the error of the
    /// system call.
    [[nodiscard]] acquired<imported_memory> acquire(layout wanted) noexcept {
        using answer = acquired<imported_memory>;
        if (!from_) return answer::failure(EBADF);
        if (from_.about().kind != external::handle_kind::dma_buf) return answer::failure(ENOTSUP);
        if (!wanted.is_valid() || capacity() == 0 || capacity() % granularity != 0) return answer::failure(EINVAL);
        if (wanted.size > capacity()) return answer::failure(ENOMEM);
        const auto admitted = this->admit({capacity(), wanted.align});
        if (!admitted) return answer::failure(admitted.error());
        const off_t size = ::lseek(from_.descriptor(), 0, SEEK_END);
        if (size < 0) return answer::failure(errno);
        if (static_cast<std::uintmax_t>(size) < capacity()) return answer::failure(EOVERFLOW);
        auto copy = from_.duplicate();
        if (!copy) return answer::failure(copy.error());
        return this->keep(detail::descriptor{copy->release()}, *admitted);
    }

private:
    external::memory from_;
};

static_assert(external::importable<imported_memory<>> && external::exportable<imported_memory<>>);

}  // namespace dma
}  // namespace v1
}  // namespace allot
