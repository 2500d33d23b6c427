// The second argument locks each call.
// refused: allot: the second argument of indexed_ordered has lock() and unlock(): use std::mutex, spin_lock or no_lock
#include <allot/allot.hpp>
#include <allot/compose/indexed_ordered.hpp>
#include <allot/host/job_queue.hpp>

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
#ifdef MISUSE
using lock = int;
#else
using lock = allot::spin_lock;
#endif
using memory_type = allot::indexed_ordered<allot::ordered<heap_arena, allot::host::job_timeline>, lock>;

int main() { return sizeof(memory_type) == 0; }
