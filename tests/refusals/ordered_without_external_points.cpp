// Without room for external points, each deallocation with one would fail.
// refused: allot: ordered_options::external must be at least 1
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
#ifdef MISUSE
constexpr allot::ordered_options options{.external = 0};
#else
constexpr allot::ordered_options options{};
#endif

int main() { return sizeof(allot::ordered<heap_arena, allot::host::job_timeline, options>) == 0; }
