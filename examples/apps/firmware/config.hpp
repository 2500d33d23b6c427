// SPDX-License-Identifier: BSL-1.0
// config: everything about this firmware that a board decides, as one constant for each board. CMake names the board:
// -DFIRMWARE_BOARD=mps2_an386. For a board of your own, add a constant. What is not said is the default; what is
// misspelt, or cannot be, does not compile.
#pragma once

#include "networks.hpp"

#include <allot/core/layout.hpp>
#include <allot/core/options.hpp>

namespace firmware {

using namespace allot::literals;

/// What an interrupt hands to the main loop.
struct packet {
    std::uint32_t number;
    std::uint32_t words[15];
};

struct options {
    const network* runs = &person_detection;  // or &keyword_spotting: networks.hpp
    std::size_t fast_bytes = 32_KiB;          // of the section .fast, for tensors
    std::size_t slow_bytes = 45_KiB;          // of the section .arena, for tensors
    std::size_t tensor_align = 16;            // of every tensor; what the widest instruction that reads one asks for
    std::uint64_t planning_effort = 100;      // more plans better, and compiles longer
    allot::pool_options packets{.slot = sizeof(packet),  // a store that is not atomic is used with interrupts off
                                .count = 8,
                                .align = alignof(packet),
                                .store = allot::pool_store::atomic_bitmap};
    std::uint32_t packets_wanted = 64;        // the program ends when it has them
    std::uint32_t tick_cycles = 20'000;       // of the core, from one interrupt to the next; SysTick counts to 2^24
};

namespace boards {

inline constexpr options mps2_an385{}, mps2_an386{}, mps2_an500{}, mps2_an505{}, host{};
/// 64 KiB of memory in all, of which the larger network would leave 1 KiB for everything else.
inline constexpr options lm3s6965evb{.runs = &keyword_spotting, .fast_bytes = 4_KiB, .slow_bytes = 4_KiB};
/// 16 KiB in all, and no instructions for an atomic bitmap.
inline constexpr options microbit{.runs = &keyword_spotting,
                                  .fast_bytes = 4_KiB,
                                  .slow_bytes = 4_KiB,
                                  .tensor_align = 4,
                                  .packets = {.slot = sizeof(packet), .count = 4, .align = alignof(packet)}};

}  // namespace boards

/// The options, if they can be.
template <options Options>
[[nodiscard]] consteval options checked() noexcept {
    static_assert(Options.fast_bytes > 0 && Options.slow_bytes > 0, "config: both sections have bytes");
    static_assert(allot::is_alignment(Options.tensor_align) && Options.tensor_align <= 64,
                  "config: tensor_align is a power of two, at most 64");
    static_assert(Options.packets.slot >= sizeof(packet) && Options.packets.align >= alignof(packet),
                  "config: a slot of the pool is as large and as aligned as a packet");
    static_assert(Options.packets.count > 0, "config: the pool has a number of slots");
    static_assert(Options.packets_wanted > 0, "config: the program ends behind a packet");
    static_assert(Options.tick_cycles >= 1000 && Options.tick_cycles <= 1 << 24,
                  "config: between two interrupts are 1000 cycles at least, and no more than SysTick counts");
    return Options;
}

}  // namespace firmware
