// The host constructs objects, so that it must reach the memory.
// refused: allot: the host cannot access this memory: use an allocator of host memory, or allocate_unique
#include <allot/allot.hpp>
#include <allot/object.hpp>

struct far_memory : allot::host::heap {
    using base = allot::host::heap;
#ifdef MISUSE
    static constexpr bool host_accessible = false;
#endif
    allot::acquired<base> acquire(allot::layout wanted) noexcept { return base::acquire(wanted); }
};

int main() {
    allot::arena<far_memory, allot::bump<>> memory{{}, 4096};
    return *allot::make<int>(memory, 0);
}
