// A contiguous tensor on shared rows that could not keep them alive.
// refused: allot: a tensor of references::none keeps no rows alive
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <vector>

using memory = allot::arena<allot::host::heap, allot::best_fit<>>;
using policies = allot::storage_policies<allot::best_fit<>, allot::references::none>;

int main() {
    memory heap{{}, 4096};
    allot::storage_body<memory, policies> table_body, data_body;
    const auto tables = *allot::alloc_storage(table_body, heap, {.size = 256});
    const auto data = *allot::alloc_storage(data_body, heap, {.size = 256, .align = 16});
    std::vector<allot::shared_row<allot::storage<memory, policies>>> records(4);
    allot::shared_rows_body<allot::storage<memory, policies>> body;
    const auto shared = *allot::share_rows(body, data, std::span{records});
#ifdef MISUSE
    const auto& in = shared;
#else
    static_cast<void>(shared);
    const auto& in = data;
#endif
    const auto rows =
        *allot::alloc_discontiguous_tensor(tables, allot::anywhere, in, allot::anywhere, {1, 4}, allot::int32);
    return allot::as_tensor(rows) ? 0 : 1;
}
