// An arena, which allocates memory, in place of a strategy that hands out the indices of pages.
// refused: allot: the first parameter of a page_cache is a strategy without records in its memory, whose blocks are freed in any order, such as page_pool<4096>
#include <allot/allot.hpp>
#include <allot/page_cache/page_cache.hpp>

int main() {
#ifdef MISUSE
    using pages = allot::arena<allot::host::heap, allot::best_fit<>>;
#else
    using pages = allot::page_pool<64>;
#endif
    return allot::page_cache<pages>::bytes_for({.bytes = 64}) != 0 ? 0 : 1;
}
