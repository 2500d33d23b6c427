// A list of storages with different reference policies.
// refused: allot: the storages of a list need one reference policy
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

using memory = allot::arena<allot::host::heap, allot::best_fit<>>;
using plain = allot::storage<memory>;
using atomic = allot::storage<memory, allot::storage_policies<allot::best_fit<>, allot::references::atomic>>;

int main() {
#ifdef MISUSE
    const allot::storage_list both{plain{}, atomic{}};
#else
    const allot::storage_list both{atomic{}, atomic{}};
#endif
    return both ? 1 : 0;
}
