// A limit whose alignment is not a power of two.
// refused: allot: bump_options::limit_align must be a power of two
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t align = 3;
#else
    constexpr std::size_t align = 4;
#endif
    allot::arena<allot::host::static_storage<64>, allot::bump<allot::bump_options{.limit_align = align}>> arena;
    return static_cast<int>(arena.size());
}
