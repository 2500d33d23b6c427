// A cache without checks does not clear the marks that a cache with checks leaves in the blocks of slabs.
// refused: allot: with slabs, address_cache_options::checks must equal address_heap_options::checks
#include <allot/allot.hpp>
#include <allot/compose/address_heap.hpp>
#include <allot/host/fork_lock.hpp>
#include <allot/host/virtual_memory.hpp>

using namespace allot::literals;

constexpr allot::address_heap_options options{.checks = true};
struct make {
    using arena = allot::arena<allot::host::heap, allot::best_fit<allot::best_fit_options{.unlocked_capacity = true}>>;
    using slab_space = allot::host::address_space;
    arena operator()(std::size_t) const noexcept { return arena{{}, 64_KiB}; }
};
#ifdef MISUSE
using cache = allot::address_cache<allot::address_cache_options{.slabs = true}>;
#else
using cache = allot::address_cache<allot::address_cache_options{.checks = true, .slabs = true}>;
#endif

int main() {
    allot::address_heap<make, allot::host::fork_lock, options> heap{};
    cache mine;
    void* const block = heap.allocate(mine, {.size = 100});
    heap.deallocate(mine, block);
    heap.flush(mine);
    return block != nullptr ? 0 : 1;
}
