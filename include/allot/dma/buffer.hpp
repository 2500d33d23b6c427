// SPDX-License-Identifier: BSL-1.0
// dma_buffer: what the devices of DMA memory (Linux) have in common: the buffer that a byte lies in, and the stretch of
// time in which the CPU may touch it.
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
// A descriptor is what drivers and other processes take, with the offset beside it: handing one over copies nothing. It
// stays the device's; whoever is to keep it longer than the region takes a dup of it.
//
// The kernel's rules for DMA buffers (its documentation, driver-api/dma-buf, and <linux/dma-buf.h>): the CPU touches a
// mapped buffer between SYNC_START and SYNC_END alone, each of them is asked again after EINTR and EAGAIN, and each
// covers the whole buffer. The library does not know when that is, and so touches no byte of such memory by itself:
// records lie beside it, and copy_tensor wants a function. On a machine whose devices see the CPU's caches (a PC, a
// coherent port of an FPGA) say `.coherent = true`, and it is memory like any other.
//
// Complexity: O(regions held) to find a buffer. Memory: 24 bytes for each of a device's `regions`, inside the object;
// no heap. Not synchronised.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>

#include <linux/dma-buf.h>

#include <cerrno>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace allot {
inline namespace v1 {
namespace dma {

/// Where a byte lies: in the buffer of a descriptor, `size` bytes in all. False when in none.
struct buffer {
    int descriptor = -1;
    std::size_t offset = 0;
    std::size_t size = 0;

    [[nodiscard]] constexpr explicit operator bool() const noexcept { return descriptor >= 0; }
    friend constexpr bool operator==(buffer, buffer) = default;
};

/// What the CPU is going to do with the bytes.
enum class cpu_use : unsigned char {
    read = DMA_BUF_SYNC_READ,
    write = DMA_BUF_SYNC_WRITE,
    read_write = DMA_BUF_SYNC_RW,
};

/// A stretch of time in which the CPU may touch a DMA buffer, as `Sync` begins and ends it. False when it could not
/// begin, and `error` says why.
template <class Sync>
class [[nodiscard]] cpu_access {
public:
    explicit cpu_access(Sync sync) noexcept : sync_{sync}, error_{sync_.begin()}, begun_{error_ == 0} {}
    cpu_access(cpu_access&& other) noexcept
        : sync_{other.sync_}, error_{other.error_}, begun_{std::exchange(other.begun_, false)} {}
    cpu_access& operator=(cpu_access&&) = delete;
    ~cpu_access() { end(); }

    [[nodiscard]] explicit operator bool() const noexcept { return begun_; }
    [[nodiscard]] int error() const noexcept { return error_; }

    /// Ends it before its time, for those who want to know whether that went well: 0, or errno.
    int end() noexcept { return std::exchange(begun_, false) ? sync_.end() : 0; }

private:
    Sync sync_;
    int error_;
    bool begun_;
};

/// How access to the buffer of a descriptor begins and ends; EINVAL without one. Also for one that came from elsewhere:
/// `allot::dma::cpu_access access{allot::dma::buffer_sync{descriptor, allot::dma::cpu_use::read}};`
struct buffer_sync {
    int descriptor;
    cpu_use use;

    [[nodiscard]] int begin() const noexcept { return ask(DMA_BUF_SYNC_START); }
    [[nodiscard]] int end() const noexcept { return ask(DMA_BUF_SYNC_END); }

private:
    [[nodiscard]] int ask(std::uint64_t when) const noexcept {
        if (descriptor < 0) return EINVAL;
        ::dma_buf_sync flags{when | static_cast<std::uint64_t>(use)};
        int status = 0;
        do status = ::ioctl(descriptor, DMA_BUF_IOCTL_SYNC, &flags);
        while (status != 0 && (errno == EINTR || errno == EAGAIN));
        return status == 0 ? 0 : errno;
    }
};

namespace detail {

/// A file descriptor, closed in the end.
class descriptor {
public:
    explicit descriptor(int value = -1) noexcept : value_{value} {}
    descriptor(descriptor&& other) noexcept : value_{std::exchange(other.value_, -1)} {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(value_, other.value_);
        return *this;
    }
    ~descriptor() {
        if (value_ >= 0) ::close(value_);
    }
    [[nodiscard]] explicit operator bool() const noexcept { return value_ >= 0; }
    [[nodiscard]] int operator*() const noexcept { return value_; }
    int release() noexcept { return std::exchange(value_, -1); }

private:
    int value_;
};

[[nodiscard]] inline std::size_t page_size() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

/// Maps `size` bytes of a file, whole pages, to where an address is `phase` modulo `align`: more is reserved, and what
/// is over is given back. `phase` is a multiple of a page. Fails with errno.
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

/// The calls of a device of DMA buffers, which has the acquisition and the traits: where each buffer is mapped, and its
/// descriptor.
template <std::size_t Regions>
class dma_buffers {
    static_assert(Regions > 0, "allot: a device of DMA buffers holds at least one region");

public:
    dma_buffers() noexcept = default;
    dma_buffers(dma_buffers&& other) noexcept : held_{std::exchange(other.held_, 0)} {
        for (std::size_t i = 0; i != held_; ++i) entries_[i] = other.entries_[i];
    }
    dma_buffers& operator=(dma_buffers&&) = delete;

    void release(region<void*> back) noexcept {
        std::size_t index = 0;
        while (entries_[index].base != back.base) ++index;
        const entry gone = std::exchange(entries_[index], entries_[--held_]);
        ::munmap(gone.base, gone.size);
        ::close(gone.descriptor);
    }

    /// The buffer in which all of these bytes lie.
    [[nodiscard]] buffer buffer_of(const void* at, std::size_t size = 1) const noexcept {
        const auto wanted = reinterpret_cast<std::uintptr_t>(at);
        for (std::size_t i = 0; i != held_; ++i) {
            const entry& each = entries_[i];
            const std::size_t offset = wanted - raw_pointer::position(each.base);
            if (extent{0, each.size}.contains({offset, size})) return {each.descriptor, offset, each.size};
        }
        return {};
    }

    /// The CPU touches these bytes as long as the answer lives. EINVAL when they do not lie in one buffer.
    [[nodiscard]] cpu_access<buffer_sync> access(const void* at, std::size_t size, cpu_use use) const noexcept {
        return cpu_access{buffer_sync{buffer_of(at, size).descriptor, use}};
    }

protected:
    /// What can be asked of a kernel: a layout in whole pages, or errno.
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

    /// Maps a buffer of an admitted layout and keeps its descriptor; without a mapping it is closed.
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
