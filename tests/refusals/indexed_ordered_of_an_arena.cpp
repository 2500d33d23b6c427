// An arena does not know queues.
// refused: allot: the first argument of indexed_ordered is an ordered: indexed_ordered<ordered<Arena, Timeline>, std::mutex>
#include <allot/allot.hpp>
#include <allot/compose/indexed_ordered.hpp>
#include <allot/host/job_queue.hpp>

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
#ifdef MISUSE
using memory_type = allot::indexed_ordered<heap_arena>;
#else
using memory_type = allot::indexed_ordered<allot::ordered<heap_arena, allot::host::job_timeline>>;
#endif

int main() { return sizeof(memory_type) == 0; }
