// SPDX-License-Identifier: BSL-1.0
// buffer: host memory that the program already has: an array, a linker section between two symbols, a mapping.
//
//     alignas(64) static std::byte bytes[4096];
//     allot::arena<allot::host::buffer, allot::bump<>> memory{allot::host::buffer{bytes}};
//
// When to use: for memory that the program already has. When not to use: for memory at a fixed address with a name of
// its own, such as a scratchpad (tightly_coupled.hpp), or for memory that has to be freed by a function (adopted.hpp).
// Complexity: constant. Memory: an address, a size, and a flag. Thread safety: none.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>

#include <span>

namespace allot {
inline namespace v1 {
namespace host {

/// Reason for a failed `acquire` on a device with one window.
enum class window_error : unsigned char {
    none,       ///< No error.
    in_use,     ///< The window is already acquired.
    too_small,  ///< The layout is invalid, or the aligned part of the window is too small.
};

/// Returns a human-readable description of the reason.
[[nodiscard]] constexpr const char* to_string(window_error reason) noexcept {
    switch (reason) {
        case window_error::none: return "no error";
        case window_error::in_use: return "the window is already acquired";
        case window_error::too_small: return "the layout is invalid, or the aligned part of the window is too small";
    }
    return "unknown";
}

/// Acquisition and release of a single window of memory. A building block for devices: `window` has no traits, so it is
/// not a device. A copy has its own `in_use` state.
class window {
public:
    /// Refers to `size` bytes at `base`. The bytes must outlive the window.
    constexpr window(void* base, std::size_t size) noexcept : base_{base}, size_{size} {}

    /// Returns the size of the window in bytes.
    [[nodiscard]] constexpr std::size_t capacity() const noexcept { return size_; }

    /// Acquires the whole window from its first suitably aligned byte on. Fails with `window_error`.
    template <class Device>
    [[nodiscard]] acquired<Device> acquire(layout wanted) noexcept {
        if (in_use_) return acquired<Device>::failure(window_error::in_use);
        const std::size_t from = raw_pointer::position(base_);
        const std::size_t skipped = (std::size_t{0} - from) & (wanted.align - 1);
        if (!wanted.is_valid() || skipped >= size_ || wanted.size > size_ - skipped)
            return acquired<Device>::failure(window_error::too_small);
        in_use_ = true;
        return region<void*>{raw_pointer::locate(base_, skipped), size_ - skipped, alignment_of(from + skipped)};
    }
    /// Makes the window available again.
    void release(region<void*>) noexcept { in_use_ = false; }

private:
    void* base_;
    std::size_t size_;
    bool in_use_ = false;
};

/// Device over existing bytes, which must outlive the arena. Any base address is valid: the alignment is derived from
/// the address. A null base has no bytes, so that `acquire` fails with `window_error::too_small`.
class buffer : public pointer_memory_traits<buffer> {
public:
    using error = window_error;                    ///< Reason for a failed `acquire`.
    static constexpr std::size_t min_align = 1;    ///< Minimum alignment of a region, in bytes.
    static constexpr std::size_t granularity = 1;  ///< Region sizes are multiples of this, in bytes.
    static constexpr bool self_contained = true;   ///< All state is in the object.
    static constexpr bool host_written = true;     ///< Only instructions of this program write the bytes.

    /// Refers to `size` bytes at `base`, or to none if `base` is null.
    buffer(void* base, std::size_t size) noexcept : window_{base, base == nullptr ? 0 : size} {}
    /// Refers to the bytes of an array, a `std::array`, a `std::vector` or another contiguous range.
    explicit buffer(std::span<std::byte> bytes) noexcept : buffer{bytes.data(), bytes.size()} {}
    /// Refers to the bytes of such a range of `unsigned char` or `std::uint8_t`.
    explicit buffer(std::span<unsigned char> bytes) noexcept : buffer{bytes.data(), bytes.size()} {}

    /// Returns the size of the window in bytes.
    [[nodiscard]] std::size_t capacity() const noexcept { return window_.capacity(); }
    /// Acquires the whole window from its first suitably aligned byte on. Fails with `window_error`.
    [[nodiscard]] acquired<buffer> acquire(layout wanted) noexcept { return window_.acquire<buffer>(wanted); }
    /// Makes the window available again.
    void release(region<void*> held) noexcept { window_.release(held); }

private:
    window window_;
};

static_assert(self_contained_device<buffer> && bounded_device<buffer> && !embedded_device<buffer>);

}  // namespace host
}  // namespace v1
}  // namespace allot
