// A copy by the host between tensors in memory that it cannot access.
// refused: allot: the host cannot access this memory
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
    const auto data = *allot::alloc_storage(memory, 1024);
    const auto a = *allot::alloc_tensor(data, 0, {64}, allot::int32),
               b = *allot::alloc_tensor(data, 512, {64}, allot::int32);
    return allot::copy_tensor(a, b) ? 0 : 1;
}
