// The last reference to an adopted tensor calls the deleter, so references must be counted.
// refused: allot: an adopted tensor counts references: use references::plain or references::atomic
#include <allot/allot.hpp>
#include <allot/tensor/dlpack.hpp>

int main() {
#ifdef MISUSE
    using counting = allot::references::none;
#else
    using counting = allot::references::plain;
#endif
    using policies = allot::storage_policies<allot::as_given, counting>;
    return allot::from_dlpack<allot::host::heap, policies>(allot::dlpack_pointer{}) ? 1 : 0;
}
