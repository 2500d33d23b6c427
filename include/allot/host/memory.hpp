// SPDX-License-Identifier: BSL-1.0
// Host memory: the heap, the caller's own bytes, static storage.
//
//     host::heap                      regions from operator new
//     host::buffer{bytes}             bytes of the caller's: an array, a linker section between two symbols, a mapping
//     host::static_storage<64_KiB>    an array inside the device object, so inside the arena that holds it
//     host::static_buffer<object>     an object with static storage duration, wherever the linker puts it
//
// Where an arena with static storage lies is where its array lies: as a global it is .bss, as a local it is on the
// stack; `__attribute__((section("…")))` on the arena moves it. It cannot be moved or copied.
// A linker section that nobody zeroes or copies at start-up holds bytes alone, and the arena lies elsewhere:
//
//     struct alignas(32) slow_memory { std::byte bytes[48_KiB]; };
//     [[gnu::section(".arena")]] slow_memory slow;
//     allot::arena<allot::host::static_buffer<slow>, allot::bump<>> memory;   // its size and alignment are known
//
// Nothing here allocates behind the caller's back but `heap`. Thread safety: none, but that of operator new.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>

#include <new>

namespace allot {
inline namespace v1 {
namespace host {

/// The host heap. Its only error is that there is no memory.
struct heap {
    using address_model = raw_pointer;
    enum class error : unsigned char { none, no_memory };
    static constexpr bool host_accessible = true;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = dl_device_type::cpu;

    [[nodiscard]] acquired<heap> acquire(layout wanted) noexcept {
        if (!wanted.is_valid()) return acquired<heap>::failure(error::no_memory);
        if (wanted.align < min_align) wanted.align = min_align;
        // The C++ library rounds the size up to the alignment, and not every one checks that this fits.
        std::size_t rounded = 0;
        if (!checked_add(wanted.size, wanted.align, rounded) || rounded > largest)
            return acquired<heap>::failure(error::no_memory);
        void* const base = ::operator new(wanted.size, std::align_val_t{wanted.align}, std::nothrow);
        if (base == nullptr) return acquired<heap>::failure(error::no_memory);
        return region<void*>{base, wanted.size, wanted.align};
    }
    void release(region<void*> held) noexcept { ::operator delete(held.base, std::align_val_t{held.align}); }

private:
    static constexpr std::size_t largest = std::numeric_limits<std::ptrdiff_t>::max();
};

/// Why a device with one window refuses.
enum class window_error : unsigned char {
    none,
    in_use,     // its window was acquired before
    too_small,  // it has fewer bytes than asked for, after alignment
};

/// The acquire and release of a device with one window of memory. Not a device by itself: one that uses it states its
/// own traits.
class window {
public:
    constexpr window(void* base, std::size_t size) noexcept : base_{base}, size_{size} {}

    [[nodiscard]] constexpr std::size_t capacity() const noexcept { return size_; }

    /// All of the window, from its first suitably aligned byte on: whoever acquires it has it alone.
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
    void release(region<void*>) noexcept { in_use_ = false; }

private:
    void* base_;
    std::size_t size_;
    bool in_use_ = false;
};

/// The caller's own bytes, which outlive the arena. Any base will do: the alignment it has is found out.
class buffer {
public:
    using address_model = raw_pointer;
    using error = window_error;
    static constexpr bool host_accessible = true;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = 1;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = dl_device_type::cpu;
    static constexpr bool self_contained = true;

    buffer(void* base, std::size_t size) noexcept : window_{base, size} {}
    template <std::size_t Size>
    explicit buffer(std::byte (&bytes)[Size]) noexcept : buffer{bytes, Size} {}

    [[nodiscard]] std::size_t capacity() const noexcept { return window_.capacity(); }
    [[nodiscard]] acquired<buffer> acquire(layout wanted) noexcept { return window_.acquire<buffer>(wanted); }
    void release(region<void*> held) noexcept { window_.release(held); }

private:
    window window_;
};

/// `Size` bytes inside the object. `Align` is the base's alignment, known to the compiler.
template <std::size_t Size, std::size_t Align = alignof(std::max_align_t)>
class static_storage {
    static_assert(Size > 0, "allot: static storage has at least one byte");

public:
    using address_model = raw_pointer;
    using error = window_error;
    static constexpr bool host_accessible = true;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = Align;
    static constexpr std::size_t granularity = alignment_of(Size | Align);
    static constexpr dl_device_type dl_device = dl_device_type::cpu;
    static constexpr bool self_contained = true;

    constexpr static_storage() noexcept {}  // not defaulted: that would have its bytes zeroed wherever it is written `{}`
    static_storage(const static_storage&) = delete;
    static_storage& operator=(const static_storage&) = delete;

    [[nodiscard]] static constexpr std::size_t capacity() noexcept { return Size; }
    [[nodiscard]] void* base() const noexcept { return bytes_; }
    [[nodiscard]] acquired<static_storage> acquire(layout wanted) noexcept {
        if (in_use_) return acquired<static_storage>::failure(window_error::in_use);
        if (!wanted.is_valid() || wanted.size > Size || wanted.align > Align)
            return acquired<static_storage>::failure(window_error::too_small);
        in_use_ = true;
        return region<void*>{bytes_, Size, Align};
    }
    void release(region<void*>) noexcept { in_use_ = false; }

private:
    bool in_use_ = false;
    alignas(Align) mutable std::byte bytes_[Size];  // memory, not a part of the device's value
};

/// All bytes of `Object`, which has static storage duration and nothing else in it. Two devices of one object would both
/// hand out its bytes: one arena takes it, and is there for good.
template <auto& Object>
class static_buffer {
    using object = std::remove_reference_t<decltype(Object)>;
    static_assert(std::is_trivially_default_constructible_v<object> && !std::is_const_v<object>,
                  "allot: a static buffer is of bytes that nobody has to construct, and that may be written");

public:
    using address_model = raw_pointer;
    using error = window_error;
    static constexpr bool host_accessible = true;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = alignof(object);
    static constexpr std::size_t granularity = alignment_of(sizeof(object) | alignof(object));
    static constexpr dl_device_type dl_device = dl_device_type::cpu;
    static constexpr bool self_contained = true;

    constexpr static_buffer() noexcept = default;
    static_buffer(const static_buffer&) = delete;
    static_buffer& operator=(const static_buffer&) = delete;

    [[nodiscard]] static constexpr std::size_t capacity() noexcept { return sizeof(object); }
    [[nodiscard]] static void* base() noexcept { return &Object; }
    [[nodiscard]] acquired<static_buffer> acquire(layout wanted) noexcept {
        if (in_use_) return acquired<static_buffer>::failure(window_error::in_use);
        if (!wanted.is_valid() || wanted.size > sizeof(object) || wanted.align > alignof(object))
            return acquired<static_buffer>::failure(window_error::too_small);
        in_use_ = true;
        return region<void*>{&Object, sizeof(object), alignof(object)};
    }
    void release(region<void*>) noexcept { in_use_ = false; }

private:
    bool in_use_ = false;
};

static_assert(device<heap> && self_contained_device<buffer> && embedded_device<static_storage<64>>);
static_assert(!self_contained_device<heap> && bounded_device<buffer> && !embedded_device<buffer>);

}  // namespace host
}  // namespace v1
}  // namespace allot
