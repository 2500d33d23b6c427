// A container of Boost that is given no allocator makes one itself, of no arena.
// refused: allot: this container needs an arena: boost::container::vector<T, boost_allocator<T, Arena>> v{arena}
// within: 12
#include <allot/adapt/boost_allocator.hpp>
#include <allot/allot.hpp>

#include <boost/container/vector.hpp>

using memory = allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>;

int main() {
    memory arena;
#ifdef MISUSE
    boost::container::vector<int, allot::boost_allocator<int, memory>> numbers;
#else
    boost::container::vector<int, allot::boost_allocator<int, memory>> numbers{arena};
#endif
    return static_cast<int>(numbers.size());
}
