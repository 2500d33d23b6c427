// SPDX-License-Identifier: BSL-1.0
// optional_memories: the memories that this program may have been built with, by their names. Each is a translation unit
// of its own, because headers of vendors do not always go together.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace vm {

/// As `run` of run.hpp. Throws `unavailable` where this machine has no such memory, or not as much.
using run_in_memory = int(const std::vector<std::string>& paths);

struct optional_memory {
    const char* name;
    run_in_memory* run;  // none: this program was built without
    const char* needs;   // what it is built with
};

[[nodiscard]] std::span<const optional_memory> optional_memories() noexcept;

}  // namespace vm
