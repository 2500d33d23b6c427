// A size that exceeds the 32 bits of the pool's offsets.
// refused: allot: pool_options::slot, rounded up to pool_options::align, does not fit the offset type: use a wider offset type
#include <allot/strategy/pool.hpp>

int main() {
#ifdef MISUSE
    constexpr std::uint64_t slot = 5'368'709'120;  // 5 GiB: 1 GiB would be left of it
#else
    constexpr std::uint64_t slot = 4096;
#endif
    allot::pool<allot::pool_options{.slot = slot, .count = 4}, std::uint32_t> strategy;
    return strategy.insert({0, 16384}) ? 0 : 1;
}
