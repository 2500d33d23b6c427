// SPDX-License-Identifier: BSL-1.0
// A pool whose slots are smaller than a packet.
// refused: config: packets.slot and packets.align must be at least those of a packet
#include "../config.hpp"

#ifdef MISUSE
constexpr firmware::options options{.packets = {.slot = 32, .count = 8, .align = 4}};
#else
constexpr firmware::options options{.packets = {.slot = 64, .count = 8, .align = 4}};
#endif
constexpr firmware::options config = firmware::checked<options>();

int main() { return config.packets.slot == 64 ? 0 : 1; }
