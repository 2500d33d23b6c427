// An arena whose alignment option is not a power of two.
// refused: allot: arena_options::align must be a power of two
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t align = 3;
#else
    constexpr std::size_t align = 4;
#endif
    allot::arena<allot::host::static_storage<64>, allot::bump<>, allot::growth::none<>,
                 allot::arena_options{.align = align}>
        arena;
    return static_cast<int>(arena.size());
}
