// SPDX-License-Identifier: BSL-1.0
// optional_memories: the optional memories of this program, by name. Each is a separate translation unit, because the
// headers of different vendors can conflict.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace vm {

/// The type of `run` of run.hpp. Throws `unavailable` when this machine lacks the memory or enough of it.
using run_in_memory = int(const std::vector<std::string>& paths);

struct optional_memory {
    const char* name;
    run_in_memory* run;  // null when the program was built without this memory
    const char* needs;   // the requirements at build time
};

[[nodiscard]] std::span<const optional_memory> optional_memories() noexcept;

}  // namespace vm
