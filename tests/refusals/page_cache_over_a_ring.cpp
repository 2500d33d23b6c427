// A strategy that frees its blocks in one order only.
// refused: allot: the first parameter of a page_cache is a strategy without records in its memory, whose blocks are freed in any order, such as page_pool<4096>
#include <allot/page_cache/page_cache.hpp>
#include <allot/strategy/ring.hpp>

int main() {
#ifdef MISUSE
    using pages = allot::ring<>;
#else
    using pages = allot::page_pool<64>;
#endif
    return allot::page_cache<pages>::bytes_for({.bytes = 64}) != 0 ? 0 : 1;
}
