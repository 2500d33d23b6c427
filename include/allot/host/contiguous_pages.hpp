// SPDX-License-Identifier: BSL-1.0
// contiguous_pages: physically contiguous host memory with a bus address for every byte (Linux, as root).
//
//     allot::arena<allot::host::contiguous_pages<>, allot::best_fit<>> memory{{}, 4_MiB};
//     auto block = memory.allocate({.size = 4096, .align = 64});
//     auto bus = memory.device().bus_address(block);  // *bus: the address for the device, 64 bits on every host
//
//     virtual    │ huge page │ huge page │             bus address of a byte = bus address of its region + its offset
//     physical   │ frame …   │ … frame + 512 │         in the region; every region is verified
//
// Each region consists of huge pages from the system's reserve, which root fills:
// `echo 8 > /proc/sys/vm/nr_hugepages`. For a region of several huge pages, `acquire` takes huge pages one by one until
// enough of them are neighbors. It maps the neighbors in the order of their frames and frees the others. It then reads
// and compares the frame of every ordinary page, so the contiguity of each returned region is proven.
//
// Kernel rules (kernel documentation): a huge page is contiguous, aligned to its size, and never swapped ("HugeTLB
// Pages"). /proc/self/pagemap shows frame numbers to CAP_SYS_ADMIN and zeros to others ("Examining Process Page
// Tables"). memfd_create(2) and fallocate(2) support huge pages since Linux 4.16. The mapping is shared, so that a fork
// does not copy a page that a device uses. A frame stays at its address unless an administrator moves it (memory
// offline, move_pages(2)) or the memory is poisoned.
// Caches: the memory is cached like all host memory. If a device does not snoop the CPU's caches, the caller flushes
// them.
//
// When to use: for devices that access memory without an IOMMU, if no DMA driver is available.
// When not to use: on systems with an IOMMU or a DMA driver. Use `dma::heap`, `dma::udmabuf`, or `dma::u_dma_buf`,
// which need less privilege.
// Complexity: `acquire` reads 8 bytes for each ordinary page of a region. `bus_address` searches the held regions.
// Memory: sizes are rounded up to whole huge pages. 24 bytes for each of `regions`, inside the object; 16 bytes on the
// stack for each of `candidates` while `acquire` runs. No heap allocation.
// Thread safety: not synchronized.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>
#include <allot/core/literals.hpp>
#include <allot/host/detail/page_frames.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace allot {
inline namespace v1 {
namespace host {

/// Options of `contiguous_pages`.
struct contiguous_options {
    std::size_t huge_size = 2_MiB;  ///< Size of the system's huge page in bytes.
    std::size_t candidates = 128;   ///< Maximum number of huge pages in a region, and in a search for neighbors.
    std::size_t regions = 16;       ///< Maximum number of regions that are held concurrently.
};

/// Device whose regions are physically contiguous.
template <contiguous_options Options = contiguous_options{}>
class contiguous_pages : public pointer_memory_traits<contiguous_pages<Options>> {
    static_assert(is_alignment(Options.huge_size) && Options.huge_size >= 64_KiB,
                  "allot: contiguous_options::huge_size must be a power of two and at least 64 KiB");
    static_assert(Options.candidates > 0 && Options.regions > 0,
                  "allot: contiguous_pages requires candidates and regions greater than 0");
    static constexpr std::size_t huge = Options.huge_size;

public:
    using error = int;                                ///< An `errno` value.
    static constexpr std::size_t min_align = huge;    ///< Minimum alignment of a region, in bytes.
    static constexpr std::size_t granularity = huge;  ///< Region sizes are multiples of this, in bytes.
    static constexpr bool contiguous = true;          ///< Every region is physically contiguous.

    /// Error: enough huge pages are free, but not enough of them are adjacent.
    static constexpr error not_adjacent = EADDRNOTAVAIL;
    /// Error: the system hides frame numbers from this process, which needs CAP_SYS_ADMIN.
    static constexpr error frames_hidden = EPERM;
    /// Error: all `regions` are held, or the request exceeds `candidates` huge pages.
    static constexpr error over_limit = EMFILE;

    /// Adds `bus_offset` to every physical address, for systems on which the bus and the processor see memory at
    /// different addresses.
    explicit contiguous_pages(std::uint64_t bus_offset = 0) noexcept : bus_offset_{bus_offset} {}
    /// Copies the records of the held regions. Precondition: the source is not used afterward.
    contiguous_pages(contiguous_pages&&) noexcept = default;
    contiguous_pages& operator=(contiguous_pages&&) = delete;

    /// Acquires zeroed memory that is contiguous for the host and on the bus. Its virtual and physical addresses are
    /// aligned to a huge page. Fails with one of the errors above, with EINVAL for an invalid layout or an alignment
    /// above a huge page, or with the system's `errno`: ENOSPC or ENOMEM if the reserve is empty.
    [[nodiscard]] acquired<contiguous_pages> acquire(layout wanted) noexcept {
        using answer = acquired<contiguous_pages>;
        if (!wanted.is_valid() || wanted.align > huge) return answer::failure(EINVAL);
        if (!checked_align_up(wanted.size, huge, wanted.size)) return answer::failure(ENOMEM);
        physical_region* const record = std::find(held_, held_ + Options.regions, physical_region{});
        if (record == held_ + Options.regions || wanted.size / huge > Options.candidates)
            return answer::failure(over_limit);

        const descriptor frames{::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)};
        if (!frames) return answer::failure(errno);
        const descriptor file{::memfd_create("allot", MFD_CLOEXEC | MFD_HUGETLB | size_flag)};
        if (!file) return answer::failure(errno);
        void* base = nullptr;
        if (const error reason = map_neighbours(frames, file, wanted.size / huge, base); reason != 0)
            return answer::failure(reason);
        std::uint64_t frame = 0;
        if (const error reason = detail::adjacent_frames(frames.number, base, wanted.size, frame); reason != 0) {
            ::munmap(base, wanted.size);
            return answer::failure(reason);
        }
        *record = {base, wanted.size, frame * detail::page_size() + bus_offset_};
        return region<void*>{base, wanted.size, huge};
    }

    /// Unmaps a region and returns its huge pages to the reserve.
    void release(region<void*> held) noexcept {
        for (physical_region& record : held_) {
            if (record.base == held.base) record = {};
        }
        ::munmap(held.base, held.size);
    }

    /// Returns the bus address of `size` contiguous bytes. Fails with EFAULT unless one region contains all of them.
    [[nodiscard]] result<std::uint64_t, error> bus_address(const void* address, std::size_t size) const noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(address);
        for (const physical_region& record : held_) {
            const std::size_t from = raw_pointer::position(record.base);
            if (record.size != 0 && extent{from, record.size}.contains({at, size})) return record.bus + (at - from);
        }
        return result<std::uint64_t, error>::failure(EFAULT);
    }
    /// Returns the bus address of a block. Fails with EFAULT unless one region contains it.
    template <class Block>
    [[nodiscard]] result<std::uint64_t, error> bus_address(const Block& block) const noexcept {
        return bus_address(block.address, block.size);
    }

private:
    struct physical_region {
        void* base = nullptr;
        std::size_t size = 0;
        std::uint64_t bus = 0;
        friend bool operator==(const physical_region&, const physical_region&) = default;
    };

    // File descriptor that is closed on destruction.
    struct descriptor {
        explicit descriptor(int opened) noexcept : number{opened} {}
        descriptor(const descriptor&) = delete;
        descriptor& operator=(const descriptor&) = delete;
        ~descriptor() {
            if (number >= 0) ::close(number);
        }
        explicit operator bool() const noexcept { return number >= 0; }
        const int number;
    };

    // A huge page of the file: its first frame and its index in the file.
    struct candidate {
        std::uint64_t frame;
        std::size_t index;
    };

    // memfd_create(2) takes the size of a huge page as a logarithm in the upper bits.
    static constexpr auto size_flag = static_cast<unsigned>(std::countr_zero(huge)) << 26;

    [[nodiscard]] static off_t offset_of(std::size_t index) noexcept { return static_cast<off_t>(index * huge); }

    // Takes huge pages until `count` of them are adjacent, and maps these. The others are freed.
    [[nodiscard]] static error map_neighbours(const descriptor& frames, const descriptor& file, std::size_t count,
                                              void*& base) noexcept {
        constexpr int shared = MAP_SHARED | MAP_NORESERVE;
        constexpr std::size_t most = Options.candidates * huge;
        if (::ftruncate(file.number, static_cast<off_t>(most)) != 0) return errno;
        void* const view = ::mmap(nullptr, most, PROT_READ | PROT_WRITE, shared, file.number, 0);
        if (view == MAP_FAILED) return errno;
        candidate found[Options.candidates];  // in the order of their frames
        std::size_t first = 0;                // index of the first neighbor
        error reason = not_adjacent;
        for (std::size_t n = 0; n != Options.candidates && reason == not_adjacent; ++n) {
            candidate fresh{0, n};
            if (::fallocate(file.number, 0, offset_of(n), static_cast<off_t>(huge)) != 0) {
                if (n < count) reason = errno;
                break;
            }
            const error unknown = detail::first_frame(frames.number, raw_pointer::locate(view, n * huge), fresh.frame);
            if (unknown != 0) {
                reason = unknown;
                break;
            }
            candidate* const place = std::find_if(found, found + n, [&](candidate c) { return c.frame > fresh.frame; });
            std::move_backward(place, found + n, found + n + 1);
            *place = fresh;
            if (neighbours(found, n + 1, count, first)) reason = 0;
        }
        ::munmap(view, most);
        return reason != 0 ? reason : map(file, found + first, count, base);
    }

    // Returns whether `count` candidates are adjacent, and sets `first` to the index of the first one.
    [[nodiscard]] static bool neighbours(const candidate* found, std::size_t size, std::size_t count,
                                         std::size_t& first) noexcept {
        const std::uint64_t step = huge / detail::page_size();
        first = 0;
        for (std::size_t i = 0; i != size; ++i) {
            if (i != 0 && found[i].frame != found[i - 1].frame + step) first = i;
            if (i + 1 - first == count) return true;
        }
        return false;
    }

    // Maps huge pages of the file side by side and frees all others. The mapped pages live as long as the mapping.
    [[nodiscard]] static error map(const descriptor& file, const candidate* chosen, std::size_t count,
                                   void*& base) noexcept {
        const std::size_t size = count * huge;
        void* const room = ::mmap(nullptr, size + huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (room == MAP_FAILED) return errno;
        const std::size_t before = align_up(raw_pointer::position(room), huge) - raw_pointer::position(room);
        base = raw_pointer::locate(room, before);
        if (before != 0) ::munmap(room, before);
        if (before != huge) ::munmap(raw_pointer::locate(base, size), huge - before);
        for (std::size_t i = 0; i != count; ++i) {
            void* const at = raw_pointer::locate(base, i * huge);
            if (::mmap(at, huge, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file.number,
                       offset_of(chosen[i].index)) == MAP_FAILED) {
                const error reason = errno;
                ::munmap(base, size);
                return reason;
            }
        }
        for (std::size_t index = 0; index != Options.candidates; ++index) {
            if (std::none_of(chosen, chosen + count, [=](candidate c) { return c.index == index; }))
                ::fallocate(file.number, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset_of(index),
                            static_cast<off_t>(huge));
        }
        return 0;
    }

    std::uint64_t bus_offset_;
    physical_region held_[Options.regions]{};
};

static_assert(device<contiguous_pages<>> && !bounded_device<contiguous_pages<>>);

}  // namespace host
}  // namespace v1
}  // namespace allot
