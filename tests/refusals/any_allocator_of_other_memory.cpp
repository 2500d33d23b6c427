// The options state that the host can access the memory.
// refused: allot: this allocator's memory has other properties than the options of any_allocator state: set host_accessible, offsets and dl_device, or take them from it: any_options_of<Allocator>
#include <allot/allot.hpp>

struct far_memory : allot::host::heap {
    static constexpr bool host_accessible = false;
};

int main() {
    allot::arena<far_memory, allot::best_fit<>> arena{{}, 4096};
#ifdef MISUSE
    allot::any_allocator_ref<> memory{arena};
#else
    allot::any_allocator_ref memory{arena};
#endif
    return memory.allocate({.size = 10}) ? 0 : 1;
}
