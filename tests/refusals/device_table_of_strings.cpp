// Entries that contain pointers to the host's heap.
// refused: allot: the device reads the bytes of a table's entries: use a trivially copyable type with ==
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>
#include <allot/tensor.hpp>

#include <string>

#ifdef MISUSE
using entry = std::string;
#else
using entry = std::uint64_t;
#endif

int main() {
    allot::arena memory{allot::host::heap{}, 4096};
    allot::host::job_timeline line;
    return allot::alloc_device_table<entry>(memory, line, {.entries = 16}) ? 0 : 1;
}
