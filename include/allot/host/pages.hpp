// SPDX-License-Identifier: BSL-1.0
// pages: anonymous pages from the operating system (Linux), zeroed, aligned to a page or to a huge page.
//
//     allot::arena<allot::host::pages<>, allot::best_fit<>> memory{{}, 64_MiB};
//     allot::host::pages<allot::host::pages_options{.huge = allot::host::huge_pages::required}> device;
//
// `required` takes huge pages from the system's reserve (MAP_HUGETLB) or refuses with the system's error: where a region
// is given, it is huge pages. `advised` takes ordinary pages, aligned to a huge one, and advises the kernel to join
// them (MADV_HUGEPAGE), which it may do or not. To prefer without insisting, put one arena of each into a `fallback`.
//
// Complexity: a system call for each region. Memory: sizes are rounded up to whole pages. Thread safety: that of the
// system calls; there is no state.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>
#include <allot/core/literals.hpp>

#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

namespace allot {
inline namespace v1 {
namespace host {

enum class huge_pages : unsigned char { none, advised, required };

struct pages_options {
    huge_pages huge = huge_pages::none;
    std::size_t huge_size = 2_MiB;  // bytes of a huge page, one of the system's sizes
};

template <pages_options Options = pages_options{}>
class pages {
    static_assert(is_alignment(Options.huge_size) && Options.huge_size >= 64_KiB,
                  "allot: pages_options::huge_size is a power of two, and more than an ordinary page");

public:
    using address_model = raw_pointer;
    using error = int;  // errno
    static constexpr bool host_accessible = true;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = Options.huge == huge_pages::none ? 4096 : Options.huge_size;
    static constexpr std::size_t granularity = min_align;
    static constexpr dl_device_type dl_device = dl_device_type::cpu;

    /// Zeroed pages, at least as many bytes as asked for. An alignment above a page is reached by mapping more and
    /// unmapping what is over. Refused with errno.
    [[nodiscard]] acquired<pages> acquire(layout wanted) noexcept {
        if (!wanted.is_valid()) return acquired<pages>::failure(EINVAL);
        const auto page = Options.huge == huge_pages::none ? static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))
                                                           : Options.huge_size;
        if (wanted.align < page) wanted.align = page;
        if (!checked_align_up(wanted.size, page, wanted.size)) return acquired<pages>::failure(ENOMEM);
        if constexpr (Options.huge == huge_pages::required) {
            if (wanted.align != page) return acquired<pages>::failure(EINVAL);
            void* const base = map(wanted.size, MAP_HUGETLB | size_flag);
            if (base == MAP_FAILED) return acquired<pages>::failure(errno);
            return region<void*>{base, wanted.size, page};
        }
        std::size_t mapped = 0;
        if (!checked_add(wanted.size, wanted.align, mapped)) return acquired<pages>::failure(ENOMEM);
        void* const raw = map(mapped, 0);
        if (raw == MAP_FAILED) return acquired<pages>::failure(errno);
        const std::size_t from = raw_pointer::position(raw);
        const std::size_t before = align_up(from, wanted.align) - from;
        void* const base = raw_pointer::locate(raw, before);
        if (before != 0) ::munmap(raw, before);
        if (const std::size_t after = mapped - before - wanted.size; after != 0)
            ::munmap(raw_pointer::locate(base, wanted.size), after);
        if constexpr (Options.huge == huge_pages::advised) ::madvise(base, wanted.size, MADV_HUGEPAGE);
        return region<void*>{base, wanted.size, alignment_of(from + before)};
    }

    void release(region<void*> held) noexcept { ::munmap(held.base, held.size); }

private:
    // mmap takes the size of a huge page as its logarithm, in the upper bits; without it, it takes the system's default.
    static constexpr int size_flag = static_cast<int>(static_cast<unsigned>(std::countr_zero(Options.huge_size)) << 26);

    [[nodiscard]] static void* map(std::size_t size, int flags) noexcept {
        return ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    }
};

static_assert(device<pages<>> && !bounded_device<pages<>>);

}  // namespace host
}  // namespace v1
}  // namespace allot
