// A composition has no strategy that could know pending uses.
// refused: allot: the first argument of ordered is an arena: ordered<arena<Device, best_fit<>>, Timeline>
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
#ifdef MISUSE
using memory_type = allot::counted<heap_arena>;
#else
using memory_type = heap_arena;
#endif

int main() { return sizeof(allot::ordered<memory_type, allot::host::job_timeline>) == 0; }
