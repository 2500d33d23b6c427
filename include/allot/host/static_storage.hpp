// SPDX-License-Identifier: BSL-1.0
// static_storage: host memory that the linker or the object provides: static_storage<Size> and static_buffer<Object>.
//
//     static allot::arena<allot::host::static_storage<64_KiB>, allot::bump<>> in_object;
//
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
// When to use: for firmware, for a fixed memory budget, and for code that must not call operator new.
// When not to use: for memory whose size is known only at run time (buffer.hpp, heap.hpp).
// Complexity: constant. Memory: a flag. Thread safety: none.
#pragma once

#include <allot/host/buffer.hpp>

namespace allot {
inline namespace v1 {
namespace host {

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
    static constexpr bool host_written = true;    ///< Only instructions of this program write the bytes.

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
    static constexpr bool host_written = true;    ///< Only instructions of this program write the bytes.

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

static_assert(embedded_device<static_storage<64>>);

}  // namespace host
}  // namespace v1
}  // namespace allot
