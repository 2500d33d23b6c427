// Constants that are all 0 need no memory.
// refused: allot: make_array makes elements that can be written: leave out the const
#include <allot/allot.hpp>
#include <allot/object.hpp>

int main() {
    allot::arena<allot::host::static_storage<4096>, allot::bump<>> memory;
#ifdef MISUSE
    const auto numbers = allot::make_array<const int>(memory, 4);
#else
    const auto numbers = allot::make_array<int>(memory, 4);
#endif
    return numbers[0];
}
