// A cache could not keep one block of the last list.
// refused: allot: per_thread_options::batch is 1 to 32767, batches is at least 1, and bytes is at least largest
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t bytes = 1000;
#else
    constexpr std::size_t bytes = 1 << 20;
#endif
    using arena = allot::arena<allot::host::static_storage<256>, allot::best_fit<>>;
    allot::per_thread<arena, allot::spin_lock, allot::per_thread_options{.bytes = bytes}> memory;
    return memory.allocate({.size = 10}) ? 0 : 1;
}
