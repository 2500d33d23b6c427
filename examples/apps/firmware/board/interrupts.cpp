// SPDX-License-Identifier: BSL-1.0
#include "interrupts.hpp"

namespace board {
namespace {

volatile std::uint32_t& system_register(std::uintptr_t address) noexcept {
    return *reinterpret_cast<volatile std::uint32_t*>(address);
}

}  // namespace

void interrupts_off::lock() noexcept {
    std::uint32_t mask;
    asm volatile("mrs %0, primask\n cpsid i" : "=r"(mask)::"memory");
    before_ = mask;
}
void interrupts_off::unlock() noexcept { asm volatile("msr primask, %0" ::"r"(before_) : "memory"); }

// SysTick is optional on a Cortex-M0. QEMU's nRF51822 has one; the real chip uses a TIMER or RTC instead.
void start_ticks(std::uint32_t cycles) noexcept {
    system_register(0xE000'E014) = cycles - 1;
    system_register(0xE000'E018) = 0;
    system_register(0xE000'E010) = 7;  // core clock, interrupt, enable
}
void stop_ticks() noexcept {
    system_register(0xE000'E010) = 0;
    system_register(0xE000'ED04) = 1U << 25;  // clears a pending interrupt
    asm volatile("dsb\n isb" ::: "memory");
}
void wait_for_interrupt() noexcept { asm volatile("wfi" ::: "memory"); }

}  // namespace board
