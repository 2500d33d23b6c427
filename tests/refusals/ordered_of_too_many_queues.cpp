// The sets of queues have 32 bits, two of them for external points and for the host.
// refused: allot: ordered_options::queues must be 1 to 30
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
#ifdef MISUSE
constexpr allot::ordered_options options{.queues = 31};
#else
constexpr allot::ordered_options options{};
#endif

int main() { return sizeof(allot::ordered<heap_arena, allot::host::job_timeline, options>) == 0; }
