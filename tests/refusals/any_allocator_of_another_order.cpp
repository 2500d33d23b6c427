// A stack frees its newest block only.
// refused: allot: this allocator reclaims blocks in another order than any_allocator_options::reclaims states: set it to the order of this allocator
#include <allot/allot.hpp>

int main() {
    allot::arena<allot::host::static_storage<256>, allot::stack<>> arena;
#ifdef MISUSE
    allot::any_allocator_ref<> memory{arena};
#else
    constexpr allot::any_allocator_options options{.reclaims = allot::reclaim::lifo};
    allot::any_allocator_ref<allot::raw_pointer, options> memory{arena};
#endif
    return memory.allocate({.size = 10}) ? 0 : 1;
}
