// In memory with pointers an offset is an address, which does not fit 16 bits.
// refused: allot: offsets in this memory are addresses: use an offset type as wide as std::size_t
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    using offset = std::uint16_t;
#else
    using offset = std::size_t;
#endif
    allot::arena<allot::host::static_storage<64>, allot::bump<allot::bump_options{}, offset>> arena;
    return static_cast<int>(arena.size());
}
