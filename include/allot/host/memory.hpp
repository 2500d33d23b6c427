// SPDX-License-Identifier: BSL-1.0
// host: host memory from operator new, from existing bytes, or from static storage.
//
//     alignas(64) static std::byte bytes[4096];
//     allot::arena<allot::host::heap, allot::best_fit<>> on_heap{{}, 1_MiB};
//     allot::arena<allot::host::buffer, allot::bump<>> in_bytes{allot::host::buffer{bytes}};
//     static allot::arena<allot::host::static_storage<64_KiB>, allot::bump<>> in_object;
//
//     heap                      regions from operator new
//     buffer{bytes}             existing bytes: an array, a linker section between two symbols, a mapping
//     static_storage<64_KiB>    an array inside the device object, and therefore inside the arena that holds the device
//     static_buffer<object>     an object with static storage duration, at the address that the linker assigns
//
// An arena over `static_storage` contains the array. A global arena is in .bss, and a local arena is on the stack.
// `__attribute__((section("…")))` on the arena moves both. Such an arena cannot be copied or moved.
//
// If the start-up code neither zeroes nor copies a linker section, place only raw bytes in the section and keep the
// arena object in initialized memory:
//
//     struct alignas(32) slow_memory { std::byte bytes[48_KiB]; };
//     [[gnu::section(".arena")]] slow_memory slow;
//     allot::arena<allot::host::static_buffer<slow>, allot::bump<>> memory;   // the compiler knows size and alignment
//
// When to use: `heap` for growth and for hosts with an operating system; `buffer` for memory that the program already
// has; `static_storage` and `static_buffer` for firmware, for a fixed memory budget, and for code that must not call
// operator new.
// When not to use: for memory that must be locked, physically contiguous, or known to a driver. Use `pinned_pages`,
// `contiguous_pages`, or a DMA device.
// Complexity: `heap` calls operator new or operator delete once for each region. All other devices take constant time.
// Memory: `buffer` stores an address, a size, and a flag. `static_storage` and `static_buffer` store a flag. Only
// `heap` allocates.
// Thread safety: `heap` has no state and is as thread-safe as operator new. The other devices are not synchronized.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>

#include <new>

