// The holes of ordered have no index.
// refused: allot: ordered visits the holes of a bin and has no index: leave out best_fit_options::offset_index
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>

#ifdef MISUSE
constexpr allot::best_fit_options options{.offset_index = true};
#else
constexpr allot::best_fit_options options{};
#endif

int main() {
    using heap_arena = allot::arena<allot::host::heap, allot::best_fit<options>>;
    return sizeof(allot::ordered<heap_arena, allot::host::job_timeline>) == 0;
}
