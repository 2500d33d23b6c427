// SPDX-License-Identifier: BSL-1.0
// optional_memories: the memories that this program may have been built with, by their names: who chooses when it runs, by
// `--memory`, looks here. Each is a translation unit of its own, because headers of vendors do not always go together.
#pragma once

#include "counting.hpp"
#include "run.hpp"

#include <functional>
#include <span>

namespace demo {

/// What came of a network in a memory.
struct ran {
    std::uint64_t digest = 0;
    std::size_t arena_bytes = 0;
};

/// Is called before every step, with its number and how many there are.
using progress_shown = std::function<void(std::size_t, std::size_t)>;

/// Throws `unavailable` where this machine has no such memory, or not as much.
using run_in_memory = ran(const network&, tally&, const progress_shown&);

template <class Memory>
[[nodiscard]] ran run_in(const network& net, Memory& memory, const progress_shown& show) {
    const std::uint64_t digest = run(net, memory, show);
    return {digest, memory.arena_bytes()};
}

struct optional_memory {
    const char* name;
    run_in_memory* run;  // none: this program was built without
    const char* needs;   // what it is built with
    bool by_default;     // whether it runs when no memory is named
};

[[nodiscard]] std::span<const optional_memory> optional_memories() noexcept;

}  // namespace demo
