// Fuzz target: the reader of tables of buffers, with arbitrary text.
#include "planned.hpp"

#include <csv.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    read_and_plan([&] { return planner::csv_reader{"input"}.read({reinterpret_cast<const char*>(bytes), size}); });
    return 0;
}