namespace allot {
inline namespace v1 {
namespace host {

/// Device that allocates regions with operator new.
struct heap : pointer_memory_traits<heap> {
    /// Reason for a failed `acquire`.
    enum class error : unsigned char {
        none,       ///< No error.
        no_memory,  ///< The layout is invalid, or operator new failed.
    };
    /// Minimum alignment of a region, in bytes.
    static constexpr std::size_t min_align = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
    static constexpr std::size_t granularity = 1;  ///< Region sizes are multiples of this, in bytes.

    /// Acquires a region of exactly `wanted.size` bytes. Fails with `error::no_memory`.
    [[nodiscard]] acquired<heap> acquire(layout wanted) noexcept {
        if (!wanted.is_valid()) return acquired<heap>::failure(error::no_memory);
        if (wanted.align < min_align) wanted.align = min_align;
        // The C++ library rounds the size up to the alignment. Some libraries do not check this sum for overflow.
        std::size_t rounded = 0;
        if (!checked_add(wanted.size, wanted.align, rounded) || rounded > largest)
            return acquired<heap>::failure(error::no_memory);
        void* const base = ::operator new(wanted.size, std::align_val_t{wanted.align}, std::nothrow);
        if (base == nullptr) return acquired<heap>::failure(error::no_memory);
        return region<void*>{base, wanted.size, wanted.align};
    }
    /// Returns a region to operator delete.
    void release(region<void*> held) noexcept { ::operator delete(held.base, std::align_val_t{held.align}); }

private:
    static constexpr std::size_t largest = std::numeric_limits<std::ptrdiff_t>::max();
};

/// Returns a human-readable description of the reason.
[[nodiscard]] constexpr const char* to_string(heap::error reason) noexcept {
    switch (reason) {
        case heap::error::none: return "no error";
        case heap::error::no_memory: return "the layout is invalid, or operator new failed";
    }
    return "unknown";
}

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
/// the address.
class buffer : public pointer_memory_traits<buffer> {
public:
    using error = window_error;                    ///< Reason for a failed `acquire`.
    static constexpr std::size_t min_align = 1;    ///< Minimum alignment of a region, in bytes.
    static constexpr std::size_t granularity = 1;  ///< Region sizes are multiples of this, in bytes.
    static constexpr bool self_contained = true;   ///< All state is in the object.

    /// Refers to `size` bytes at `base`.
    buffer(void* base, std::size_t size) noexcept : window_{base, size} {}
    /// Refers to all bytes of an array.
    template <std::size_t Size>
    explicit buffer(std::byte (&bytes)[Size]) noexcept : buffer{bytes, Size} {}

    /// Returns the size of the window in bytes.
    [[nodiscard]] std::size_t capacity() const noexcept { return window_.capacity(); }
    /// Acquires the whole window from its first suitably aligned byte on. Fails with `window_error`.
    [[nodiscard]] acquired<buffer> acquire(layout wanted) noexcept { return window_.acquire<buffer>(wanted); }
    /// Makes the window available again.
    void release(region<void*> held) noexcept { window_.release(held); }

private:
    window window_;
};

/// Device that contains its memory: `Size` bytes, aligned to `Align`. The compiler knows the alignment of the base.
template <std::size_t Size, std::size_t Align = alignof(std::max_align_t)>
class static_storage : public pointer_memory_traits<static_storage<Size, Align>> {
    static_assert(Size > 0, "allot: static_storage requires a size of at least one byte");

public:
    using error = window_error;                      ///< Reason for a failed `acquire`.
    static constexpr std::size_t min_align = Align;  ///< Minimum alignment of a region, in bytes.
    /// Region sizes are multiples of this, in bytes.
    static constexpr std::size_t granularity = alignment_of(Size | Align);
    static constexpr bool self_contained = true;  ///< All state is in the object.

    /// Leaves the bytes uninitialized.
    constexpr static_storage() noexcept {}  // not defaulted: `{}` would then zero the bytes
    static_storage(const static_storage&) = delete;
    static_storage& operator=(const static_storage&) = delete;

    /// Returns `Size`.
    [[nodiscard]] static constexpr std::size_t capacity() noexcept { return Size; }
    /// Returns the address of the first byte.
    [[nodiscard]] void* base() const noexcept { return bytes_; }
    /// Acquires all bytes. Fails with `window_error`.
    [[nodiscard]] acquired<static_storage> acquire(layout wanted) noexcept {
        if (in_use_) return acquired<static_storage>::failure(window_error::in_use);
        if (!wanted.is_valid() || wanted.size > Size || wanted.align > Align)
            return acquired<static_storage>::failure(window_error::too_small);
        in_use_ = true;
        return region<void*>{bytes_, Size, Align};
    }
    /// Makes the bytes available again.
    void release(region<void*>) noexcept { in_use_ = false; }

private:
    bool in_use_ = false;
    alignas(Align) mutable std::byte bytes_[Size];  // mutable: the bytes are not part of the value of the device
};

/// Device over all bytes of `Object`, which has static storage duration and no other use. Two devices over one object
/// would hand out the same bytes, so create only one arena over it, and keep that arena for the life of the program.
template <auto& Object>
class static_buffer : public pointer_memory_traits<static_buffer<Object>> {
    using object = std::remove_reference_t<decltype(Object)>;
    static_assert(std::is_trivially_default_constructible_v<object> && !std::is_const_v<object>,
                  "allot: static_buffer requires a non-const object of a trivially default constructible type");

public:
    using error = window_error;                                ///< Reason for a failed `acquire`.
    static constexpr std::size_t min_align = alignof(object);  ///< Minimum alignment of a region, in bytes.
    /// Region sizes are multiples of this, in bytes.
    static constexpr std::size_t granularity = alignment_of(sizeof(object) | alignof(object));
    static constexpr bool self_contained = true;  ///< All state is in the object.

    /// Creates a device whose bytes are not acquired.
    constexpr static_buffer() noexcept = default;
    static_buffer(const static_buffer&) = delete;
    static_buffer& operator=(const static_buffer&) = delete;

    /// Returns the size of `Object` in bytes.
    [[nodiscard]] static constexpr std::size_t capacity() noexcept { return sizeof(object); }
    /// Returns the address of `Object`.
    [[nodiscard]] static void* base() noexcept { return &Object; }
    /// Acquires all bytes. Fails with `window_error`.
    [[nodiscard]] acquired<static_buffer> acquire(layout wanted) noexcept {
        if (in_use_) return acquired<static_buffer>::failure(window_error::in_use);
        if (!wanted.is_valid() || wanted.size > sizeof(object) || wanted.align > alignof(object))
            return acquired<static_buffer>::failure(window_error::too_small);
        in_use_ = true;
        return region<void*>{&Object, sizeof(object), alignof(object)};
    }
    /// Makes the bytes available again.
    void release(region<void*>) noexcept { in_use_ = false; }

private:
    bool in_use_ = false;
};

static_assert(device<heap> && self_contained_device<buffer> && embedded_device<static_storage<64>>);
static_assert(!self_contained_device<heap> && bounded_device<buffer> && !embedded_device<buffer>);

}  // namespace host
}  // namespace v1
}  // namespace allot
