// A write to a shared row in memory that the host cannot access, without a method that copies the row.
// refused: allot: the host cannot access this memory: give write a method that copies inside it
#include "../laws/devices.hpp"

#include <allot/allot.hpp>
#include <allot/tensor.hpp>

int main() {
    allot::arena<laws::handles<laws::handle_options{}>, allot::best_fit<>> device{
        laws::handles<laws::handle_options{}>{false}, 4096};
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};
    const auto data = *allot::alloc_storage(device, 64, 16);
    const auto tables = *allot::alloc_storage(memory, 1024);
    const auto rows = *allot::share_rows(data, tables, 4);
    auto tensor = *allot::alloc_discontiguous_tensor<allot::row_address>(tables, allot::anywhere, rows, allot::anywhere,
                                                                         {2, 4}, allot::int32);
#ifdef MISUSE
    return allot::write(tensor, 0) ? 0 : 1;
#else
    return allot::write(tensor, 0, [](auto, auto, std::size_t) { return 0L; }) ? 0 : 1;
#endif
}
