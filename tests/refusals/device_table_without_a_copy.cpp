// Memory that the host cannot access, without a method that copies to it.
// refused: allot: the host cannot access the table's memory
#include <allot/allot.hpp>
#include <allot/host/job_queue.hpp>
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
    allot::host::job_timeline line;
    allot::host::job_queue queue;
    auto table = *allot::alloc_device_table(memory, line, {.entries = 2});
    return table.publish(&queue) ? 0 : 1;
}
