// A static storage without a byte.
// refused: allot: static storage has at least one byte
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t size = 0;
#else
    constexpr std::size_t size = 1;
#endif
    allot::arena<allot::host::static_storage<size>, allot::bump<>> arena;
    return static_cast<int>(arena.size());
}
