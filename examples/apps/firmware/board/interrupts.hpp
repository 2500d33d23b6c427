// SPDX-License-Identifier: BSL-1.0
// The interrupt of this program: a tick that calls `system_tick`.
#pragma once

#include <cstdint>

namespace board {

/// A lock for allot::synchronized: disables interrupts while it is held.
class interrupts_off {
public:
    void lock() noexcept;
    void unlock() noexcept;

private:
    std::uint32_t before_ = 0;  // written with interrupts disabled
};

/// Starts ticks: `system_tick` interrupts the program every given number of core cycles.
void start_ticks(std::uint32_t cycles) noexcept;
void stop_ticks() noexcept;
/// Sleeps until an interrupt occurs or is pending.
void wait_for_interrupt() noexcept;

}  // namespace board
