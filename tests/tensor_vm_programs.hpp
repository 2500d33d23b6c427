// What programs of examples/apps/tensor_vm print in a memory of its.
#pragma once

#include "../examples/apps/tensor_vm/machine.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace tests {

/// With kernels, rows in any order and where there was room, and copies within a memory and between two.
inline const std::string tensor_vm_programs[] = {"planned", "fragmented", "seed_discontiguous", "scopes"};

template <class Memory>
[[nodiscard]] std::string printed(const std::string& program) {
    const auto programs = std::filesystem::path{__FILE__}.parent_path() / "../examples/apps/tensor_vm/programs";
    std::ifstream file{programs / (program + ".program")};
    std::ostringstream text, out;
    text << file.rdbuf();
    const vm::memory_sizes sizes;
    Memory memory{sizes};
    vm::machine<Memory>{memory, sizes}.run(vm::read_program(text.str()), out);
    REQUIRE(!out.str().empty());
    return out.str();
}

}  // namespace tests
