// allocate is noexcept.
// refused: allot: the third parameter of sharded returns the number of the caller's processor: std::size_t operator()() const noexcept
#include <allot/allot.hpp>

struct throwing {
    std::size_t operator()() const { return 0; }
};
struct numbered {
    std::size_t operator()() const noexcept { return 0; }
};

int main() {
#ifdef MISUSE
    using processor = throwing;
#else
    using processor = numbered;
#endif
    using shard =
        allot::synchronized<allot::arena<allot::host::static_storage<256>, allot::best_fit<>>, allot::spin_lock>;
    allot::sharded<shard, 2, processor> memory;
    return memory.allocate({.size = 10}) ? 0 : 1;
}
