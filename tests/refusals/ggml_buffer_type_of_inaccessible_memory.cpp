// The processor cannot access this memory.
// refused: allot: ggml's processor backend reads and writes the bytes: use a device of host memory
#include <buffer_type.hpp>

#include <allot/allot.hpp>

struct own_device : allot::host::heap {
#ifdef MISUSE
    static constexpr bool host_accessible = false;
#endif
};

int main() {
    allot::arena<own_device, allot::best_fit<>> memory{{}, 4096};
    allot_ggml::buffer_type type{memory};
    return type.get() != nullptr ? 0 : 1;
}
