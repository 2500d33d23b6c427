// The lists of a cache have the sizes of its heap.
// refused: allot: a heap whose maker has a slab_space needs address_cache_options{.slabs = true}, and no other heap does
#include <allot/allot.hpp>
#include <allot/compose/address_heap.hpp>
#include <allot/host/fork_lock.hpp>
#include <allot/host/virtual_memory.hpp>

using namespace allot::literals;

constexpr allot::address_heap_options options{};
struct make {
    using arena = allot::arena<allot::host::heap, allot::best_fit<allot::best_fit_options{.unlocked_capacity = true}>>;
    using slab_space = allot::host::address_space;
    arena operator()(std::size_t) const noexcept { return arena{{}, 64_KiB}; }
};
#ifdef MISUSE
using cache = allot::address_cache<>;
#else
using cache = allot::address_cache<allot::address_cache_options{.slabs = true}>;
#endif

int main() {
    allot::address_heap<make, allot::host::fork_lock, options> heap{};
    cache mine;
    void* const block = heap.allocate(mine, {.size = 100});
    heap.deallocate(mine, block);
    heap.flush(mine);
    return block != nullptr ? 0 : 1;
}
