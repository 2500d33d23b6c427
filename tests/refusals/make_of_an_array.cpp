// An array has an owner that knows its length.
// refused: allot: make an object of a type that is neither an array nor a reference; for an array use make_array
#include <allot/allot.hpp>
#include <allot/object.hpp>

int main() {
    allot::arena<allot::host::static_storage<4096>, allot::bump<>> memory;
#ifdef MISUSE
    const auto numbers = allot::make_unique<int[4]>(memory);
#else
    const auto numbers = allot::make_array<int>(memory, 4);
#endif
    return numbers ? 0 : 1;
}
