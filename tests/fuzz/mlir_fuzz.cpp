// Fuzz target: the reader of MLIR, with arbitrary text.
#include "planned.hpp"

#include <mlir.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    read_and_plan([&] { return planner::mlir_reader{"input"}.read({reinterpret_cast<const char*>(bytes), size}); });
    return 0;
}
