// The timeline of jobs names a queue by its address.
// refused: allot: attach takes a pointer to the queue: attach(&queue)
// alone
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using memory_type = allot::ordered<heap_arena, allot::host::job_timeline>;

int main() {
    memory_type memory{{}, allot::host::heap{}, 4096};
    allot::host::job_queue jobs;
    [[maybe_unused]] const auto queue = memory.attach(&jobs);
#ifdef MISUSE
    const auto other = memory.attach(jobs);
#else
    const auto other = memory.attach(&jobs);
#endif
    return other ? 0 : 1;
}
