// A queue is not a timeline: it has no points.
// refused: allot: the second argument of ordered is a timeline, such as cuda::events, opencl::events or vulkan::timeline_semaphores: core/timeline.hpp lists its functions
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
#ifdef MISUSE
using timeline_type = allot::host::job_queue;
#else
using timeline_type = allot::host::job_timeline;
#endif

int main() { return sizeof(allot::ordered<heap_arena, timeline_type>) == 0; }
