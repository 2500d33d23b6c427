// A list that keeps no block would be full from the start.
// refused: allot: address_cache_options::blocks is at least 1
#include <allot/allot.hpp>
#include <allot/compose/address_cache.hpp>

#ifdef MISUSE
constexpr allot::address_cache_options options{.blocks = 0};
#else
constexpr allot::address_cache_options options{.blocks = 1};
#endif

int main() {
    const allot::address_cache<options> mine;
    return static_cast<int>(mine.kept());
}
