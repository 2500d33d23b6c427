// SPDX-License-Identifier: BSL-1.0
// u_dma_buf: the one buffer of a u-dma-buf driver, physically contiguous and with the address at which devices see it.
// An out-of-tree driver (github.com/ikwzm/udmabuf) of FPGA boards, which reserves its buffers when it is loaded.
//
//     allot::arena<allot::dma::u_dma_buf<>, allot::best_fit<>> memory{allot::dma::u_dma_buf<>{"udmabuf0"}};
//     const auto block = memory.allocate({.size = 4096, .align = 64});
//     write_register(source, *memory.device().bus_address(block.address));
//     const auto access = memory.device().access(block.address, block.size, allot::dma::cpu_use::write);  // dma_buffer.hpp
//
//     /sys/class/u-dma-buf/udmabuf0/phys_addr    0x1e900000     + bus_offset ──► the buffer's bus address
//                                   size         1048576        ──► capacity
//     /dev/udmabuf0                                             ──► the mapping
//
// Some boards show memory to devices elsewhere than to the CPU (behind 0x80000000 on one): that is the `bus_offset`,
// which is added. Addresses have 64 bits. The mapping is placed so that the CPU's address and the bus address are the
// same modulo 2 MiB, or what the arena asks for if that is more: a block's alignment is that of its bus address, too.
//
// Rules relied on (the driver's Readme): opened without O_SYNC, a mapping is cached; a number written to sync_for_cpu
// or sync_for_device hands a part of the buffer over, with its offset in the upper 32 bits, its size in multiples of 16
// below, and the direction in bits 2 and 3. So the last bytes beyond a multiple of 16 are left alone, and access that
// begins at 4 GiB or later, or is as long, is refused with EOVERFLOW. Where `dma_coherent` is 1, handing over does
// nothing; where it is 0, `.coherent = true` is refused with ENOTSUP, and with ENOENT by drivers that do not tell.
//
// Complexity: a few system calls for the region and for each access. Memory: no table. Thread safety: none.
#pragma once

#include <allot/core/literals.hpp>
#include <allot/dma/buffer.hpp>

#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <optional>

