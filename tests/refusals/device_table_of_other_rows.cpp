// Pointers to rows in a table of 32-bit indices.
// refused: allot: the entries of this row table have another type
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>
#include <allot/tensor.hpp>

#ifdef MISUSE
using entry = allot::row_pointer;
#else
using entry = allot::row_index<>;
#endif

int main() {
    allot::arena memory{allot::host::heap{}, 8192};
    allot::host::job_timeline line;
    const auto data = *allot::alloc_storage(memory, 1024), tables = *allot::alloc_storage(memory, 64);
    const auto rows = *allot::alloc_discontiguous_tensor<entry>(tables, 0, data, {256, 0}, {2, 64}, allot::int32);
    auto table = *allot::alloc_device_table(memory, line, {.entries = 2});
    return table.set(0, rows.table()) ? 0 : 1;
}
