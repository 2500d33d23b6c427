// A table in memory that the host cannot access.
// refused: allot: the host writes the table of a storage in rows
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

struct far_memory : allot::traits_of<allot::host::heap> {
    using error = allot::host::heap::error;
#ifdef MISUSE
    static constexpr bool host_accessible = false;
#endif
    allot::result<allot::region<void*>, error> acquire(allot::layout wanted) noexcept {
        const auto given = allot::host::heap{}.acquire(wanted);
        return given ? allot::result<allot::region<void*>, error>{*given}
                     : decltype(acquire(wanted))::failure(given.error());
    }
    void release(allot::region<void*> held) noexcept { allot::host::heap{}.release(held); }
};

int main() {
    allot::arena<far_memory, allot::best_fit<>> memory{{}, 4096};
    allot::arena<allot::host::heap, allot::best_fit<>> rows{{}, 4096};
    return allot::alloc_storage(rows, memory, {4, 64}, allot::int32) ? 0 : 1;
}
