// SPDX-License-Identifier: BSL-1.0
// target: the kind of processor for which a program is compiled.
//
//     constexpr allot::best_fit_options as_by_default{.prefer_size = allot::is_microcontroller};
//
// The architecture decides, and no compiler flag such as -Os or -O3. All files of a program have the same
// types, independent of their flags.
//
// When to use: as the default of options that trade instructions for code size.
// When not to use: to detect an operating system, memory protection or a cache.
//
// Complexity: evaluated at compile time.
// Memory: none.
// Thread safety: constants.
#pragma once

/// 1 if the target is a microcontroller, otherwise 0. For the preprocessor.
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define ALLOT_IS_MICROCONTROLLER 1
#elif defined(__riscv) && __riscv_xlen == 32 && !defined(__linux__)
#define ALLOT_IS_MICROCONTROLLER 1
#elif defined(__AVR__) || defined(__MSP430__) || defined(__XTENSA__)
#define ALLOT_IS_MICROCONTROLLER 1
#else
#define ALLOT_IS_MICROCONTROLLER 0
#endif

namespace allot {
inline namespace v1 {

/// Whether the target is a microcontroller: Cortex-M, 32-bit RISC-V without Linux, Xtensa, MSP430 or AVR.
inline constexpr bool is_microcontroller = ALLOT_IS_MICROCONTROLLER != 0;

}  // namespace v1
}  // namespace allot
