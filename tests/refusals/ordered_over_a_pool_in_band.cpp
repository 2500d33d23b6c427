// Free slots would hold links, which work of a queue may still overwrite.
// refused: allot: ordered keeps its records in a side table, because work of a queue may still write freed slots
#include <allot/compose/ordered.hpp>
#include <allot/host/heap.hpp>
#include <allot/host/job_queue.hpp>

int main() {
#ifdef MISUSE
    using strategy = allot::pool<allot::pool_options{.slot = 64}>;
#else
    using strategy = allot::pool<allot::pool_options{.slot = 64, .count = 4}>;
#endif
    allot::ordered<allot::arena<allot::host::heap, strategy>, allot::host::job_timeline> memory{
        {}, allot::host::heap{}, 512};
    return static_cast<int>(memory.size());
}
