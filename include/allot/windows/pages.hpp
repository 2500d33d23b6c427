// SPDX-License-Identifier: BSL-1.0
// pages: zeroed pages from the operating system (Windows), aligned to 64 KiB or to a large page.
//
//     allot::arena<allot::windows::pages<>, allot::best_fit<>> memory{{}, 64_MiB};
//     allot::windows::pages<allot::windows::pages_options{.huge = allot::windows::huge_pages::required}> device;
//
// The device is `host::pages` of Linux with the functions of Windows: VirtualAlloc and VirtualFree. `required` takes
// large pages (MEM_LARGE_PAGES), which the system never writes to the page file. Each region consists of large pages,
// or `acquire` fails. The process needs a privilege: see `large_pages.hpp`. To prefer large pages without requiring
// them, combine one arena of each kind in a `fallback`.
//
// When to use: for large regions, for memory that reads as zero, and for memory that returns to the system on release.
// When not to use: for small or frequent regions, because each region costs system calls and 64 KiB of addresses. Use
// `host::heap`, or put `cached` above `pages`.
// Complexity: one or two system calls for each acquire and release. Large pages take longer, because the system writes
// zeros at once.
// Memory: sizes are rounded up to whole pages. An alignment above 64 KiB reserves as many more addresses, without
// memory. No state.
// Thread safety: concurrent calls are safe, because the system calls are.
// Sources: VirtualAlloc, VirtualFree, VirtualQuery, "Large-Page Support" in Microsoft's documentation.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>
#include <allot/core/literals.hpp>
#include <allot/windows/detail/kernel.hpp>
#include <allot/windows/error.hpp>

namespace allot {
inline namespace v1 {
namespace windows {

/// Use of large pages, by the names of `host::pages`.
enum class huge_pages : unsigned char {
    none,      ///< Ordinary pages.
    required,  ///< Large pages (MEM_LARGE_PAGES), or an error.
};

/// Options of `pages`.
struct pages_options {
    huge_pages huge = huge_pages::none;  ///< Use of large pages.
    std::size_t huge_size = 2_MiB;       ///< Size of a large page in bytes, as GetLargePageMinimum returns it.
};

/// Device that allocates committed pages.
template <pages_options Options = pages_options{}>
class pages : public pointer_memory_traits<pages<Options>> {
    static_assert(is_alignment(Options.huge_size) && Options.huge_size >= 64_KiB,
                  "allot: pages_options::huge_size must be a power of two and at least 64 KiB");
    static constexpr bool is_huge = Options.huge == huge_pages::required;

public:
    using error = error_code;  ///< A code of GetLastError.
    /// Minimum alignment of a region, in bytes.
    static constexpr std::size_t min_align = is_huge ? Options.huge_size : detail::address_unit;
    /// Region sizes are multiples of this, in bytes.
    static constexpr std::size_t granularity = is_huge ? Options.huge_size : detail::page;
    static constexpr bool host_written = true;  ///< Only instructions of this program write the bytes.

    /// Allocates zeroed pages of at least `wanted.size` bytes. Fails with `invalid_parameter` for an invalid layout or,
    /// with `required`, for an alignment above a large page; `not_enough_memory` if the size overflows; with
    /// `required`, `not_supported` if large pages have another size and `privilege_not_held` if the process may not
    /// lock pages; otherwise the error of VirtualAlloc.
    [[nodiscard]] acquired<pages> acquire(layout wanted) noexcept {
        if (!wanted.is_valid() || (is_huge && wanted.align > min_align)) return fail(invalid_parameter);
        if (!checked_align_up(wanted.size, granularity, wanted.size)) return fail(not_enough_memory);
        if constexpr (is_huge) {
            if (detail::GetLargePageMinimum() != Options.huge_size) return fail(not_supported);
            return allocate(wanted.size, detail::mem_large_pages);
        } else {
            return wanted.align <= min_align ? allocate(wanted.size, 0) : allocate_aligned(wanted);
        }
    }

    /// Releases the pages of a region.
    void release(region<void*> held) noexcept {
        detail::release(is_huge ? held.base : detail::reservation_of(held.base));
    }

private:
    [[nodiscard]] static acquired<pages> fail(error code) noexcept { return acquired<pages>::failure(code); }

    [[nodiscard]] static acquired<pages> allocate(std::size_t size, detail::dword type) noexcept {
        type |= detail::mem_reserve | detail::mem_commit;
        void* const base = detail::VirtualAlloc(nullptr, static_cast<detail::size>(size), type, detail::page_readwrite);
        if (base == nullptr) return fail(detail::GetLastError());
        return region<void*>{base, size, alignment_of(raw_pointer::position(base))};
    }

    // A reservation ends as a whole, so that the addresses around the region stay reserved until its release.
    [[nodiscard]] static acquired<pages> allocate_aligned(layout wanted) noexcept {
        std::size_t range = 0;
        if (!checked_add(wanted.size, wanted.align, range)) return fail(not_enough_memory);
        void* const reserved = detail::reserve(range);
        if (reserved == nullptr) return fail(detail::GetLastError());
        const std::size_t from = raw_pointer::position(reserved), at = align_up(from, wanted.align);
        void* const base = raw_pointer::locate(reserved, at - from);
        if (!detail::commit(base, wanted.size)) {
            const error code = detail::GetLastError();
            detail::release(reserved);
            return fail(code);
        }
        return region<void*>{base, wanted.size, alignment_of(at)};
    }
};

static_assert(device<pages<>> && !bounded_device<pages<>>);

}  // namespace windows
}  // namespace v1
}  // namespace allot
