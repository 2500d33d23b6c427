// Slower tiers of a cache that cannot copy pages.
// refused: allot: pages are copied to slower tiers and back: give page_cache a function that copies pages as its third parameter
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
    using cache = allot::page_cache<allot::page_pool<64>, allot::lru_eviction, copies, 1>;
    constexpr std::uint64_t slower[] = {64};
    return cache::bytes_for({.bytes = 64, .slower = slower}) != 0 ? 0 : 1;
}
