// A consumer holds an exported tensor for an unknown time, so references must be counted.
// refused: allot: a consumer of DLPack holds a reference: a tensor of references::none cannot be exported
#include <allot/allot.hpp>
#include <allot/tensor/dlpack.hpp>

int main() {
    using memory = allot::arena<allot::host::static_storage<4096>, allot::bump<>>;
    memory arena;
#ifdef MISUSE
    using policies = allot::storage_policies<allot::as_given, allot::references::none>;
    allot::storage_body<memory, policies> body;
    auto data = *allot::alloc_storage(body, arena, 1024);
#else
    auto data = *allot::alloc_storage<allot::storage_policies<allot::as_given>>(arena, 1024);
#endif
    auto t = *allot::alloc_tensor(data, 0, {4}, allot::int32);
    return allot::to_dlpack(t) ? 0 : 1;
}
