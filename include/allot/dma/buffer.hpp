// SPDX-License-Identifier: BSL-1.0
// dma::buffer: the parts that DMA devices (Linux) share: the buffer that contains a byte, and periods of CPU access.
//
//     allot::arena<allot::dma::heap<"reserved">, allot::best_fit<>> memory{{}, 8_MiB};
//     const auto block = memory.allocate({.size = 4096, .align = 32});
//     const allot::dma::buffer buffer = memory.device().buffer_of(block.address);     // descriptor, offset, whole size
//     {
//         const auto access = memory.device().access(block.address, block.size, allot::dma::cpu_use::write);
//         if (!access) return access.error();                                        // errno
//         std::memcpy(block.address, from, block.size);
//     }                                                                              // the caches are written back
//
// Drivers and other processes accept a descriptor and an offset, so passing a buffer on copies nothing. The device owns
// the descriptor of `buffer_of`. `export_memory` returns a descriptor of its own, with which the buffer outlives its
// region, for the imports of other drivers (external/memory.hpp).
//
// Kernel rules (kernel documentation, driver-api/dma-buf, and <linux/dma-buf.h>): the CPU accesses a mapped buffer only
// between SYNC_START and SYNC_END. Each call is repeated after EINTR and EAGAIN, and each call covers the whole buffer.
// The library cannot detect these periods, so it does not access the bytes: strategies keep their records in a side
// table, and `copy_tensor` requires a copy function. If the devices of a machine snoop the CPU's caches (a PC, a
// coherent port of an FPGA), set `.coherent = true`. The memory then behaves like ordinary host memory.
//
// When to use: with `dma::heap` and `dma::udmabuf`, and with `dma::buffer_sync` for buffers from other sources.
// When not to use: for memory that is not a DMA buffer, or for coherent devices, which need no access periods.
// Complexity: O(held regions) to find a buffer; one system call to begin or end an access.
// Memory: 24 bytes for each of a device's `regions`, inside the object. No heap allocation.
// Thread safety: not synchronized.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>
#include <allot/dma/detail/control.hpp>
#include <allot/external/memory.hpp>

#include <linux/dma-buf.h>

