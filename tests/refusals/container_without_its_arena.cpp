// A container that is given no allocator makes one itself, of no arena.
// refused: allot: this container needs an arena
// within: 12
#include <allot/adapt/std_allocator.hpp>
#include <allot/allot.hpp>

#include <vector>

using memory = allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>;

int main() {
    memory arena;
#ifdef MISUSE
    std::vector<int, allot::std_allocator<int, memory>> numbers;
#else
    std::vector<int, allot::std_allocator<int, memory>> numbers{arena};
#endif
    return static_cast<int>(numbers.size());
}
