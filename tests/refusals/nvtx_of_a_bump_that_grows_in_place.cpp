// refused: allot: a region that grows in place is stated again with its blocks, which this strategy does not list: use best_fit or pool
#include <allot/allot.hpp>
#include <allot/cuda/nvtx.hpp>
#include <allot/host/virtual_memory.hpp>

int main() {
    constexpr allot::growth_options one{.regions = 1};
#ifdef MISUSE
    using strategy = allot::bump<allot::bump_options{.direction = allot::direction::up}>;
#else
    using strategy = allot::best_fit<>;
#endif
    using arena = allot::arena<allot::host::virtual_memory, strategy, allot::growth::contiguous<one>>;
    allot::cuda::nvtx<arena> memory{arena{allot::host::virtual_memory{1 << 20}}};
    return memory.allocate({.size = 1}) ? 0 : 1;
}
