// A VTCM manager that keeps the rules of Qualcomm's: what allot::hexagon::vtcm_manager calls is defined beside this.
//
// A request is rounded up to whole pages of 4 KiB or, for a single page, to a size that a page can have; one owner holds
// the memory; it is released by the address that was given. Nothing is ever zeroed: the memory is filled with a pattern
// whenever it changes hands.
#pragma once

#include <cstddef>

namespace fake_vtcm {

inline constexpr unsigned most = 65536;
inline constexpr unsigned char unwritten = 0xA5;
extern std::byte window[most];

struct manager {
    unsigned total = most;  // bytes that this chip has
    unsigned pages = 1;     // in so many pages
    unsigned shift = 0;     // bytes between the window and what is given: no chip has any
    const void* held = nullptr;
    unsigned requests = 0, releases = 0, bad_releases = 0;
    bool single_page = false;  // what was asked for last
};
extern manager state;

/// Another chip, and nobody holds anything.
void reset(manager fresh = {}) noexcept;

}  // namespace fake_vtcm
