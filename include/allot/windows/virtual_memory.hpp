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
// The device is `host::virtual_memory` of Linux with the functions of Windows: VirtualAlloc and VirtualFree. The pages of
// a region are readable and writable. Any access behind its end is a fault. Shrinking returns pages to the system, and
// they read as zero when they are committed again. Each region reserves its own range. Windows commits no more memory
// than it has, so that `resize` fails and not the first access, as it may on Linux.
//
// When to use: for one contiguous arena that grows to an unknown size and keeps every address.
// When not to use: in 32-bit programs, where addresses are scarce; for alignments above 64 KiB.
// Complexity: one or two system calls for each acquire, resize, and release.
// Memory: page tables for committed pages. The object stores one size.
// Thread safety: concurrent calls are safe for different regions, because the system calls are and the object does not
// change.
// Sources: VirtualAlloc, VirtualFree in Microsoft's documentation.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>
#include <allot/core/literals.hpp>
#include <allot/windows/detail/kernel.hpp>
#include <allot/windows/error.hpp>

namespace allot {
inline namespace v1 {
namespace windows {

/// Device whose regions grow and shrink at their end.
class virtual_memory : public pointer_memory_traits<virtual_memory> {
public:
    using error = error_code;                                       ///< A code of GetLastError.
    static constexpr std::size_t min_align = detail::address_unit;  ///< Minimum alignment of a region, in bytes.
    static constexpr std::size_t granularity = 64_KiB;              ///< Region sizes are multiples of this, in bytes.
    static constexpr bool host_written = true;  ///< Only instructions of this program write the bytes.

    /// Reserves at least `reserve` bytes of addresses for each region. The size is rounded up to the granularity.
    explicit virtual_memory(std::size_t reserve) noexcept : reserve_{reserve} {}

    /// Returns a device that reserves as many addresses as the system currently allows: `most`, or a half, a quarter, …
    /// of it, down to `least`.
    [[nodiscard]] static virtual_memory up_to(std::size_t most, std::size_t least = granularity) noexcept {
        for (std::size_t reserve = most; reserve > least; reserve /= 2) {
            virtual_memory trial{reserve};
            if (const auto answer = trial.acquire({1, 1})) {
                trial.release(*answer);
                return trial;
            }
        }
        return virtual_memory{least};
    }
    /// Returns the number of bytes of addresses that each region reserves.
    [[nodiscard]] std::size_t reserve() const noexcept { return reserve_; }

    /// Reserves a range and commits zeroed pages at its start. Fails with `invalid_parameter` for an invalid layout or an
    /// alignment above 64 KiB; `not_enough_memory` for more bytes than the reserve; otherwise the error of VirtualAlloc.
    [[nodiscard]] acquired<virtual_memory> acquire(layout wanted) noexcept {
        if (!wanted.is_valid() || wanted.align > min_align) return acquired<virtual_memory>::failure(invalid_parameter);
        std::size_t range = 0;
        if (!checked_align_up(reserve_, granularity, range) ||
            !checked_align_up(wanted.size, granularity, wanted.size) || wanted.size > range)
            return acquired<virtual_memory>::failure(not_enough_memory);
        void* const base = detail::reserve(range);
        if (base == nullptr) return acquired<virtual_memory>::failure(detail::GetLastError());
        if (!detail::commit(base, wanted.size)) {
            const error reason = detail::GetLastError();
            detail::release(base);
            return acquired<virtual_memory>::failure(reason);
        }
        return region<void*>{base, wanted.size, min_align};
    }

    /// Moves the end of a region. Precondition: `size` is a nonzero multiple of the granularity. Fails with
    /// `not_enough_memory` for more bytes than the reserve; otherwise the error of VirtualAlloc.
    [[nodiscard]] acquired<virtual_memory> resize(region<void*> held, std::size_t size) noexcept {
        if (size > align_up(reserve_, granularity)) return acquired<virtual_memory>::failure(not_enough_memory);
        const bool grows = size > held.size;
        void* const from = raw_pointer::locate(held.base, grows ? held.size : size);
        const std::size_t changed = grows ? size - held.size : held.size - size;
        if (changed != 0 && !(grows ? detail::commit(from, changed) : detail::decommit(from, changed)))
            return acquired<virtual_memory>::failure(detail::GetLastError());
        held.size = size;
        return held;
    }

    /// Releases a region and its reserved range.
    void release(region<void*> held) noexcept { detail::release(held.base); }

private:
    std::size_t reserve_;
};

static_assert(extensible_device<virtual_memory> && !bounded_device<virtual_memory>);

}  // namespace windows
}  // namespace v1
}  // namespace allot
