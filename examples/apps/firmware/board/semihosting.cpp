// SPDX-License-Identifier: BSL-1.0
#include "semihosting.hpp"

namespace board {
namespace {

std::uintptr_t call_debugger(std::uintptr_t number, const void* argument) noexcept {
    register std::uintptr_t r0 asm("r0") = number;
    register const void* r1 asm("r1") = argument;
    asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

}  // namespace

void print(const char* text) noexcept { call_debugger(0x04, text); }

void print(std::uint64_t number) noexcept {
    char digits[21]{};
    char* at = digits + 20;
    do *--at = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    print(at);
}

void exit(int code) noexcept {
    const struct {
        std::uintptr_t reason, code;
    } stopped{0x20026, static_cast<std::uintptr_t>(code)};  // ADP_Stopped_ApplicationExit
    for (;;) call_debugger(0x20, &stopped);
}

}  // namespace board
