// A device that needs arguments, initialized with empty braces.
// refused: allot: this arena's device needs arguments: arena{device}
// within: 8
#include <allot/allot.hpp>
#include <allot/host/virtual_memory.hpp>

int main() {
    using namespace allot::literals;
    using arena = allot::arena<allot::host::virtual_memory, allot::best_fit<>, allot::growth::contiguous<>>;
#ifdef MISUSE
    arena memory{{}};
#else
    arena memory{allot::host::virtual_memory{64_GiB}};
#endif
    return static_cast<int>(memory.size());
}
