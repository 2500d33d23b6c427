// A fork in a cache that cannot copy pages.
// refused: allot: two sequences after a fork write one page, so the cache must copy it: give page_cache a function that copies pages as its third parameter
#include <allot/page_cache/page_cache.hpp>

struct copier {
    bool operator()(allot::page_place, allot::page_place) const noexcept { return true; }
};

int main() {
#ifdef MISUSE
    using copies = allot::no_page_copies;
#else
    using copies = copier;
#endif
    allot::page_cache<allot::page_pool<64>, allot::lru_eviction, copies> cache{{.bytes = 64}, {}};
    return cache.fork({}) ? 1 : 0;
}
