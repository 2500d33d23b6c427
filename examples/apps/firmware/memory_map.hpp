// SPDX-License-Identifier: BSL-1.0
// memory_map: prints the memory map over semihosting: sections, tensors with their lifetimes, the pool.
#pragma once

#include "board/sections.hpp"
#include "board/semihosting.hpp"
#include "layout.hpp"

namespace firmware {

/// Prints a right-aligned number.
inline void print_number(std::uint64_t number, unsigned width) noexcept {
    for (std::uint64_t shorter = number; width > 1; --width)
        if ((shorter /= 10) == 0) board::print(" ");
    board::print(number);
}
/// Prints a number in hexadecimal.
inline void print_hexadecimal(std::uint64_t number, unsigned digits) noexcept {
    char text[17]{};
    for (unsigned i = 0; i != digits; ++i) text[i] = "0123456789abcdef"[number >> (4 * (digits - 1 - i)) & 15];
    board::print(text);
}
inline void print_address(const void* address) noexcept {
    print_hexadecimal(reinterpret_cast<std::uintptr_t>(address), 2 * sizeof(void*));
}

inline void print_sections() noexcept {
    if (board::sections().empty()) return;
    board::print("begin         bytes  section\n");
    for (const board::section& each : board::sections()) {
        print_hexadecimal(each.begin, 8);
        print_number(each.end - each.begin, 11);
        board::print("  ");
        board::print(each.name);
        board::print("\n");
    }
}

/// `place(t)` returns the block of a tensor.
template <options Options, class Place>
void print_tensors(Place&& place) noexcept {
    using plan = layout<Options>;
    board::print("begin         bytes  steps   memory  tensor of ");
    board::print(plan::net.name);
    board::print("\n");
    for (std::size_t t = 0; t != plan::net.tensors.size(); ++t) {
        const auto& live = plan::net.tensors[t].live;
        print_address(place(t).address);
        print_number(plan::net.tensors[t].size, 11);
        print_number(static_cast<std::uint64_t>(live.from), 4);
        board::print("-");
        board::print(static_cast<std::uint64_t>(live.until));
        board::print(live.until < 10 ? "   " : "  ");
        board::print(plan::plan.places[t].memory == 0 ? "fast" : "slow");
        print_number(t, 8);
        board::print("\n");
    }
    print_number(plan::plan.needs[0].peak, 19);
    board::print("  in fast memory, of ");
    board::print(Options.fast_bytes);
    board::print("\n");
    print_number(plan::plan.needs[1].peak, 19);
    board::print("  in slow memory, of ");
    board::print(Options.slow_bytes);
    board::print("\n");
}

}  // namespace firmware
