// discard_holes needs the device of an arena, which a wrapper does not show.
// refused: allot: discard_holes takes an arena: of synchronized, pass the one that locked(function) passes to the function; of another wrapper, pass the arena that it refers to
#include <allot/allot.hpp>
#include <allot/arena/discard_holes.hpp>
#include <allot/host/virtual_memory.hpp>

using namespace allot::literals;

using arena = allot::arena<allot::host::virtual_memory, allot::best_fit<>>;
allot::synchronized<arena, allot::spin_lock> memory{arena{allot::host::virtual_memory{1_MiB}, 64_KiB}};

int main() {
#ifdef MISUSE
    return allot::discard_holes(memory, 4096) != 0;
#else
    return memory.locked([](auto& arena) { return allot::discard_holes(arena, 4096); }) != 0;
#endif
}
