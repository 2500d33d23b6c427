// A list of storages whose rows one table cannot name.
// refused: allot: the storages of a list need one address model
#include "../laws/devices.hpp"

#include <allot/allot.hpp>
#include <allot/tensor.hpp>

using pointers = allot::storage<allot::arena<allot::host::heap, allot::best_fit<>>>;
using handles = allot::storage<allot::arena<laws::handles<laws::handle_options{}>, allot::best_fit<>>>;

int main() {
#ifdef MISUSE
    const allot::storage_list both{pointers{}, handles{}};
#else
    const allot::storage_list both{pointers{}, pointers{}};
#endif
    return both ? 1 : 0;
}
