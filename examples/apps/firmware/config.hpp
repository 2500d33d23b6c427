// SPDX-License-Identifier: BSL-1.0
// config: all options of this firmware that depend on the board, as one constant for each board. CMake selects the
// board: -DFIRMWARE_BOARD=mps2_an386. To support another board, add a constant. Omitted options have their defaults. A
// misspelled or invalid option does not compile.
#pragma once

#include "networks.hpp"

#include <allot/core/layout.hpp>
#include <allot/core/options.hpp>

namespace firmware {

using namespace allot::literals;

/// A packet from an interrupt to the main loop.
struct packet {
    std::uint32_t number;
    std::uint32_t words[15];
};

struct options {
    const network* runs = &person_detection;  // or &keyword_spotting: networks.hpp
    std::size_t fast_bytes = 32_KiB;          // of the section .fast, for tensors
    std::size_t slow_bytes = 45_KiB;          // of the section .arena, for tensors
    std::size_t tensor_align = 16;            // of every tensor; the widest load of an operator determines it
    std::uint64_t planning_effort = 100;      // higher values plan better and compile longer
    allot::pool_options packets{.slot = sizeof(packet),  // a non-atomic store is used with interrupts disabled
                                .count = 8,
                                .align = alignof(packet),
                                .store = allot::pool_store::atomic_bitmap};
    std::uint32_t packets_wanted = 64;   // the program ends after this number
    std::uint32_t tick_cycles = 20'000;  // core cycles between interrupts; SysTick counts to 2^24
};

namespace boards {

inline constexpr options mps2_an385{}, mps2_an386{}, mps2_an500{}, mps2_an505{}, host{};
/// 64 KiB of memory; the larger network would leave 1 KiB for everything else.
inline constexpr options lm3s6965evb{.runs = &keyword_spotting, .fast_bytes = 4_KiB, .slow_bytes = 4_KiB};
/// 16 KiB of memory, and no instructions for an atomic bitmap.
inline constexpr options microbit{.runs = &keyword_spotting,
                                  .fast_bytes = 4_KiB,
                                  .slow_bytes = 4_KiB,
                                  .tensor_align = 4,
                                  .packets = {.slot = sizeof(packet), .count = 4, .align = alignof(packet)}};

}  // namespace boards

/// Returns the options. Invalid options do not compile.
template <options Options>
[[nodiscard]] consteval options checked() noexcept {
    static_assert(Options.fast_bytes > 0 && Options.slow_bytes > 0,
                  "config: fast_bytes and slow_bytes must be greater than 0");
    static_assert(allot::is_alignment(Options.tensor_align) && Options.tensor_align <= 64,
                  "config: tensor_align must be a power of two of at most 64");
    static_assert(Options.packets.slot >= sizeof(packet) && Options.packets.align >= alignof(packet),
                  "config: packets.slot and packets.align must be at least those of a packet");
    static_assert(Options.packets.count > 0, "config: packets.count must be greater than 0");
    static_assert(Options.packets_wanted > 0, "config: packets_wanted must be greater than 0");
    static_assert(Options.tick_cycles >= 1000 && Options.tick_cycles <= 1 << 24,
                  "config: tick_cycles must be between 1000 and 2^24, the limit of SysTick");
    return Options;
}

}  // namespace firmware
