// free(address) needs records in front of blocks.
// refused: allot: address_heap frees by address: use arenas of best_fit in memory that the host can access, without hardening
#include <allot/allot.hpp>
#include <allot/compose/address_heap.hpp>
#include <allot/host/fork_lock.hpp>

using namespace allot::literals;

#ifdef MISUSE
using strategy = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>;
#else
using strategy = allot::best_fit<allot::best_fit_options{.unlocked_capacity = true}>;
#endif
constexpr allot::address_heap_options options{};
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
