// SPDX-License-Identifier: BSL-1.0
// From reset to main on a Cortex-M: vector table, initialized data, zeroed data, constructors.
#include "semihosting.hpp"

#include <cstdint>

/// `main` under another name, because C++ does not allow calls of main.
int program() asm("main");

extern "C" {

// From the linker script.
extern std::uint32_t stack_top[];
extern const std::uint32_t data_image[];
extern std::uint32_t data_start[], data_end[], bss_start[], bss_end[];
using constructor = void (*)();
extern const constructor init_array_start[], init_array_end[];

[[noreturn]] void reset() {
#if defined(__ARM_FP)
    auto* const coprocessor_access = reinterpret_cast<volatile std::uint32_t*>(0xE000'ED88);
    *coprocessor_access = *coprocessor_access | 0xF0'0000U;  // before the first access to a floating-point register
    asm volatile("dsb\n isb" ::: "memory");
#endif
    const std::uint32_t* from = data_image;
    for (std::uint32_t* to = data_start; to != data_end; ++to, ++from) *to = *from;
    for (std::uint32_t* to = bss_start; to != bss_end; ++to) *to = 0;
    for (const constructor* each = init_array_start; each != init_array_end; ++each) (*each)();
    board::exit(program());
}

/// Registers no destructors: objects with static storage duration live until the end.
void* __dso_handle = nullptr;
int __aeabi_atexit(void*, void (*)(void*), void*) { return 0; }

/// The handler of all unhandled exceptions.
[[noreturn]] void unexpected() {
    board::print("stopped by an unhandled exception\n");
    board::exit(99);
}

/// Weak defaults; a program that uses the interrupts defines these functions.
[[gnu::weak]] void system_tick() { unexpected(); }
[[gnu::weak]] void pending_service() { unexpected(); }

struct vector_table {
    std::uint32_t* stack;
    void (*handlers[15])();
};
[[gnu::section(".vectors"), gnu::used]] const vector_table vectors{
    stack_top,
    {reset, unexpected, unexpected, unexpected, unexpected, unexpected, nullptr, nullptr, nullptr, nullptr, unexpected,
     unexpected, nullptr, pending_service, system_tick}};
}
