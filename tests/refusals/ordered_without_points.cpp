// Without a point, no other queue can wait.
// refused: allot: ordered_options::points must be at least 1
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
#ifdef MISUSE
constexpr allot::ordered_options options{.points = 0};
#else
constexpr allot::ordered_options options{};
#endif

int main() { return sizeof(allot::ordered<heap_arena, allot::host::job_timeline, options>) == 0; }
