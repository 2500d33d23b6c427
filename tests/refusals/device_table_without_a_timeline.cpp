// A queue where the timeline is wanted.
// refused: allot: the second argument of alloc_device_table is a timeline
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>
#include <allot/tensor.hpp>

int main() {
    allot::arena memory{allot::host::heap{}, 4096};
#ifdef MISUSE
    allot::host::job_queue line;
#else
    allot::host::job_timeline line;
#endif
    return allot::alloc_device_table(memory, line, {.entries = 16}) ? 0 : 1;
}
