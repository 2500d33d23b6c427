// SPDX-License-Identifier: BSL-1.0
// Services of a debugger, or of QEMU, for a program on a Cortex-M: printing, and ending the program with an exit
// status. The calls are Arm's ("Semihosting for AArch32 and AArch64", SYS_WRITE0 and SYS_EXIT_EXTENDED).
#pragma once

#include <cstdint>

namespace board {

/// Prints a null-terminated text.
void print(const char* text) noexcept;
/// Prints a number in decimal.
void print(std::uint64_t number) noexcept;
/// Ends the program; 0 means success.
[[noreturn]] void exit(int code) noexcept;

}  // namespace board
