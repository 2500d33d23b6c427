// SPDX-License-Identifier: BSL-1.0
// Code that both parts of the program share: the memory of all ranks, and the handling of errors.
#pragma once

#include <allot/allot.hpp>
#include <allot/compose/symmetric.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace example {

using namespace allot::literals;

/// The memory of every rank. All ranks make the same allocations in it.
template <class Device, class Ranks>
using memory_of_ranks = allot::symmetric<allot::arena<Device, allot::best_fit<>>, Ranks>;

/// Ends the program with an error. `main` ends all ranks if only one fails.
inline void require(bool fine, const std::string& what) {
    if (!fine) throw std::runtime_error{what};
}
template <class Code>
void require_code(Code code, const char* what) {
    require(static_cast<long>(code) == 0, what + (" failed with " + std::to_string(static_cast<long>(code))));
}

/// Returns the share of one rank. Fails unless the ranks divide the total.
inline int share(int all, int ranks) {
    require(all % ranks == 0, std::to_string(all) + " cannot be divided among " + std::to_string(ranks) + " ranks");
    return all / ranks;
}

inline std::uint64_t checksum(std::uint64_t before, const void* bytes, std::size_t size) {  // FNV-1a
    const auto* const first = static_cast<const unsigned char*>(bytes);
    for (std::size_t i = 0; i != size; ++i) before = (before ^ first[i]) * 0x100'0000'01B3U;
    return before;
}
inline constexpr std::uint64_t no_bytes = 0xCBF2'9CE4'8422'2325U;

}  // namespace example
