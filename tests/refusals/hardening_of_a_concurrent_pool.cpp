// A hardened arena records its blocks in a tree that several threads cannot use.
// refused: allot: the records of a hardened arena are not for concurrent calls: use hardening::none, or synchronized<Arena, Lock> over a pool with another store
#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>

int main() {
#ifdef MISUSE
    constexpr auto hardening = allot::hardening::checked;
#else
    constexpr auto hardening = allot::hardening::none;
#endif
    constexpr allot::pool_options options{.slot = 64, .count = 10, .store = allot::pool_store::atomic_bitmap};
    allot::arena<allot::host::static_storage<640>, allot::pool<options>, allot::growth::none<>,
                 allot::arena_options{.hardening = hardening}>
        arena;
    return arena.allocate({.size = 64}) ? 0 : 1;
}
