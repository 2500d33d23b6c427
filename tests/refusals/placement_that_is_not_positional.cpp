// A storage whose placement cannot allocate at a given offset.
// refused: allot: the placement of a storage must be allot::as_given, allot::own_blocks or a positional strategy
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#ifdef MISUSE
using placement = allot::bump<>;
#else
using placement = allot::best_fit<>;
#endif

int main() {
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};
    return allot::alloc_storage<allot::storage_policies<placement>>(memory, 64) ? 0 : 1;
}
