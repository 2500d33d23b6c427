// SPDX-License-Identifier: BSL-1.0
// heap: host memory from operator new.
//
//     allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1_MiB};
//
// When to use: for growth, and on hosts with an operating system.
// When not to use: for memory that must be locked, physically contiguous, or known to a driver. Use `pinned_pages`,
// `contiguous_pages`, or a DMA device. Firmware and fixed memory budgets use static_storage.hpp.
// Complexity: one call of operator new or operator delete for each region. Memory: none. Thread safety: that of
// operator new; the device has no state.
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
    static constexpr bool host_written = true;     ///< Only instructions of this program write the bytes.

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

static_assert(device<heap> && !self_contained_device<heap>);

}  // namespace host
}  // namespace v1
}  // namespace allot
