// An arena has such a function.
// refused: allot: ordered allocates for a queue, the result of attach, or for the host: allocate(layout, queue), allocate(layout, memory.host), or use on_queue{memory, queue}
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
    const auto block = memory.allocate({.size = 64});
#else
    const auto block = memory.allocate({.size = 64}, queue);
#endif
    return block ? 0 : 1;
}
