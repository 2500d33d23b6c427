// The driver is unknown.
// refused: allot: the second argument of ordered is a timeline, such as cuda::events, opencl::events or vulkan::timeline_semaphores: core/timeline.hpp lists its functions
// within: 12
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;

int main() {
#ifdef MISUSE
    using memory_type = allot::ordered<heap_arena>;
#else
    using memory_type = allot::ordered<heap_arena, allot::host::job_timeline>;
#endif
    return sizeof(memory_type) == 0;
}
