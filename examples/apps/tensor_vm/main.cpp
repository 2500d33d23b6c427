// SPDX-License-Identifier: BSL-1.0
// tensor_vm: runs tensor programs on one kind of memory.
//
//     tensor_vm tightly_coupled programs/seed_discontiguous.program
//
// `tensor_vm --help` prints all options.
#include "optional_memories.hpp"
#include "run.hpp"
#include "separate_memory.hpp"
#include "tightly_coupled_memory.hpp"

#include <algorithm>

namespace {

constexpr const char* help = R"(usage: tensor_vm MEMORY FILE.program...

Runs each program and prints its outputs, which are the same for every memory. MEMORY selects scope global.vtcm:

  host             an arena on the heap
  tightly_coupled  a window of fixed size
  opencl           an OpenCL buffer: a tensor is the handle and an offset
  vulkan           a VkDeviceMemory: a tensor is the handle and an offset; kernels use one buffer over the memory
  cuda, hip        memory of a GPU without access by the host: a tensor is a pointer
  metal            a Metal buffer in shared storage: a tensor is the handle and an offset
  mpi              an MPI window: a tensor is the window and an offset
  shmem            an object of OpenSHMEM's heap: a tensor is the object and an offset (oshrun -n 1)
  separate         memory without offsets: every tensor is a separate buffer

Scope global is always an arena on the heap.

Exit status: 1 when a program is invalid or an expectation fails, with the line and the reason on standard error; 2 for
invalid usage or an unreadable file; 77 when this machine lacks the memory.
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
    if (arguments.size() < 2) throw vm::usage_error{"a memory and a program are required"};
    return run_in(arguments[0], {arguments.begin() + 1, arguments.end()});
} catch (const vm::unavailable& reason) {
    std::cerr << "skipped: " << reason.what() << '\n';
    return 77;
} catch (const std::exception& reason) {
    std::cerr << "tensor_vm: " << reason.what() << "; see tensor_vm --help\n";
    return 2;
}
