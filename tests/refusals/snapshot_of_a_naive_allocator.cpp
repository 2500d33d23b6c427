// An allocator without records cannot list its blocks.
// refused: allot: a snapshot needs an allocator that lists its blocks or its holes, such as an arena
#include <allot/allot.hpp>
#include <allot/inspect/snapshot.hpp>

int main() {
#ifdef MISUSE
    allot::naive<allot::host::heap> memory;
#else
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};
#endif
    return allot::take_snapshot(memory).holes.size() == 1 ? 0 : 1;
}
