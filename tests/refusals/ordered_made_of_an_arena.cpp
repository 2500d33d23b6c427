// The strategy of the arena has no record of queues.
// refused: allot: ordered makes its own arena: its arguments are a timeline, then those of the arena: ordered<Arena, Timeline> memory{timeline, device, size}
// alone
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using memory_type = allot::ordered<heap_arena, allot::host::job_timeline>;

int main() {
#ifdef MISUSE
    memory_type memory{allot::host::job_timeline{}, heap_arena{{}, 4096}};
#else
    memory_type memory{{}, allot::host::heap{}, 4096};
#endif
    return memory.size() == 0;
}
