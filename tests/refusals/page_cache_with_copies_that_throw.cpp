// A function that copies pages and that may throw.
// refused: allot: page_cache calls its function that copies pages as bool f(page_place from, page_place to) noexcept
#include <allot/page_cache/page_cache.hpp>

int main() {
#ifdef MISUSE
    const auto copy = [](allot::page_place, allot::page_place) { return true; };
#else
    const auto copy = [](allot::page_place, allot::page_place) noexcept { return true; };
#endif
    using cache = allot::page_cache<allot::page_pool<64>, allot::lru_eviction, decltype(copy)>;
    return cache::bytes_for({.bytes = 64}) != 0 ? 0 : 1;
}
