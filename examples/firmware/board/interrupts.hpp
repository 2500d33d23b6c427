// The one interrupt that a program here uses: a tick, which calls `system_tick`.
#pragma once

#include <cstdint>

namespace board {

/// While there is one, no interrupt comes. They may be nested.
class critical_section {
public:
    critical_section() noexcept;
    ~critical_section();
    critical_section(const critical_section&) = delete;
    critical_section& operator=(const critical_section&) = delete;

private:
    std::uint32_t before_;
};

/// From now on `system_tick` interrupts the program each time when the core has done so many cycles.
void start_ticks(std::uint32_t cycles) noexcept;
void stop_ticks() noexcept;
/// Sleeps until an interrupt was there, or has to be served.
void wait_for_interrupt() noexcept;

}  // namespace board
