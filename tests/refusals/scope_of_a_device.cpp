// The memory of a scope is an allocator.
// refused: allot: this is a device, which acquires regions: combine it with a strategy: allot::arena<Device, Strategy>, or use allot::naive<Device>
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

int main() {
#ifdef MISUSE
    allot::host::heap memory;
    allot::scope_map memories{allot::in_scope<allot::scope::global>(memory)};
#else
    allot::naive<allot::host::heap> memory;
    allot::scope_map memories{allot::in_scope<allot::scope::global>(memory)};
#endif
}