namespace allot {
inline namespace v1 {
namespace dma {

struct u_dma_buf_options {
    bool coherent = false;  // devices see the CPU's caches, so that the library may touch the bytes
};

/// Where the driver's files are.
struct u_dma_buf_paths {
    const char* attributes = "/sys/class/u-dma-buf";
    const char* nodes = "/dev";
};

/// How a part of the buffer is handed to the CPU and back.
struct u_dma_buf_sync {
    int attributes;         // descriptor of the buffer's directory
    int error;              // why it cannot be; 0 when it can
    std::uint64_t command;  // what is written, as the driver's Readme has it

    [[nodiscard]] int begin() const noexcept { return write("sync_for_cpu"); }
    [[nodiscard]] int end() const noexcept { return write("sync_for_device"); }

private:
    [[nodiscard]] int write(const char* attribute) const noexcept {
        if (error != 0) return error;
        char text[18] = {'0', 'x'};
        const char* const last = std::to_chars(text + 2, text + sizeof text, command, 16).ptr;
        const auto length = static_cast<std::size_t>(last - text);
        const detail::descriptor file{::openat(attributes, attribute, O_WRONLY | O_CLOEXEC)};
        if (!file) return errno;
        ssize_t written = 0;
        do written = ::write(*file, text, length);
        while (written < 0 && errno == EINTR);
        return written < 0 ? errno : 0;
    }
};

template <u_dma_buf_options Options = u_dma_buf_options{}>
class u_dma_buf {
public:
    using address_model = raw_pointer;
    using error = int;  // errno
    static constexpr bool host_accessible = Options.coherent;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = 4096;
    static constexpr std::size_t granularity = 16;
    static constexpr dl_device_type dl_device = Options.coherent ? dl_device_type::cpu : dl_device_type::ext_dev;
    static constexpr bool contiguous = true;

    /// The buffer of a name. What is wrong with it, `acquire` says.
    explicit u_dma_buf(const char* name, std::uint64_t bus_offset = 0, u_dma_buf_paths paths = {}) noexcept
        : error_{open_files(name, paths)} {
        if (error_ == 0) error_ = read_attributes(bus_offset);
    }
    u_dma_buf(u_dma_buf&&) noexcept = default;

    /// Bytes of the buffer; 0 when there is none.
    [[nodiscard]] std::size_t capacity() const noexcept { return size_; }

    /// All of the buffer, from its first byte whose bus address is suitably aligned. Refused with errno: ENOENT without
    /// such a buffer, EBUSY when it was acquired before, ENOMEM when it is too small after alignment, EINVAL for an
    /// invalid layout or a bus address within a page, EBADMSG when an attribute is no number, EOVERFLOW when the bus
    /// address would not fit 64 bits or the size a pointer, ENOTSUP when it is not as coherent as stated.
    [[nodiscard]] acquired<u_dma_buf> acquire(layout wanted) noexcept {
        using answer = acquired<u_dma_buf>;
        if (error_ != 0) return answer::failure(error_);
        if (mapped_ != nullptr) return answer::failure(EBUSY);
        if (!wanted.is_valid()) return answer::failure(EINVAL);
        const std::uint64_t skipped = (0 - bus_) & (std::uint64_t{wanted.align} - 1);
        if (skipped >= size_ || wanted.size > size_ - skipped) return answer::failure(ENOMEM);
        const std::size_t same = std::max(same_bits, wanted.align);
        const auto base = detail::map_shared(*node_, align_up(size_, detail::page_size()), same,
                                             static_cast<std::size_t>(bus_ & (same - 1)));
        if (!base) return answer::failure(base.error());
        mapped_ = *base;
        const auto before = static_cast<std::size_t>(skipped);
        void* const from = raw_pointer::locate(mapped_, before);
        return region<void*>{from, size_ - before, alignment_of(raw_pointer::position(from))};
    }
    void release(region<void*>) noexcept {
        ::munmap(std::exchange(mapped_, nullptr), align_up(size_, detail::page_size()));
    }

    /// Where devices see a byte; nothing when it does not lie in the buffer.
    [[nodiscard]] std::optional<std::uint64_t> bus_address(const void* at) const noexcept {
        const std::size_t offset = offset_of(at);
        if (!contains(offset, 1)) return std::nullopt;
        return bus_ + offset;
    }

    /// The CPU touches these bytes as long as the answer lives. EINVAL when they do not lie in the buffer.
    [[nodiscard]] cpu_access<u_dma_buf_sync> access(const void* at, std::size_t size, cpu_use use) const noexcept {
        const std::size_t offset = offset_of(at);
        if (size == 0 || !contains(offset, size)) return cpu_access{u_dma_buf_sync{-1, EINVAL, 0}};
        const std::uint64_t first = align_down(offset, granularity), end = align_up(offset + size, granularity);
        if (first > field || end - first > field) return cpu_access{u_dma_buf_sync{-1, EOVERFLOW, 0}};
        // 1: the device only reads what the CPU wrote; 2: the CPU only reads what the device wrote; 0: both.
        const std::uint64_t direction = use == cpu_use::write ? 1 : use == cpu_use::read ? 2 : 0;
        return cpu_access{u_dma_buf_sync{*attributes_, 0, first << 32 | (end - first) | direction << 2 | 1}};
    }

private:
    static constexpr std::size_t same_bits = 2_MiB;  // the CPU's address is the bus address modulo this, at least
    static constexpr std::uint64_t field = std::numeric_limits<std::uint32_t>::max();

    /// 0, or errno.
    [[nodiscard]] int open_files(const char* name, u_dma_buf_paths paths) noexcept {
        const auto open = [name](const char* directory, int flags) noexcept {
            const detail::descriptor in{::open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC)};
            return detail::descriptor{in ? ::openat(*in, name, flags | O_CLOEXEC) : -1};
        };
        if (!(attributes_ = open(paths.attributes, O_PATH | O_DIRECTORY))) return errno;
        return (node_ = open(paths.nodes, O_RDWR)) ? 0 : errno;
    }

    /// The number in an attribute, in decimal or, behind 0x, in hexadecimal digits.
    [[nodiscard]] result<std::uint64_t, int> attribute(const char* name) const noexcept {
        using answer = result<std::uint64_t, int>;
        const detail::descriptor file{::openat(*attributes_, name, O_RDONLY | O_CLOEXEC)};
        if (!file) return answer::failure(errno);
        char text[64];
        const ssize_t length = ::read(*file, text, sizeof text);
        if (length < 0) return answer::failure(errno);
        const char *first = text, *const last = text + length;
        const bool hexadecimal = length > 2 && text[0] == '0' && text[1] == 'x';
        if (hexadecimal) first += 2;
        std::uint64_t value = 0;
        const auto [end, fault] = std::from_chars(first, last, value, hexadecimal ? 16 : 10);
        if (fault == std::errc::result_out_of_range) return answer::failure(EOVERFLOW);
        if (fault != std::errc{} || (end != last && *end != '\n')) return answer::failure(EBADMSG);
        return value;
    }

    /// 0, or errno.
    [[nodiscard]] int read_attributes(std::uint64_t bus_offset) noexcept {
        const auto size = attribute("size");
        if (!size) return size.error();
        const auto physical = attribute("phys_addr");
        if (!physical) return physical.error();
        if constexpr (Options.coherent) {
            const auto coherent = attribute("dma_coherent");
            if (!coherent || *coherent == 0) return coherent ? ENOTSUP : coherent.error();
        }
        std::uint64_t end = 0;
        if (*size > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) ||
            !checked_add(*physical, bus_offset, bus_) || !checked_add(bus_, *size, end))
            return EOVERFLOW;
        if (bus_ % detail::page_size() != 0) return EINVAL;
        size_ = align_down(static_cast<std::size_t>(*size), granularity);
        return 0;
    }

    [[nodiscard]] std::size_t offset_of(const void* at) const noexcept {
        return reinterpret_cast<std::uintptr_t>(at) - raw_pointer::position(mapped_);
    }
    [[nodiscard]] bool contains(std::size_t offset, std::size_t size) const noexcept {
        return mapped_ != nullptr && extent{0, size_}.contains({offset, size});
    }

    detail::descriptor attributes_, node_;
    int error_;
    std::size_t size_ = 0;
    std::uint64_t bus_ = 0;  // the first byte's address as devices see it
    void* mapped_ = nullptr;
};

static_assert(bounded_device<u_dma_buf<>>);

}  // namespace dma
}  // namespace v1
}  // namespace allot
