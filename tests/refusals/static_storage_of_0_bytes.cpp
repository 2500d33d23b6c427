// A static_storage of zero bytes.
// refused: allot: static_storage requires a size of at least one byte
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
