// SPDX-License-Identifier: BSL-1.0
// buffer_objects: the common part of XRT's devices: mapped buffer objects, their bus addresses, and CPU access.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>
#include <allot/dma/buffer.hpp>
#include <allot/external/crossing.hpp>
#include <allot/xrt/calls.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace xrt {

/// Moves bytes of a buffer object between the host and the board. A `Sync` for `dma::cpu_access`.
struct buffer_object_sync {
    calls functions;       ///< The functions of XRT.
    buffer_handle handle;  ///< The buffer object, or null.
    std::size_t offset;    ///< Offset of the first byte.
    std::size_t size;      ///< Number of bytes.
    dma::cpu_use use;      ///< Direction of the access.

    /// Moves the bytes to the host if the CPU reads. Returns 0 or an `errno` value.
    [[nodiscard]] int begin() const noexcept {
        if (handle == nullptr) return EINVAL;
        return use == dma::cpu_use::write ? 0 : move(calls::from_device);
    }
    /// Moves the bytes to the board if the CPU writes. Returns 0 or an `errno` value.
    [[nodiscard]] int end() const noexcept { return use == dma::cpu_use::read ? 0 : move(calls::to_device); }

private:
    [[nodiscard]] int move(calls::direction where) const noexcept {
        const int status = functions.sync(handle, where, size, offset);
        return status < 0 ? -status : status;
    }
};

namespace detail {

// Base class of XRT's devices. The derived device supplies `acquire` and the traits.
template <std::size_t Regions>
class buffer_objects {
    static_assert(Regions > 0, "allot: a device of XRT requires regions greater than 0");

public:
    /// The kinds of handles that `export_memory` returns.
    static constexpr external::handle_kinds exports{.dma_buf = true};
    static constexpr bool contiguous = true;  ///< A buffer object is contiguous for the board.

    explicit buffer_objects(const calls& functions, device_handle board) noexcept : xrt_{functions}, board_{board} {}
    buffer_objects(buffer_objects&& other) noexcept : xrt_{other.xrt_}, board_{other.board_} {
        std::swap(entries_, other.entries_);
    }
    buffer_objects& operator=(buffer_objects&&) = delete;

    /// Frees a region, which also unmaps it. Does nothing for a region that this object does not hold.
    void release(region<void*> held) noexcept {
        for (entry& each : entries_) {
            if (each.size != 0 && each.base == held.base) static_cast<void>(xrt_.free(std::exchange(each, {}).handle));
        }
    }

    /// Returns the board's address of `size` bytes. Fails with EFAULT unless one region contains all of them.
    [[nodiscard]] result<std::uint64_t, int> bus_address(const void* at, std::size_t size = 1) const noexcept {
        const entry* const in = find(at, size);
        if (in == nullptr) return result<std::uint64_t, int>::failure(EFAULT);
        return in->bus + offset_in(*in, at);
    }
    /// Returns the buffer object that contains these bytes, for the arguments of kernels, or null.
    [[nodiscard]] buffer_handle handle_of(const void* at, std::size_t size = 1) const noexcept {
        const entry* const in = find(at, size);
        return in == nullptr ? nullptr : in->handle;
    }
    /// Starts CPU access to these bytes, which lasts until the returned object ends. Fails with EINVAL unless one
    /// region contains all of the bytes, otherwise with the error of XRT.
    [[nodiscard]] dma::cpu_access<buffer_object_sync> access(const void* at, std::size_t size,
                                                             dma::cpu_use use) const noexcept {
        const entry* const in = find(at, size);
        if (in == nullptr) return dma::cpu_access{buffer_object_sync{xrt_, nullptr, 0, 0, use}};
        return dma::cpu_access{buffer_object_sync{xrt_, in->handle, offset_in(*in, at), size, use}};
    }
    /// Returns the memory of a region for another driver, with a new descriptor. Fails with EBADF for a region that the
    /// device does not hold, otherwise with an `errno` value.
    [[nodiscard]] result<external::memory, int> export_memory(region<void*> held) const noexcept {
        using answer = result<external::memory, int>;
        const entry* const in = held.size == 0 ? nullptr : find(held.base, held.size);
        if (in == nullptr) return answer::failure(EBADF);
        errno = 0;
        const int own = xrt_.export_buffer(in->handle);  // belongs to the buffer object
        if (own < 0) return answer::failure(reason());
        const int fresh = ::fcntl(own, F_DUPFD_CLOEXEC, 0);
        if (fresh < 0) return answer::failure(errno);
        return external::memory{fresh, {.kind = external::handle_kind::dma_buf, .size = in->size}};
    }

protected:
    // Returns whether a further region can be held.
    [[nodiscard]] bool has_room() const noexcept {
        return std::any_of(entries_, entries_ + Regions, [](const entry& each) { return each.size == 0; });
    }
    // Maps a buffer object and records it. Frees it on failure. Precondition: there is room.
    [[nodiscard]] result<region<void*>, int> keep(buffer_handle made, layout wanted) noexcept {
        using answer = result<region<void*>, int>;
        const auto refuse = [&](int code) {
            static_cast<void>(xrt_.free(made));
            return answer::failure(code);
        };
        if (xrt_.size(made) < wanted.size) return refuse(EOVERFLOW);
        errno = 0;
        void* const base = xrt_.map(made);
        if (base == nullptr) return refuse(reason());
        const std::uint64_t bus = xrt_.address(made);
        const auto align = static_cast<std::size_t>(alignment_of(std::uint64_t{raw_pointer::position(base)} | bus));
        if (align < wanted.align) return refuse(EADDRNOTAVAIL);
        *std::find_if(entries_, entries_ + Regions, [](const entry& e) { return e.size == 0; }) = {base, wanted.size,
                                                                                                   bus, made};
        return region<void*>{base, wanted.size, align};
    }
    // The error of a call of XRT, which sets `errno` for some failures only.
    [[nodiscard]] static int reason() noexcept { return errno != 0 ? errno : EIO; }

    [[nodiscard]] const calls& functions() const noexcept { return xrt_; }
    [[nodiscard]] device_handle board() const noexcept { return board_; }

private:
    struct entry {
        void* base = nullptr;
        std::size_t size = 0;
        std::uint64_t bus = 0;
        buffer_handle handle = nullptr;
    };
    [[nodiscard]] static std::size_t offset_in(const entry& in, const void* at) noexcept {
        return raw_pointer::position(at) - raw_pointer::position(in.base);
    }
    [[nodiscard]] const entry* find(const void* at, std::size_t size) const noexcept {
        const entry* const found = std::find_if(entries_, entries_ + Regions, [=](const entry& each) {
            return each.size != 0 && extent{0, each.size}.contains({offset_in(each, at), size});
        });
        return found == entries_ + Regions ? nullptr : found;
    }

    calls xrt_;
    device_handle board_;
    entry entries_[Regions]{};
};

}  // namespace detail
}  // namespace xrt
}  // namespace v1
}  // namespace allot
