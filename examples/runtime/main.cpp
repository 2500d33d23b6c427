// tensor_vm: runs tensor programs on one kind of memory.
//
//     tensor_vm tightly_coupled programs/seed_discontiguous.program
//
// See `tensor_vm --help`.
#include "machine.hpp"
#include "separate_memory.hpp"
#include "tightly_coupled_memory.hpp"
#ifdef ALLOT_RUNTIME_OPENCL
#include "opencl_memory.hpp"
#endif
#ifdef ALLOT_RUNTIME_VULKAN
#include "vulkan_memory.hpp"
#endif
#ifdef ALLOT_RUNTIME_MPI
#include "mpi_memory.hpp"
#endif

#include <fstream>
#include <iostream>

namespace {

constexpr const char* help = R"(usage: tensor_vm MEMORY FILE.program...

Runs each program and prints its outputs. What is printed does not depend on the memory:

  host             scope global.vtcm is an arena on the heap
  tightly_coupled  it is a window of fixed size
  opencl           it is an OpenCL buffer: a handle, and an offset for every tensor
  vulkan           it is a VkDeviceMemory: a handle, an offset for every tensor, and one buffer for the kernels
  mpi              it is a window of MPI: the window, and an offset for every tensor
  separate         it takes no offsets: every tensor is a buffer of its own

Scope global is an arena on the heap in each of them.

Exits with 1 when a program is refused or does not give what it expects, after the line and the reason; with 2 on bad
usage or a file that cannot be read; and with 77 when this machine lacks the memory.
)";

struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A file's text, or as much of it as shows that it is too long.
[[nodiscard]] std::string text_of(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    if (!file) throw usage_error{path + " cannot be opened"};
    std::string text(vm::most_text + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad()) throw usage_error{path + " cannot be read"};
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

template <class Memory>
[[nodiscard]] int run(const std::vector<std::string>& paths) {
    int result = 0;
    for (const std::string& path : paths) {
        const std::string text = text_of(path);
        const vm::memory_sizes sizes;
        Memory memory{sizes};
        try {
            vm::machine<Memory>{memory, sizes}.run(vm::read_program(text), std::cout);
        } catch (const vm::program_error& why) {
            std::cout << std::flush;
            std::cerr << path << ':' << why.line << ": " << why.what() << '\n';
            result = 1;
        }
    }
    return result;
}

[[nodiscard]] int run_opencl([[maybe_unused]] const std::vector<std::string>& paths) {
#ifdef ALLOT_RUNTIME_OPENCL
    return run<vm::opencl_memory>(paths);
#else
    throw vm::unavailable{"this program was built without OpenCL and its C++ header"};
#endif
}

[[nodiscard]] int run_vulkan([[maybe_unused]] const std::vector<std::string>& paths) {
#ifdef ALLOT_RUNTIME_VULKAN
    return run<vm::vulkan_memory>(paths);
#else
    throw vm::unavailable{"this program was built without Vulkan or without glslangValidator"};
#endif
}

[[nodiscard]] int run_mpi([[maybe_unused]] const std::vector<std::string>& paths) {
#ifdef ALLOT_RUNTIME_MPI
    return run<vm::mpi_memory>(paths);
#else
    throw vm::unavailable{"this program was built without MPI"};
#endif
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> arguments{argv + 1, argv + argc};
    if (!arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h")) {
        std::cout << help;
        return 0;
    }
    if (arguments.size() < 2) throw usage_error{"a memory and a program are needed"};
    const std::vector<std::string> paths{arguments.begin() + 1, arguments.end()};
    const std::string& memory = arguments[0];
    if (memory == "host") return run<vm::host_memory>(paths);
    if (memory == "tightly_coupled") return run<vm::tightly_coupled_memory>(paths);
    if (memory == "separate") return run<vm::separate_memory>(paths);
    if (memory == "opencl") return run_opencl(paths);
    if (memory == "vulkan") return run_vulkan(paths);
    if (memory == "mpi") return run_mpi(paths);
    throw usage_error{"there is no memory \"" + memory + "\""};
} catch (const vm::unavailable& why) {
    std::cerr << "skipped: " << why.what() << '\n';
    return 77;
} catch (const std::exception& why) {
    std::cerr << "tensor_vm: " << why.what() << "; see tensor_vm --help\n";
    return 2;
}
