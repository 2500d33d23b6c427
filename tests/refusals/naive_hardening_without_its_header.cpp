// A hardened allocator of regions needs the trees of Boost.Intrusive, which naive.hpp does not include.
// refused: allot: hardening::debug, and any hardening of naive, keep a record of each live block in a tree of Boost.Intrusive: include <allot/arena/hardening.hpp>, which needs the headers of Boost
// within: 12
#include <allot/arena/naive.hpp>
#include <allot/host/heap.hpp>

int main() {
#ifdef MISUSE
    allot::naive<allot::host::heap, allot::hardening::debug> memory;
#else
    allot::naive<allot::host::heap> memory;
#endif
    return memory.allocate({.size = 64}) ? 0 : 1;
}
