// SPDX-License-Identifier: BSL-1.0
// page_frames: the physical frames of pages, from /proc/self/pagemap.
#pragma once

#include <allot/address/raw_pointer.hpp>

#include <cerrno>
#include <unistd.h>

namespace allot {
inline namespace v1 {
namespace host {
namespace detail {

[[nodiscard]] inline std::uint64_t page_size() noexcept { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

// Finds the frame of the page at this address. Reads the page first, because the first access maps it. `pagemap` is the
// descriptor of /proc/self/pagemap. Fails with EPERM if the system hides frames, and with EIO if the page has none.
[[nodiscard]] inline int first_frame(int pagemap, void* address, std::uint64_t& frame) noexcept {
    constexpr std::uint64_t present = std::uint64_t{1} << 63, number = (std::uint64_t{1} << 55) - 1;
    static_cast<void>(*static_cast<const volatile unsigned char*>(address));
    std::uint64_t entry = 0;
    const auto at = static_cast<off_t>(raw_pointer::position(address) / page_size() * sizeof entry);
    const ssize_t got = ::pread(pagemap, &entry, sizeof entry, at);
    if (got != static_cast<ssize_t>(sizeof entry)) return got < 0 ? errno : EIO;
    frame = entry & number;
    if ((entry & present) == 0) return EIO;
    return frame == 0 ? EPERM : 0;
}

// Finds the frame of the first page, and compares the frame of every other page with the frame before it. Fails with
// EADDRNOTAVAIL if they are not adjacent.
[[nodiscard]] inline int adjacent_frames(int pagemap, void* base, std::size_t size, std::uint64_t& frame) noexcept {
    const auto page = static_cast<std::size_t>(page_size());
    if (const int reason = first_frame(pagemap, base, frame); reason != 0) return reason;
    for (std::size_t at = page; at < size; at += page) {
        std::uint64_t next = 0;
        if (const int reason = first_frame(pagemap, raw_pointer::locate(base, at), next); reason != 0) return reason;
        if (next != frame + at / page) return EADDRNOTAVAIL;
    }
    return 0;
}

}  // namespace detail
}  // namespace host
}  // namespace v1
}  // namespace allot
