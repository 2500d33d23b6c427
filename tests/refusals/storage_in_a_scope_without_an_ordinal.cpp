// The policies of a storage in a scope, in the place of the ordinal.
// refused: allot: the policies of a storage in a scope follow the ordinal of the device: alloc_storage<Scope, 0, Policies>
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

int main() {
    using policies = allot::storage_policies<allot::as_given>;
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};
    const allot::scope_map memories{allot::in_scope<allot::scope::global>(memory)};
#ifdef MISUSE
    const auto made = allot::alloc_storage<allot::scope::global, policies>(memories, {.size = 1024});
#else
    const auto made = allot::alloc_storage<allot::scope::global, 0, policies>(memories, {.size = 1024});
#endif
    return made ? 0 : 1;
}
