// A node container frees its nodes in any order.
// refused: allot: containers deallocate in any order, which stack and ring do not support
#include <allot/adapt/boost_allocator.hpp>
#include <allot/allot.hpp>

#include <boost/container/list.hpp>

int main() {
#ifdef MISUSE
    using memory_type = allot::arena<allot::host::static_storage<4096>, allot::stack<>>;
#else
    using memory_type = allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>;
#endif
    memory_type memory;
    boost::container::list<int, allot::boost_allocator<int, memory_type>> numbers{memory};
    return static_cast<int>(numbers.size());
}
