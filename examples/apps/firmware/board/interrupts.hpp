// SPDX-License-Identifier: BSL-1.0
// The one interrupt that a program here uses: a tick, which calls `system_tick`.
#pragma once

#include <cstdint>

namespace board {

/// A lock for allot::synchronized: while it is held, no interrupt comes.
class interrupts_off {
public:
    void lock() noexcept;
    void unlock() noexcept;

private:
    std::uint32_t before_ = 0;  // written while they are off
};

/// From now on `system_tick` interrupts the program each time when the core has done so many cycles.
void start_ticks(std::uint32_t cycles) noexcept;
void stop_ticks() noexcept;
/// Sleeps until an interrupt was there, or has to be served.
void wait_for_interrupt() noexcept;

}  // namespace board
