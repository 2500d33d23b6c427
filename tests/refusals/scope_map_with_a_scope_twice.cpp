// Two memories with the same scope and device ordinal.
// refused: allot: two memories of this scope map have the same scope and ordinal
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

int main() {
    allot::naive<allot::host::heap> first, second;
#ifdef MISUSE
    const allot::scope_map memories{allot::in_scope<allot::scope::vtcm>(first),
                                    allot::in_scope<allot::scope::vtcm>(second)};
#else
    const allot::scope_map memories{allot::in_scope<allot::scope::vtcm>(first),
                                    allot::in_scope<allot::scope::vtcm, 1>(second)};
#endif
    return &memories.get<allot::scope::vtcm>() == &first ? 0 : 1;
}
