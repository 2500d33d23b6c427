// Containers write their elements, which the host cannot do in memory that only a device accesses.
// refused: allot: standard allocators require host-writable memory
#include <allot/adapt/boost_memory_resource.hpp>
#include <allot/allot.hpp>

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
    allot::arena<far_away, allot::bump<>> memory{far_away{}, 4096};
    allot::boost_memory_resource resource{memory};
    return resource.allocate(4) == nullptr;
}
