// A GPU's virtual memory grows in place, but the host cannot keep records in it.
// refused: allot: records in band need memory that the host can access: use node_store::side_table or node_store::automatic with this device
#include <allot/allot.hpp>
#include <allot/cuda/virtual_memory.hpp>

int main() {
#ifdef MISUSE
    constexpr auto store = allot::node_store::in_band;
#else
    constexpr auto store = allot::node_store::automatic;
#endif
    constexpr allot::best_fit_options options{.store = store};
    allot::arena<allot::cuda::virtual_memory, allot::best_fit<options>, allot::growth::contiguous<>> arena{
        allot::cuda::virtual_memory{1 << 26}};
    return static_cast<int>(arena.size());
}
