// A bump in the next region would forget the pending uses of the region before.
// refused: allot: ordered grows only with best_fit
#include <allot/compose/ordered.hpp>
#include <allot/host/heap.hpp>
#include <allot/host/job_queue.hpp>

int main() {
#ifdef MISUSE
    using growth = allot::growth::fixed<>;
#else
    using growth = allot::growth::none<>;
#endif
    allot::ordered<allot::arena<allot::host::heap, allot::bump<>, growth>, allot::host::job_timeline> memory{
        {}, allot::host::heap{}, 512};
    return static_cast<int>(memory.size());
}
