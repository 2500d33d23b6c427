// A list with a storage that does not record its rows.
// refused: allot: the storages of a list record their rows
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

using memory = allot::arena<allot::host::heap, allot::best_fit<>>;
using searched = allot::storage<memory>;
using as_given = allot::storage<memory, allot::storage_policies<allot::as_given>>;

int main() {
#ifdef MISUSE
    const allot::storage_list both{searched{}, as_given{}};
#else
    const allot::storage_list both{searched{}, searched{}};
#endif
    return both ? 1 : 0;
}
