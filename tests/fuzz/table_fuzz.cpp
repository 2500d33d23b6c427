// The reader of tables of buffers, on whatever text.
#include "planned.hpp"

#include <csv.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    read_and_plan([&] { return planner::csv_reader{"input"}.read({reinterpret_cast<const char*>(bytes), size}); });
    return 0;
}
