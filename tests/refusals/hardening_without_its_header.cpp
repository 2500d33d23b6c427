// An arena with hardening::debug needs the trees of Boost.Intrusive, which no other header of an arena includes.
// refused: allot: hardening::debug, and any hardening of naive, keep a record of each live block in a tree of Boost.Intrusive: include <allot/arena/hardening.hpp>, which needs the headers of Boost
// within: 12
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr auto hardening = allot::hardening::debug;
#else
    constexpr auto hardening = allot::hardening::checked;
#endif
    allot::arena<allot::host::static_storage<640>, allot::bump<>, allot::growth::none<>,
                 allot::arena_options{.hardening = hardening}>
        arena;
    return arena.allocate({.size = 64}) ? 0 : 1;
}
