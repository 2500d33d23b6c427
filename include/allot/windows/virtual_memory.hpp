// SPDX-License-Identifier: BSL-1.0
// virtual_memory: reserved addresses whose pages are committed on demand (Windows). Growth never moves a block.
//
//     using memory = allot::arena<allot::windows::virtual_memory, allot::best_fit<>, allot::growth::contiguous<>>;
//     memory arena{allot::windows::virtual_memory{64_GiB}};               // reserves addresses, not memory
//     memory other{allot::windows::virtual_memory::up_to(64_GiB)};        // fewer if the process has a limit
//
//     reserved   │ committed: region │        no access         │
//                └─ base             └─ the end moves with resize
//
// The device is `host::virtual_memory` of Linux with the functions of Windows: VirtualAlloc and VirtualFree. The pages
// of a region are readable and writable. Any access behind its end is a fault. Shrinking returns pages to the system,
// and they read as zero when they are committed again. Each region reserves its own range. Windows commits no more
// memory than it has: if memory is short, `resize` fails. On Linux, the first access may fail instead.
//
// When to use: for one contiguous arena that grows to an unknown size and keeps every address.
// When not to use: in 32-bit programs, where addresses are scarce; for alignments above 64 KiB.
// Complexity: one or two system calls for each acquire, resize, and release.
// Memory: page tables for committed pages. The object stores one size.
// Thread safety: concurrent calls are safe for different regions, because the system calls are and the object does not
// change.
// Sources: VirtualAlloc, VirtualFree in Microsoft's documentation.
#pragma once

#include <allot/address/reserving_device.hpp>
#include <allot/windows/detail/kernel.hpp>
#include <allot/windows/error.hpp>

namespace allot {
inline namespace v1 {
namespace windows {

/// The functions of Windows that `virtual_memory` calls.
struct address_space {
    using error = error_code;                                  ///< A code of GetLastError.
    static constexpr error invalid = invalid_parameter;        ///< For an invalid layout, or an alignment above 64 KiB.
    static constexpr error out_of_memory = not_enough_memory;  ///< For more bytes than the reserve.
    static constexpr std::size_t min_align = detail::address_unit;  ///< Alignment of every range, in bytes.

    /// Returns the largest alignment in bytes, which is that of every range.
    [[nodiscard]] static std::size_t largest_align() noexcept { return min_align; }
    /// Reserves addresses without memory. Returns null on failure.
    [[nodiscard]] static void* reserve(std::size_t size) noexcept { return detail::reserve(size); }
    /// Gives memory to pages. Returns false on failure.
    [[nodiscard]] static bool commit(void* from, std::size_t size) noexcept { return detail::commit(from, size); }
    /// Returns the memory of pages to the system. Returns false on failure.
    [[nodiscard]] static bool decommit(void* from, std::size_t size) noexcept { return detail::decommit(from, size); }
    /// Releases a range.
    static void release(void* base, std::size_t) noexcept { detail::release(base); }
    /// Returns the error of a function that failed.
    [[nodiscard]] static error last_error() noexcept { return detail::GetLastError(); }
};

/// Device whose regions grow and shrink at their end. Its errors are codes of GetLastError.
using virtual_memory = reserving_device<address_space>;

static_assert(extensible_device<virtual_memory> && !bounded_device<virtual_memory>);

}  // namespace windows
}  // namespace v1
}  // namespace allot
