// A table that no work can use.
// refused: allot: device_table_options::queues must be at least 1
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>
#include <allot/tensor.hpp>

#ifdef MISUSE
constexpr allot::device_table_options options{.queues = 0};
#else
constexpr allot::device_table_options options{};
#endif

int main() {
    allot::arena memory{allot::host::heap{}, 4096};
    allot::host::job_timeline line;
    return allot::alloc_device_table<std::uint32_t, options>(memory, line, {.entries = 16}) ? 0 : 1;
}
