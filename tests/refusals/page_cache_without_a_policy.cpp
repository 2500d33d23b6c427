// A type that is no policy of eviction.
// refused: allot: the second parameter of a page_cache is a policy of eviction, such as lru_eviction
#include <allot/page_cache/page_cache.hpp>

int main() {
#ifdef MISUSE
    using policy = int;
#else
    using policy = allot::lru_eviction;
#endif
    return allot::page_cache<allot::page_pool<64>, policy>::bytes_for({.bytes = 64}) != 0 ? 0 : 1;
}
