// The work that uses the block is unknown.
// refused: allot: ordered frees a block after the work of a queue, the result of attach, or at once: deallocate(block, queue), deallocate(block, memory.host), or use on_queue{memory, queue}
// alone
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using memory_type = allot::ordered<heap_arena, allot::host::job_timeline>;

int main() {
    memory_type memory{{}, allot::host::heap{}, 4096};
    allot::host::job_queue jobs;
    [[maybe_unused]] const auto queue = memory.attach(&jobs);
    const auto block = memory.allocate({.size = 64}, queue);
#ifdef MISUSE
    memory.deallocate(block);
#else
    memory.deallocate(block, queue);
#endif
    return block ? 0 : 1;
}
