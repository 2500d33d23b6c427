// The record of a block does not fit.
// refused: allot: the metadata of this allocator's blocks is larger than any_allocator_options::metadata: set it to the size of the largest metadata
#include <allot/allot.hpp>

int main() {
    constexpr allot::best_fit_options beside{.store = allot::node_store::side_table};
    allot::arena<allot::host::static_storage<256>, allot::best_fit<beside>> arena;
#ifdef MISUSE
    constexpr allot::any_allocator_options options{.metadata = 0};
#else
    constexpr allot::any_allocator_options options{.metadata = 4};
#endif
    allot::any_allocator_ref<allot::raw_pointer, options> memory{arena};
    return memory.allocate({.size = 10}) ? 0 : 1;
}
