// SPDX-License-Identifier: BSL-1.0
// dma::u_dma_buf: the physically contiguous buffer of a u-dma-buf driver, with the bus address of every byte.
//
//     allot::arena<allot::dma::u_dma_buf<>, allot::best_fit<>> memory{allot::dma::u_dma_buf<>{"udmabuf0"}};
//     const auto block = memory.allocate({.size = 4096, .align = 64});
//     write_register(source, memory.device().bus_address(block.address).value());
//     const auto access = memory.device().access(block.address, block.size, allot::dma::cpu_use::write);
//
//     /sys/class/u-dma-buf/udmabuf0/phys_addr    0x1e900000     + bus_offset ──► the buffer's bus address
//                                   size         1048576        ──► capacity
//     /dev/udmabuf0                                             ──► the mapping
//
// u-dma-buf is an out-of-tree driver (github.com/ikwzm/udmabuf) for FPGA boards. It reserves its buffers when it is
// loaded. On some boards, devices and the CPU see memory at different addresses. `bus_offset` is the difference and is
// added to the physical address. Bus addresses have 64 bits. The CPU's address and the bus address are equal modulo 2
// MiB, or modulo the alignment that the arena requests if that is larger. Up to that modulus, an aligned block also has
// an aligned bus address.
//
// Driver rules (the driver's Readme): a mapping is cached if the file is opened without O_SYNC. A number written to
// sync_for_cpu or sync_for_device transfers a part of the buffer to the CPU or to the device. The upper 32 bits are the
// offset, the bits below are the size in multiples of 16, and bits 2 and 3 are the direction. For this reason, the
// bytes after the last multiple of 16 stay unused, and access fails with EOVERFLOW if it starts at 4 GiB or later or is
// that long. If the attribute `dma_coherent` is 1, the transfer does nothing. `.coherent = true` fails with ENOTSUP if
// the attribute is 0, and with ENOENT if the driver lacks the attribute.
//
// When to use: on FPGA boards that load this driver, for devices without an IOMMU.
// When not to use: if the kernel offers a DMA heap. `dma::heap` needs no out-of-tree driver.
// Complexity: a few system calls for the region and for each access.
// Memory: two descriptors, two addresses, a size, and an error. No table and no heap allocation.
// Thread safety: not synchronized.
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

/// Options of `dma::u_dma_buf`.
struct u_dma_buf_options {
    bool coherent = false;  ///< Devices snoop the CPU's caches, so the library may access the bytes.
};

/// Directories of the driver's files.
struct u_dma_buf_paths {
    const char* attributes = "/sys/class/u-dma-buf";  ///< Directory with the attributes of each buffer.
    const char* nodes = "/dev";                       ///< Directory with the device nodes.
};

/// Transfers a part of the buffer to the CPU and back to the device. A `Sync` for `cpu_access`.
struct u_dma_buf_sync {
    int attributes;         ///< Descriptor of the buffer's attribute directory.
    int error;              ///< Reason why access fails, or 0.
    std::uint64_t command;  ///< Number to write, in the format of the driver's Readme.

    /// Transfers the bytes to the CPU. Returns 0 or an `errno` value.
    [[nodiscard]] int begin() const noexcept { return write("sync_for_cpu"); }
    /// Transfers the bytes to the device. Returns 0 or an `errno` value.
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

/// Device over one buffer of the driver.
template <u_dma_buf_options Options = u_dma_buf_options{}>
class u_dma_buf : public pointer_memory_traits<u_dma_buf<Options>, Options.coherent> {
public:
    using error = int;                              ///< An `errno` value.
    static constexpr std::size_t min_align = 4096;  ///< Minimum alignment of a region, in bytes.
    static constexpr std::size_t granularity = 16;  ///< Region sizes are multiples of this, in bytes.
    static constexpr bool contiguous = true;        ///< The buffer is physically contiguous.

    /// Opens the buffer `name`. `acquire` reports an error of the constructor.
    explicit u_dma_buf(const char* name, std::uint64_t bus_offset = 0, u_dma_buf_paths paths = {}) noexcept
        : error_{open_files(name, paths)} {
        if (error_ == 0) error_ = read_attributes(bus_offset);
    }
    /// Moves the descriptors. Precondition: the source is not used afterward.
    u_dma_buf(u_dma_buf&&) noexcept = default;

