// A container writes its elements, which nobody can where only a device reaches the memory.
// refused: allot: standard allocators require host-writable memory
#include <allot/adapt/std_allocator.hpp>
#include <allot/allot.hpp>

#include <vector>

struct far_away : allot::host::heap {
    using base = allot::host::heap;
#ifdef MISUSE
    static constexpr bool host_accessible = false;
#endif
    allot::acquired<far_away> acquire(allot::layout wanted) noexcept {
        const auto given = base::acquire(wanted);
        return given ? allot::acquired<far_away>{*given} : allot::acquired<far_away>::failure(given.error());
    }
};

int main() {
    using arena = allot::arena<far_away, allot::bump<>>;
    arena memory{far_away{}, 4096};
    std::vector<int, allot::std_allocator<int, arena>> values{memory};
    values.push_back(1);
}
