// refused: allot: cuda::nvtx states the regions of an arena: put it directly around the arena
#include <allot/allot.hpp>
#include <allot/cuda/nvtx.hpp>

int main() {
    using arena = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>>;
#ifdef MISUSE
    allot::cuda::nvtx<allot::naive<allot::host::heap>> memory;
#else
    allot::cuda::nvtx<arena> memory;
#endif
    return memory.allocate({.size = 1}) ? 0 : 1;
}
