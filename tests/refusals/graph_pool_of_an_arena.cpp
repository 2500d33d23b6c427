// The regions of a graph_pool return behind the queues that launched the graph, which an arena does not know.
// refused: allot: a graph_pool takes its regions from an indexed_ordered: graph_pool<indexed_ordered<ordered<Arena, Timeline>>>
#include <allot/allot.hpp>
#include <allot/compose/graph_pool.hpp>
#include <allot/host/job_queue.hpp>

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
#ifdef MISUSE
using memory_type = heap_arena;
#else
using memory_type = allot::indexed_ordered<allot::ordered<heap_arena, allot::host::job_timeline>>;
#endif

int main() { return sizeof(allot::graph_pool<memory_type>) == 0; }