#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace allot {
inline namespace v1 {
namespace dma {

/// Position of a byte in a DMA buffer.
struct buffer {
    int descriptor = -1;     ///< Descriptor of the buffer, or -1 for no buffer.
    std::size_t offset = 0;  ///< Offset of the byte in the buffer.
    std::size_t size = 0;    ///< Size of the whole buffer in bytes.

    /// Returns whether there is a buffer.
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return descriptor >= 0; }
    /// Compares all members.
    friend constexpr bool operator==(buffer, buffer) = default;
};

/// Direction of the CPU's access to the bytes.
enum class cpu_use : unsigned char {
    read = DMA_BUF_SYNC_READ,      ///< The CPU reads.
    write = DMA_BUF_SYNC_WRITE,    ///< The CPU writes.
    read_write = DMA_BUF_SYNC_RW,  ///< The CPU reads and writes.
};

/// A period in which the CPU may access a DMA buffer. `Sync` begins and ends the period.
template <class Sync>
class [[nodiscard]] cpu_access {
public:
    /// Begins the access. Converts to false if this fails.
    explicit cpu_access(Sync sync) noexcept : sync_{sync}, error_{sync_.begin()}, begun_{error_ == 0} {}
    /// Transfers the access. The source does not end it.
    cpu_access(cpu_access&& other) noexcept
        : sync_{other.sync_}, error_{other.error_}, begun_{std::exchange(other.begun_, false)} {}
    cpu_access& operator=(cpu_access&&) = delete;
    /// Ends the access and ignores an error.
    ~cpu_access() { end(); }

    /// Returns whether the access is in progress.
    [[nodiscard]] explicit operator bool() const noexcept { return begun_; }
    /// Returns the `errno` value of a failed begin, or 0.
    [[nodiscard]] int error() const noexcept { return error_; }

    /// Ends the access early. Returns 0 or an `errno` value.
    int end() noexcept { return std::exchange(begun_, false) ? sync_.end() : 0; }

private:
    Sync sync_;
    int error_;
    bool begun_;
};

/// Begins and ends access to the buffer of a descriptor. Fails with EINVAL for a negative descriptor. Also suitable for
/// buffers from other sources: `allot::dma::cpu_access reading{allot::dma::buffer_sync{descriptor,
/// allot::dma::cpu_use::read}};`
struct buffer_sync {
    int descriptor;  ///< Descriptor of the buffer.
    cpu_use use;     ///< Direction of the access.

    /// Begins the access. Returns 0 or an `errno` value.
    [[nodiscard]] int begin() const noexcept { return ask(DMA_BUF_SYNC_START); }
    /// Ends the access. Returns 0 or an `errno` value.
    [[nodiscard]] int end() const noexcept { return ask(DMA_BUF_SYNC_END); }

private:
    [[nodiscard]] int ask(std::uint64_t when) const noexcept {
        if (descriptor < 0) return EINVAL;
        ::dma_buf_sync flags{when | static_cast<std::uint64_t>(use)};
        int status = 0;
        do status = detail::control(descriptor, DMA_BUF_IOCTL_SYNC, &flags);
        while (status != 0 && (errno == EINTR || errno == EAGAIN));
        return status == 0 ? 0 : errno;
    }
};

namespace detail {

using external::detail::descriptor;

[[nodiscard]] inline std::size_t page_size() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

// Maps `size` bytes of a file, in whole pages, at an address that equals `phase` modulo `align`. Reserves more
// addresses and unmaps the excess. Precondition: `phase` is a multiple of a page. Fails with an `errno` value.
[[nodiscard]] inline result<void*, int> map_shared(int file, std::size_t size, std::size_t align,
                                                   std::size_t phase = 0) noexcept {
    using answer = result<void*, int>;
    constexpr int protection = PROT_READ | PROT_WRITE;
    if (align <= page_size()) {
        void* const base = ::mmap(nullptr, size, protection, MAP_SHARED, file, 0);
        return base == MAP_FAILED ? answer::failure(errno) : answer{base};
    }
    std::size_t reserved = 0;
    if (!checked_add(size, align, reserved)) return answer::failure(ENOMEM);
    void* const raw = ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) return answer::failure(errno);
    const std::size_t before = (phase - raw_pointer::position(raw)) & (align - 1);
    void* const base = raw_pointer::locate(raw, before);
    if (::mmap(base, size, protection, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
        const int reason = errno;
        ::munmap(raw, reserved);
        return answer::failure(reason);
    }
    if (before != 0) ::munmap(raw, before);
    ::munmap(raw_pointer::locate(base, size), align - before);
    return base;
}

// Base class of devices with DMA buffers: records the mapping and the descriptor of each buffer. The derived device
// supplies `acquire` and the traits.
template <std::size_t Regions>
class dma_buffers {
    static_assert(Regions > 0, "allot: a device of DMA buffers requires regions greater than 0");

public:
    /// The kinds of handles that `export_memory` returns.
    static constexpr external::handle_kinds exports{.dma_buf = true};

    dma_buffers() noexcept = default;
    dma_buffers(dma_buffers&& other) noexcept : held_{std::exchange(other.held_, 0)} {
        for (std::size_t i = 0; i != held_; ++i) entries_[i] = other.entries_[i];
    }
    dma_buffers& operator=(dma_buffers&&) = delete;

    /// Unmaps a region and closes its buffer. Precondition: this device acquired the region.
    void release(region<void*> back) noexcept {
        std::size_t index = 0;
        while (entries_[index].base != back.base) ++index;
        const entry gone = std::exchange(entries_[index], entries_[--held_]);
        ::munmap(gone.base, gone.size);
        ::close(gone.descriptor);
    }

    /// Returns the buffer that contains all of these bytes, or an empty `dma::buffer`.
    [[nodiscard]] buffer buffer_of(const void* at, std::size_t size = 1) const noexcept {
        const auto wanted = reinterpret_cast<std::uintptr_t>(at);
        for (std::size_t i = 0; i != held_; ++i) {
            const entry& each = entries_[i];
            const std::size_t offset = wanted - raw_pointer::position(each.base);
            if (extent{0, each.size}.contains({offset, size})) return {each.descriptor, offset, each.size};
        }
        return {};
    }

    /// Returns the buffer of a region for another driver, with a new descriptor. The buffer lives until the region and
    /// all such descriptors and imports are gone. Fails with EBADF for a region that the device does not hold,
    /// otherwise with the `errno` value of fcntl(2).
    [[nodiscard]] result<external::memory, int> export_memory(region<void*> held) const noexcept {
        using answer = result<external::memory, int>;
        const buffer whole = buffer_of(held.base, held.size);
        const int fresh = ::fcntl(whole.descriptor, F_DUPFD_CLOEXEC, 0);
        if (fresh < 0) return answer::failure(errno);
        return external::memory{fresh, {.kind = external::handle_kind::dma_buf, .size = whole.size}};
    }

    /// Starts CPU access to these bytes, which lasts until the returned object ends. Fails with EINVAL unless one
    /// buffer contains all of the bytes.
    [[nodiscard]] cpu_access<buffer_sync> access(const void* at, std::size_t size, cpu_use use) const noexcept {
        return cpu_access{buffer_sync{buffer_of(at, size).descriptor, use}};
    }

protected:
    // Rounds a layout up to whole pages. Fails with EINVAL, ENOMEM, or EMFILE if the kernel cannot satisfy the request.
    [[nodiscard]] result<layout, int> admit(layout wanted) const noexcept {
        using answer = result<layout, int>;
        if (!wanted.is_valid()) return answer::failure(EINVAL);
        const std::size_t page = page_size();
        if (wanted.align < page) wanted.align = page;
        const bool fits = checked_align_up(wanted.size, page, wanted.size);
        if (!fits || wanted.size > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()))
            return answer::failure(ENOMEM);
        if (held_ == Regions) return answer::failure(EMFILE);
        return wanted;
    }

    // Maps a buffer of an admitted layout and keeps its descriptor. Closes the descriptor if the mapping fails.
    [[nodiscard]] result<region<void*>, int> keep(descriptor buffer, layout admitted) noexcept {
        using answer = result<region<void*>, int>;
        const auto base = map_shared(*buffer, admitted.size, admitted.align);
        if (!base) return answer::failure(base.error());
        entries_[held_++] = {*base, admitted.size, buffer.release()};
        return region<void*>{*base, admitted.size, alignment_of(raw_pointer::position(*base))};
    }

private:
    struct entry {
        void* base = nullptr;
        std::size_t size = 0;
        int descriptor = -1;
    };
    entry entries_[Regions]{};
    std::size_t held_ = 0;
};

}  // namespace detail

}  // namespace dma
}  // namespace v1
}  // namespace allot
