// Fuzz target: the reader of compiler captures, with arbitrary text.
#include "planned.hpp"

#include <capture.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    read_and_plan([&] { return planner::read_capture({reinterpret_cast<const char*>(bytes), size}, "input"); });
    return 0;
}
