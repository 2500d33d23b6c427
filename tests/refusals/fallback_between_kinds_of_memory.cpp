// A fallback from memory of one device to memory of another, whose blocks nobody could tell apart.
// refused: allot: fallback needs two allocators with the same traits offsets and dl_device
#include <allot/allot.hpp>

struct pinned : allot::host::heap {
#ifdef MISUSE
    static constexpr auto dl_device = allot::dl_device_type::cuda_host;
#endif
    allot::result<allot::region<void*>, error> acquire(allot::layout wanted) noexcept {
        const auto given = heap::acquire(wanted);
        return given ? allot::result<allot::region<void*>, error>{*given}
                     : decltype(acquire(wanted))::failure(given.error());
    }
};

int main() {
    allot::naive<allot::host::heap> plain;
    allot::naive<pinned> other;
    allot::fallback memory{plain, other};
    const auto block = memory.allocate({.size = 64});
    memory.deallocate(block);
    return block ? 0 : 1;
}
