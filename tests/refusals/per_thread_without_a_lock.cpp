// The caches of several threads would call one best_fit at a time.
// refused: allot: the threads of a per_thread call its allocator concurrently: use a mutex or spin_lock instead of no_lock
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    using strategy = allot::best_fit<>;
#else
    using strategy = allot::page_tree<allot::page_tree_options{.page = 256, .count = 8}>;
#endif
    using arena = allot::arena<allot::host::static_storage<4096>, strategy>;
    allot::per_thread<arena, allot::no_lock> memory;
    return memory.allocate({.size = 10}) ? 0 : 1;
}
