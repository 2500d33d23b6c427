// Fuzz target: the reader and the machine of the tensor VM, with arbitrary text. Each accepted program runs with two
// kinds of memory of a few pages each. Both runs must end with the same output, or with the same line and reason.
#include <machine.hpp>
#include <tightly_coupled_memory.hpp>

#include <cstdlib>
#include <sstream>

namespace {

template <class Memory>
[[nodiscard]] std::string outcome(const vm::program& program) {
    const vm::memory_sizes sizes{.global = 65536, .vtcm = 16384, .caller = 65536};
    Memory memory{sizes};
    std::ostringstream out;
    try {
        vm::machine<Memory>{memory, sizes}.run(program, out);
    } catch (const vm::program_error& reason) {
        out << "refused in line " << reason.line << ": " << reason.what();
    }
    return out.str();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    vm::program program;
    try {
        program = vm::read_program({reinterpret_cast<const char*>(bytes), size});
    } catch (const vm::program_error& reason) {
        if (reason.line == 0 || *reason.what() == '\0') std::abort();
        return 0;
    }
    if (outcome<vm::host_memory>(program) != outcome<vm::tightly_coupled_memory>(program)) std::abort();
    return 0;
}
