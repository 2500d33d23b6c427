// A bump arena frees nothing, so that there is no memory to reuse in order.
// refused: allot: ordered divides its memory by best_fit: use arena<Device, best_fit<>>
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>

#ifdef MISUSE
using strategy = allot::bump<>;
#else
using strategy = allot::best_fit<>;
#endif

int main() {
    using memory_type = allot::ordered<allot::arena<allot::host::heap, strategy>, allot::host::job_timeline>;
    return sizeof(memory_type) == 0;
}
