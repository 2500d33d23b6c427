// The bytes of a block must be copied by some function.
// refused: allot: the host cannot copy the bytes of this block: pass reallocate a function that copies
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
    auto block = memory.allocate({64});
    return allot::reallocate(memory, block, {128}) ? 0 : 1;
}
