// SPDX-License-Identifier: BSL-1.0
// tensor_vm: runs tensor programs on one kind of memory.
//
//     tensor_vm tightly_coupled programs/seed_discontiguous.program
//
// See `tensor_vm --help`.
#include "optional_memories.hpp"
#include "run.hpp"
#include "separate_memory.hpp"
#include "tightly_coupled_memory.hpp"

#include <algorithm>

namespace {

constexpr const char* help = R"(usage: tensor_vm MEMORY FILE.program...

Runs each program and prints its outputs. What is printed does not depend on the memory:

  host             scope global.vtcm is an arena on the heap
  tightly_coupled  it is a window of fixed size
  opencl           it is an OpenCL buffer: a handle, and an offset for every tensor
  vulkan           it is a VkDeviceMemory: a handle, an offset for every tensor, and one buffer for the kernels
  cuda, hip        it is memory of a GPU, which the host does not touch: a pointer
  metal            it is a Metal buffer that the host shares: a handle, and an offset for every tensor
  mpi              it is a window of MPI: the window, and an offset for every tensor
  shmem            it is an object of OpenSHMEM's heap: the object, and an offset for every tensor (oshrun -n 1)
  separate         it takes no offsets: every tensor is a buffer of its own

Scope global is an arena on the heap in each of them.

Exits with 1 when a program is refused or does not give what it expects, after the line and the reason; with 2 on bad
usage or a file that cannot be read; and with 77 when this machine lacks the memory.
)";

[[nodiscard]] int run_in(const std::string& memory, const std::vector<std::string>& paths) {
    if (memory == "host") return vm::run<vm::host_memory>(paths);
    if (memory == "tightly_coupled") return vm::run<vm::tightly_coupled_memory>(paths);
    if (memory == "separate") return vm::run<vm::separate_memory>(paths);
    const auto all = vm::optional_memories();
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == memory; });
    if (found == all.end()) throw vm::usage_error{"there is no memory \"" + memory + "\""};
    if (found->run == nullptr) throw vm::unavailable{std::string{"this program was built without "} + found->needs};
    return found->run(paths);
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> arguments{argv + 1, argv + argc};
    if (!arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h")) {
        std::cout << help;
        return 0;
    }
    if (arguments.size() < 2) throw vm::usage_error{"a memory and a program are needed"};
    return run_in(arguments[0], {arguments.begin() + 1, arguments.end()});
} catch (const vm::unavailable& reason) {
    std::cerr << "skipped: " << reason.what() << '\n';
    return 77;
} catch (const std::exception& reason) {
    std::cerr << "tensor_vm: " << reason.what() << "; see tensor_vm --help\n";
    return 2;
}
