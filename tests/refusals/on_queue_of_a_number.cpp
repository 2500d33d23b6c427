// Only attach makes a queue.
// refused: allot: on_queue takes a queue of its memory: on_queue{memory, memory.attach(queue)}, or on_queue{memory, memory.host}
// alone
#include <allot/allot.hpp>
#include <allot/compose/on_queue.hpp>
#include <allot/host/job_queue.hpp>

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using memory_type = allot::ordered<heap_arena, allot::host::job_timeline>;

int main() {
    memory_type memory{{}, allot::host::heap{}, 4096};
    allot::host::job_queue jobs;
    [[maybe_unused]] const auto queue = memory.attach(&jobs);
#ifdef MISUSE
    allot::on_queue view{memory, 3};
#else
    allot::on_queue view{memory, queue};
#endif
    return view.allocate({.size = 64}) ? 0 : 1;
}
