// deferred links freed blocks through their own bytes, which work of a queue may still write.
// refused: allot: ordered divides its memory by best_fit, pool, page_tree, bump, stack or ring: use one of these
#include <allot/compose/ordered.hpp>
#include <allot/strategy/deferred.hpp>
#include <allot/host/heap.hpp>
#include <allot/host/job_queue.hpp>

int main() {
#ifdef MISUSE
    using strategy = allot::deferred<allot::best_fit<>>;
#else
    using strategy = allot::best_fit<>;
#endif
    allot::ordered<allot::arena<allot::host::heap, strategy>, allot::host::job_timeline> memory{
        {}, allot::host::heap{}, 512};
    return static_cast<int>(memory.size());
}
