// An interface that passes an address and a queue has no place for the points to wait for.
// refused: allot: indexed_ordered cannot hand out waits: use wait_policy::insert or wait_policy::never
#include <allot/allot.hpp>
#include <allot/compose/indexed_ordered.hpp>
#include <allot/host/job_queue.hpp>

#ifdef MISUSE
constexpr allot::ordered_options options{.waits = allot::wait_policy::hand_out};
#else
constexpr allot::ordered_options options{.waits = allot::wait_policy::insert};
#endif
using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using memory_type = allot::indexed_ordered<allot::ordered<heap_arena, allot::host::job_timeline, options>>;

int main() { return sizeof(memory_type) == 0; }
