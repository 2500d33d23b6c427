// SPDX-License-Identifier: BSL-1.0
// reserving_device: a device that reserves addresses and commits their pages on demand, for any operating system.
//
//     struct my_system {                                                  // for example, an RTOS with an MMU
//         using error = int;
//         static constexpr error invalid = EINVAL, out_of_memory = ENOMEM;
//         static constexpr std::size_t min_align = 4096;                  // alignment of every range
//         static std::size_t largest_align() noexcept;                    // of a region, at least min_align
//         static void* reserve(std::size_t size) noexcept;                // addresses without memory, or null
//         static bool commit(void* from, std::size_t size) noexcept;      // zeroed, readable and writable pages
//         static bool decommit(void* from, std::size_t size) noexcept;    // the addresses stay reserved
//         static void release(void* base, std::size_t size) noexcept;     // a whole range
//         static error last_error() noexcept;                             // of a function that failed
//         static constexpr bool discarded_is_zero = true;                 // optional, for discard_holes.hpp:
//         static std::size_t discard_unit() noexcept;                     // the size of a page
//         static bool discard(void* from, std::size_t size) noexcept;     // committed pages stay accessible
//     };
//     using virtual_memory = allot::reserving_device<my_system>;
//
//     reserved   │ committed: region │        no access         │
//                └─ base             └─ the end moves with resize
//
// When to use: to port `virtual_memory` to another operating system.
// When not to use: on Linux and Windows. Use `host::virtual_memory` and `windows::virtual_memory`, which are this
// device.
// Complexity: one or two calls of the system for each acquire, resize, and release.
// Memory: page tables for committed pages. The object stores one size.
// Thread safety: concurrent calls are safe for different regions if those of the system are, because the object does
// not change.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/literals.hpp>

namespace allot {
inline namespace v1 {

/// Device whose regions grow and shrink at their end. Each region has its own range of reserved addresses.
template <class System>
class reserving_device : public pointer_memory_traits<reserving_device<System>> {
public:
    using error = typename System::error;                        ///< An error of the system.
    static constexpr std::size_t min_align = System::min_align;  ///< Minimum alignment of a region, in bytes.
    /// Region sizes are multiples of this, in bytes: a multiple of the page sizes that Linux and Windows use.
    static constexpr std::size_t granularity = 64_KiB;
    static constexpr bool host_written = true;  ///< Only instructions of this program write the bytes.

    /// Reserves at least `reserve` bytes of addresses for each region. The size is rounded up to the granularity.
    explicit constexpr reserving_device(std::size_t reserve) noexcept : reserve_{reserve} {}

    /// Returns a device that reserves as many addresses as the system currently allows: `most`, or a half, a quarter, …
    /// of it, down to `least`. For processes with limited addresses.
    [[nodiscard]] static reserving_device up_to(std::size_t most, std::size_t least = granularity) noexcept {
        for (std::size_t reserve = most; reserve > least; reserve /= 2) {
            reserving_device trial{reserve};
            if (const auto answer = trial.acquire({1, 1})) {
                trial.release(*answer);
                return trial;
            }
        }
        return reserving_device{least};
    }
    /// Returns the number of bytes of addresses that each region reserves.
    [[nodiscard]] std::size_t reserve() const noexcept { return reserve_; }

    /// Reserves a range and commits zeroed pages at its start. Fails with `System::invalid` for an invalid layout or an
    /// alignment above `System::largest_align()`; `System::out_of_memory` for more bytes than the reserve; otherwise
    /// the error of the system.
    [[nodiscard]] result<region<void*>, error> acquire(layout wanted) noexcept {
        const std::size_t align = System::largest_align();
        if (!wanted.is_valid() || wanted.align > align) return fail(System::invalid);
        std::size_t range = 0;
        if (!checked_align_up(reserve_, granularity, range) ||
            !checked_align_up(wanted.size, granularity, wanted.size) || wanted.size > range)
            return fail(System::out_of_memory);
        void* const base = System::reserve(range);
        if (base == nullptr) return fail(System::last_error());
        if (!System::commit(base, wanted.size)) {
            const error reason = System::last_error();
            System::release(base, range);
            return fail(reason);
        }
        return region<void*>{base, wanted.size, align};
    }

    /// Moves the end of a region. Precondition: `size` is a nonzero multiple of the granularity. Fails with
    /// `System::out_of_memory` for more bytes than the reserve; otherwise the error of the system.
    [[nodiscard]] result<region<void*>, error> resize(region<void*> held, std::size_t size) noexcept {
        if (size > align_up(reserve_, granularity)) return fail(System::out_of_memory);
        void* const old_end = raw_pointer::locate(held.base, held.size);
        void* const new_end = raw_pointer::locate(held.base, size);
        if (size > held.size && !System::commit(old_end, size - held.size)) return fail(System::last_error());
        if (size < held.size && !System::decommit(new_end, held.size - size)) return fail(System::last_error());
        held.size = size;
        return held;
    }

    /// Whether discarded pages read as zero.
    static constexpr bool discarded_is_zero = requires { requires System::discarded_is_zero; };
    /// Returns the unit of `discard`, in bytes.
    [[nodiscard]] std::size_t discard_unit() const noexcept
        requires requires { System::discard_unit(); }
    {
        return System::discard_unit();
    }
    /// Returns the memory of pages inside a region to the system, and keeps them accessible. Returns false on failure.
    /// Precondition: the address and the size are multiples of `discard_unit()`.
    [[nodiscard]] bool discard(void* from, std::size_t size) const noexcept
        requires requires { System::discard(from, size); }
    {
        return System::discard(from, size);
    }

    /// Releases a region and its reserved range.
    void release(region<void*> held) noexcept { System::release(held.base, align_up(reserve_, granularity)); }

private:
    [[nodiscard]] static result<region<void*>, error> fail(error reason) noexcept {
        return result<region<void*>, error>::failure(reason);
    }

    std::size_t reserve_;
};

}  // namespace v1
}  // namespace allot
