// Fuzz target: the reader of JSON, which is a problem or a compiler's capture, with arbitrary text.
#include "planned.hpp"

#include <problem.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    read_and_plan([&] { return planner::read_json({reinterpret_cast<const char*>(bytes), size}, "input"); });
    return 0;
}