    /// Returns the size of the buffer in bytes, or 0 if the buffer cannot be opened.
    [[nodiscard]] std::size_t capacity() const noexcept { return size_; }

    /// Acquires the whole buffer from the first byte whose bus address is suitably aligned. Fails with an `errno`
    /// value: ENOENT if the buffer does not exist; EBUSY if it is already acquired; ENOMEM if it is too small after
    /// alignment; EINVAL for an invalid layout or a bus address that is not page-aligned; EBADMSG if an attribute is
    /// not a number; EOVERFLOW if the bus address exceeds 64 bits or the size exceeds a pointer; ENOTSUP if the buffer
    /// is not coherent as stated.
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
        // Blocks are aligned on both sides: the alignment is the smaller one of the CPU address and the bus address.
        return region<void*>{
            from, size_ - before,
            static_cast<std::size_t>(alignment_of(std::uint64_t{raw_pointer::position(from)} | (bus_ + skipped)))};
    }
    /// Unmaps the buffer.
    void release(region<void*>) noexcept {
        ::munmap(std::exchange(mapped_, nullptr), align_up(size_, detail::page_size()));
    }

    /// Returns the bus address of a byte, or nullopt if the byte is outside the buffer.
    [[nodiscard]] std::optional<std::uint64_t> bus_address(const void* at) const noexcept {
        const std::size_t offset = offset_of(at);
        if (!contains(offset, 1)) return std::nullopt;
        return bus_ + offset;
    }

    /// Returns the bus address of `size` bytes. Fails with EFAULT unless the buffer contains all of them.
    [[nodiscard]] result<std::uint64_t, error> bus_address(const void* at, std::size_t size) const noexcept {
        const std::size_t offset = offset_of(at);
        if (!contains(offset, size)) return result<std::uint64_t, error>::failure(EFAULT);
        return bus_ + offset;
    }

    /// Starts CPU access to these bytes, which lasts until the returned object ends. Fails with EINVAL if the bytes are
    /// not in the buffer, and with EOVERFLOW beyond the driver's limits.
    [[nodiscard]] cpu_access<u_dma_buf_sync> access(const void* at, std::size_t size, cpu_use use) const noexcept {
        const std::size_t offset = offset_of(at);
        if (size == 0 || !contains(offset, size)) return cpu_access{u_dma_buf_sync{-1, EINVAL, 0}};
        const std::uint64_t first = align_down(offset, u_dma_buf::granularity);
        const std::uint64_t end = align_up(offset + size, u_dma_buf::granularity);
        if (first > field || end - first > field) return cpu_access{u_dma_buf_sync{-1, EOVERFLOW, 0}};
        // 1: the CPU writes and the device reads. 2: the device writes and the CPU reads. 0: both directions.
        const std::uint64_t direction = use == cpu_use::write ? 1 : use == cpu_use::read ? 2 : 0;
        return cpu_access{u_dma_buf_sync{*attributes_, 0, first << 32 | (end - first) | direction << 2 | 1}};
    }

private:
    static constexpr std::size_t same_bits = 2_MiB;  // minimum modulus at which CPU and bus addresses are equal
    static constexpr std::uint64_t field = std::numeric_limits<std::uint32_t>::max();

    // Returns 0 or an `errno` value.
    [[nodiscard]] int open_files(const char* name, u_dma_buf_paths paths) noexcept {
        const auto open = [name](const char* directory, int flags) noexcept {
            const detail::descriptor in{::open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC)};
            return detail::descriptor{in ? ::openat(*in, name, flags | O_CLOEXEC) : -1};
        };
        if (!(attributes_ = open(paths.attributes, O_PATH | O_DIRECTORY))) return errno;
        return (node_ = open(paths.nodes, O_RDWR)) ? 0 : errno;
    }

    // Reads the number in an attribute, in decimal digits, or in hexadecimal digits after 0x.
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

    // Returns 0 or an `errno` value.
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
        size_ = align_down(static_cast<std::size_t>(*size), u_dma_buf::granularity);
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
    std::uint64_t bus_ = 0;  // bus address of the first byte
    void* mapped_ = nullptr;
};

static_assert(bounded_device<u_dma_buf<>>);

}  // namespace dma
}  // namespace v1
}  // namespace allot
