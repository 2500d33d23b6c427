// The size of the room is not known to the allocator.
// refused: allot: guided needs a room: guided{allocator, {.size = bytes, .align = 64}}
#include <allot/allot.hpp>
#include <allot/plan/guided.hpp>

int main() {
    using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
#ifdef MISUSE
    allot::guided<arena> memory{arena{{}, 4096}};
#else
    allot::guided<arena> memory{arena{{}, 4096}, {.size = 1024, .align = 16}};
#endif
    return memory.allocate({.size = 10}) ? 0 : 1;
}
