// A fake VTCM manager that enforces the rules of Qualcomm's. fake_vtcm.cpp defines the functions that
// allot::hexagon::vtcm_manager calls.
//
// A request is rounded up to pages of 4 KiB or, for a single page, to a valid page size. The memory has one owner and
// is released by the address that the request returned. It is never zeroed: a pattern fills it when its owner changes.
#pragma once

#include <cstddef>

namespace fake_vtcm {

inline constexpr unsigned most = 65536;
inline constexpr unsigned char unwritten = 0xA5;
extern std::byte window[most];

struct manager {
    unsigned total = most;  // bytes of VTCM on this chip
    unsigned pages = 1;     // number of pages
    unsigned shift = 0;     // distance from the window to the returned address; 0 on real chips
    const void* held = nullptr;
    unsigned requests = 0, releases = 0, bad_releases = 0;
    bool single_page = false;  // of the last request
};
extern manager state;

/// Replaces the chip. The memory has no owner.
void reset(manager fresh = {}) noexcept;

}  // namespace fake_vtcm
