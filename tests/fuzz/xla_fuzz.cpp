// Fuzz target: the reader of XLA's dumps, with arbitrary text.
#include "planned.hpp"

#include <xla.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    read_and_plan([&] {
        planner::xla_reader reader{"input"};
        reader.add({reinterpret_cast<const char*>(bytes), size}, "input");
        return reader.read();
    });
    return 0;
}
