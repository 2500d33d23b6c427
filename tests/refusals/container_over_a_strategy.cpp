// A strategy allocates offsets, not blocks.
// refused: allot: this is a strategy, which allocates offsets: combine it with a device: allot::arena<Device, Strategy>
#include <allot/adapt/std_allocator.hpp>
#include <allot/allot.hpp>

#include <vector>

int main() {
#ifdef MISUSE
    using memory_type = allot::best_fit<>;
#else
    using memory_type = allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>;
#endif
    memory_type memory;
    std::vector<int, allot::std_allocator<int, memory_type>> values{memory};
    values.push_back(1);
    return values[0] - 1;
}
