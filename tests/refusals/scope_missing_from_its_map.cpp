// A scope that the map does not contain.
// refused: allot: this scope map has no memory of that scope and ordinal
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

int main() {
    allot::naive<allot::host::heap> memory;
    const allot::scope_map memories{allot::in_scope<allot::scope::vtcm>(memory)};
#ifdef MISUSE
    return &memories.get<allot::scope::vtcm, 1>() == &memory ? 0 : 1;
#else
    return &memories.get<allot::scope::vtcm>() == &memory ? 0 : 1;
#endif
}
