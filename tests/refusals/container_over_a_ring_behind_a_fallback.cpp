// A ring takes back its oldest block only, also as the first choice of a fallback.
// refused: allot: containers deallocate in any order, which stack and ring do not support
#include <allot/adapt/std_allocator.hpp>
#include <allot/allot.hpp>

#include <vector>

#ifdef MISUSE
using strategy = allot::ring<>;
#else
using strategy = allot::best_fit<>;
#endif

int main() {
    using arena = allot::arena<allot::host::static_storage<4096>, strategy>;
    arena first;
    allot::arena<allot::host::static_storage<4096>, allot::bump<>> second;
    using memory_type = allot::fallback<arena&, decltype(second)&>;
    memory_type memory{first, second};
    std::vector<int, allot::std_allocator<int, memory_type>> values{memory};
    values.push_back(1);
}
