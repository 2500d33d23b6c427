// SPDX-License-Identifier: BSL-1.0
// optional_memories: the memories that this program may be built with, by name, for the option `--memory`. Each has its
// own translation unit, because vendors' headers are not always compatible with each other.
#pragma once

#include "counting.hpp"
#include "run.hpp"

#include <functional>
#include <span>

namespace demo {

/// The result of a network in a memory.
struct ran {
    std::uint64_t digest = 0;
    std::size_t arena_bytes = 0;
};

/// Called before every step with its index and the number of steps.
using progress_shown = std::function<void(std::size_t, std::size_t)>;

/// Throws `unavailable` if this machine lacks the memory, or has too little of it.
using run_in_memory = ran(const network&, tally&, const progress_shown&);

template <class Memory>
[[nodiscard]] ran run_in(const network& net, Memory& memory, const progress_shown& show) {
    const std::uint64_t digest = run(net, memory, show);
    return {digest, memory.arena_bytes()};
}

struct optional_memory {
    const char* name;
    run_in_memory* run;  // null if this program was built without it
    const char* needs;   // requirement of the build
    bool by_default;     // whether it runs when no memory is named
};

[[nodiscard]] std::span<const optional_memory> optional_memories() noexcept;

}  // namespace demo
