// Records of shared rows in memory that the host cannot write.
// refused: allot: the host writes the records of shared rows
#include "../laws/devices.hpp"

#include <allot/allot.hpp>
#include <allot/tensor.hpp>

int main() {
    allot::arena<laws::handles<laws::handle_options{}>, allot::best_fit<>> device{
        laws::handles<laws::handle_options{}>{false}, 4096};
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};
    const auto data = *allot::alloc_storage(device, 64, 16);
#ifdef MISUSE
    const auto tables = *allot::alloc_storage(device, 1024, 16);
#else
    const auto tables = *allot::alloc_storage(memory, 1024);
#endif
    return allot::share_rows(data, tables, 4) ? 0 : 1;
}
