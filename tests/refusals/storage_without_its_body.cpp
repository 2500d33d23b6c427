// With references::none, no body is on the heap.
// refused: allot: with references::none, the program owns the body: storage_body<Allocator, Policies> body, alloc_storage(body, memory, layout)
// only
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

using policies = allot::storage_policies<allot::as_given, allot::references::none>;

int main() {
    allot::naive<allot::host::heap> memory;
#ifdef MISUSE
    return allot::alloc_storage<policies>(memory, {.size = 64}) ? 0 : 1;
#else
    allot::storage_body<allot::naive<allot::host::heap>, policies> body;
    return allot::alloc_storage(body, memory, {.size = 64}) ? 0 : 1;
#endif
}
