// Late work would overwrite records inside freed bytes.
// refused: allot: ordered keeps its records in a side table, because work of a queue may still write freed bytes: leave out node_store::in_band
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>

#ifdef MISUSE
constexpr allot::best_fit_options options{.store = allot::node_store::in_band};
#else
constexpr allot::best_fit_options options{};
#endif

int main() {
    using heap_arena = allot::arena<allot::host::heap, allot::best_fit<options>>;
    return sizeof(allot::ordered<heap_arena, allot::host::job_timeline>) == 0;
}
