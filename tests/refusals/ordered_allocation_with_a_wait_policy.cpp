// The policy of waits is the same for all calls.
// refused: allot: the wait policy is an option of the type, not an argument of a call: ordered<Arena, Timeline, ordered_options{.waits = wait_policy::never}>
// alone
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using memory_type = allot::ordered<heap_arena, allot::host::job_timeline>;

int main() {
    memory_type memory{{}, allot::host::heap{}, 4096};
    allot::host::job_queue jobs;
    const auto queue = memory.attach(&jobs);
#ifdef MISUSE
    const auto block = memory.allocate({.size = 64}, queue, allot::wait_policy::never);
#else
    const auto block = memory.allocate({.size = 64}, queue);
#endif
    return block ? 0 : 1;
}
