// A kernel in flight reads the only version, so no change could be uploaded.
// refused: allot: device_table_options::versions must be at least 2: one for a kernel, and one to write
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>
#include <allot/tensor.hpp>

#ifdef MISUSE
constexpr allot::device_table_options options{.versions = 1};
#else
constexpr allot::device_table_options options{};
#endif

int main() {
    allot::arena memory{allot::host::heap{}, 4096};
    allot::host::job_timeline line;
    return allot::alloc_device_table<std::uint32_t, options>(memory, line, {.entries = 16}) ? 0 : 1;
}
