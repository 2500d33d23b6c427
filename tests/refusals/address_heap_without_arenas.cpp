// No request could be served.
// refused: allot: address_heap has 1 to 64 arenas, and at least one spare: address_heap_options{.arenas = 16, .spares = 4}
#include <allot/allot.hpp>
#include <allot/compose/address_heap.hpp>
#include <allot/host/fork_lock.hpp>

using namespace allot::literals;

using strategy = allot::best_fit<allot::best_fit_options{.unlocked_capacity = true}>;
#ifdef MISUSE
constexpr allot::address_heap_options options{.arenas = 0};
#else
constexpr allot::address_heap_options options{.arenas = 1};
#endif
struct make {
    using arena = allot::arena<allot::host::heap, strategy>;
    arena operator()(std::size_t) const noexcept { return arena{{}, 64_KiB}; }
};

int main() {
    allot::address_heap<make, allot::host::fork_lock, options> heap{};
    allot::address_cache<> mine;
    void* const block = heap.allocate(mine, {.size = 100});
    heap.deallocate(mine, block);
    heap.flush(mine);
    return block != nullptr ? 0 : 1;
}
