// SPDX-License-Identifier: BSL-1.0
// dma::bus_addressed: a device of DMA buffers whose regions have bus addresses, for CMA heaps and devices without an
// IOMMU (Linux).
//
//     using cma = allot::dma::heap<"reserved", allot::dma::heap_options{.contiguous = true}>;
//     using memory = allot::dma::bus_addressed<cma, allot::dma::physical_node>;
//     allot::arena<memory, allot::best_fit<>> frames{{}, 8_MiB};
//     const auto frame = frames.allocate({.size = 4096, .align = 64});
//     const std::uint64_t bus = frames.device().bus_address(frame.address, frame.size).value();   // for a register
//
//     acquire ──► Device::acquire ──► Find: the physical address of the buffer, or an error ──► + bus_offset
//
// The kernel has no common call for the physical address of a DMA buffer. `Find` selects a way:
//
//     Find                 needs                                              proves contiguity
//     physical_node        /dev/dma-buf-phys, of Texas Instruments' kernels   yes, by the driver
//     physical_request     DMA_BUF_IOCTL_PHYS, of NXP's kernels               no, the driver states the first address
//     page_frames          CAP_SYS_ADMIN, and mappings with pages             yes, page by page
//     your own             `find` of the three below
//
// Rules of the drivers: an open file of /dev/dma-buf-phys has one attachment, which pins the buffer until the file is
// closed (<linux/dma_buf_phys.h>); it fails with EINVAL for buffers of several pieces. /proc/self/pagemap shows frame
// numbers to CAP_SYS_ADMIN only, and none for mappings without pages (VM_PFNMAP), which CMA heaps have since Linux 6.9;
// `acquire` then fails with EIO. On systems with an IOMMU, a physical address is not the bus address.
//
// When to use: on boards, for accelerators in an FPGA or without a driver that imports descriptors.
// When not to use: if a driver imports the descriptor: use `buffer_of`. With the u-dma-buf driver: `dma::u_dma_buf`.
// Complexity: two or three system calls for a region; one for each page with `page_frames`.
// Memory: 32 bytes for each of `Regions`, inside the object. No heap allocation.
// Thread safety: not synchronized.
#pragma once

#include <allot/dma/buffer.hpp>
#include <allot/dma/detail/control.hpp>
#include <allot/host/detail/page_frames.hpp>

#include <algorithm>
#include <fcntl.h>

