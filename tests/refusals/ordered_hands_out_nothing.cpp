// The points to wait for would be lost.
// refused: allot: with wait_policy::hand_out, a request has a function that takes the points to wait for: allocate(layout, queue, wait_for)
// alone
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
constexpr allot::ordered_options options{.waits = allot::wait_policy::hand_out};
using memory_type = allot::ordered<heap_arena, allot::host::job_timeline, options>;

int main() {
    memory_type memory{{}, allot::host::heap{}, 4096};
    allot::host::job_queue jobs;
    [[maybe_unused]] const auto queue = memory.attach(&jobs);
#ifdef MISUSE
    const auto block = memory.allocate({.size = 64}, queue);
#else
    const auto block = memory.allocate({.size = 64}, queue, [](const auto&) {});
#endif
    return block ? 0 : 1;
}
