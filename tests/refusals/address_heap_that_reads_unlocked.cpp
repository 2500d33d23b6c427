// capacity reads the size of a block without a lock.
// refused: allot: address_heap measures blocks without a lock: use best_fit<best_fit_options{.unlocked_capacity = true}>
#include <allot/allot.hpp>
#include <allot/compose/address_heap.hpp>
#include <allot/host/fork_lock.hpp>

using namespace allot::literals;

#ifdef MISUSE
using strategy = allot::best_fit<>;
#else
using strategy = allot::best_fit<allot::best_fit_options{.unlocked_capacity = true}>;
#endif
struct make {
    using arena = allot::arena<allot::host::heap, strategy>;
    arena operator()(std::size_t) const noexcept { return arena{{}, 64_KiB}; }
};

int main() {
    allot::address_heap<make, allot::host::fork_lock> heap{};
    allot::address_cache<> mine;
    void* const block = heap.allocate(mine, {.size = 100});
    heap.deallocate(mine, block);
    heap.flush(mine);
    return block != nullptr ? 0 : 1;
}