namespace allot {
inline namespace v1 {
namespace dma {

/// The physical address of a buffer, and an object that must live as long as the address is used.
struct physical_buffer {
    std::uint64_t address = 0;                  ///< Physical address of the first byte.
    external::detail::descriptor attachment{};  ///< A file that keeps the buffer in place, or none.
};

/// Finds addresses by /dev/dma-buf-phys (Texas Instruments).
struct physical_node {
    const char* node = "/dev/dma-buf-phys";  ///< The driver's node.

    /// Attaches the buffer. Fails with an `errno` value: ENOENT if the kernel has no such driver; EINVAL if the buffer
    /// is not contiguous.
    [[nodiscard]] result<physical_buffer, int> find(const buffer& of, void*) const noexcept {
        using answer = result<physical_buffer, int>;
        struct request {  // dma_buf_phys_data of <linux/dma_buf_phys.h>
            std::uint32_t fd;
            std::uint64_t phys;
        } data{static_cast<std::uint32_t>(of.descriptor), 0};
        external::detail::descriptor file{::open(node, O_RDONLY | O_CLOEXEC)};
        if (!file || detail::control(*file, _IOWR('D', 0, request), &data) != 0) return answer::failure(errno);
        return physical_buffer{data.phys, std::move(file)};
    }
};

/// Finds addresses by a request to the buffer itself, DMA_BUF_IOCTL_PHYS (NXP).
struct physical_request {
    /// Asks the buffer. Fails with an `errno` value: ENOTTY if the kernel has no such request.
    [[nodiscard]] result<physical_buffer, int> find(const buffer& of, void*) const noexcept {
        unsigned long address = 0;
        if (detail::control(of.descriptor, _IOW(DMA_BUF_BASE, 10, unsigned long), &address) != 0)
            return result<physical_buffer, int>::failure(errno);
        return physical_buffer{address};
    }
};

/// Finds addresses by the frames of the mapped pages.
struct page_frames {
    const char* file = "/proc/self/pagemap";  ///< The system's file.

    /// Reads and compares all frames. Fails with an `errno` value: EPERM without CAP_SYS_ADMIN; EADDRNOTAVAIL if the
    /// buffer is not contiguous; EIO if the mapping has no pages.
    [[nodiscard]] result<physical_buffer, int> find(const buffer& of, void* base) const noexcept {
        using answer = result<physical_buffer, int>;
        const external::detail::descriptor pagemap{::open(file, O_RDONLY | O_CLOEXEC)};
        if (!pagemap) return answer::failure(errno);
        std::uint64_t frame = 0;
        if (const int reason = host::detail::adjacent_frames(*pagemap, base, of.size, frame); reason != 0)
            return answer::failure(reason);
        return physical_buffer{frame * host::detail::page_size()};
    }
};

/// `Device`, whose regions have bus addresses. `Device` has `buffer_of`, for example `dma::heap`.
template <device Device, class Find, std::size_t Regions = 64>
class bus_addressed : public Device {
    static_assert(
        requires(const Find find, void* base) {
            { find.find(buffer{}, base) } noexcept -> std::same_as<result<physical_buffer, int>>;
        },
        "allot: the second argument of bus_addressed finds physical addresses: allot::dma::physical_node, "
        "physical_request or page_frames, or a type with the same function find");
    static_assert(Regions > 0, "allot: bus_addressed requires regions greater than 0");

public:
    static constexpr bool contiguous = true;  ///< Every region is physically contiguous.

    /// Uses a default device.
    bus_addressed() noexcept
        requires std::default_initializable<Device>
    = default;
    /// Uses this device. `bus_offset` is added to every physical address, for systems on which the bus and the
    /// processor see memory at different addresses.
    explicit bus_addressed(Device device, Find find = {}, std::uint64_t bus_offset = 0) noexcept
        : Device{std::move(device)}, find_{find}, bus_offset_{bus_offset} {}

    /// Acquires a region and finds its bus address. Fails like `Device`, or with the error of `Find`, with EMFILE if
    /// `Regions` are held, or with EOVERFLOW if the bus address exceeds 64 bits.
    [[nodiscard]] acquired<bus_addressed> acquire(layout wanted) noexcept {
        using answer = acquired<bus_addressed>;
        entry* const free = entry_of(nullptr);
        if (free == nullptr) return answer::failure(EMFILE);
        const auto held = Device::acquire(wanted);
        if (!held) return answer::failure(held.error());
        auto found = find_.find(Device::buffer_of(held->base), held->base);
        std::uint64_t bus = 0, end = 0;
        int reason = found ? 0 : found.error();
        if (found &&
            (!checked_add(found->address, bus_offset_, bus) || !checked_add(bus, std::uint64_t{held->size}, end)))
            reason = EOVERFLOW;
        if (reason != 0) {
            Device::release(*held);
            return answer::failure(reason);
        }
        free->base = held->base;
        free->size = held->size;
        free->bus = bus;
        free->attachment = std::move(found->attachment);
        return held;
    }
    /// Releases a region.
    void release(region<void*> held) noexcept {
        if (entry* const gone = entry_of(held.base)) *gone = entry{};
        Device::release(held);
    }

    /// Returns the bus address of `size` contiguous bytes. Fails with EFAULT unless one region contains all of them.
    [[nodiscard]] result<std::uint64_t, int> bus_address(const void* at, std::size_t size = 1) const noexcept {
        for (const entry& each : held_) {
            const std::size_t offset = raw_pointer::position(at) - raw_pointer::position(each.base);
            if (each.size != 0 && extent{0, each.size}.contains({offset, size})) return each.bus + offset;
        }
        return result<std::uint64_t, int>::failure(EFAULT);
    }

private:
    struct entry {
        void* base = nullptr;
        std::size_t size = 0;
        std::uint64_t bus = 0;
        external::detail::descriptor attachment{};
    };
    [[nodiscard]] entry* entry_of(const void* base) noexcept {
        entry* const found = std::find_if(held_, held_ + Regions, [=](const entry& each) { return each.base == base; });
        return found == held_ + Regions ? nullptr : found;
    }

    Find find_{};
    std::uint64_t bus_offset_ = 0;
    entry held_[Regions]{};
};

}  // namespace dma
}  // namespace v1
}  // namespace allot
