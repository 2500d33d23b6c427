// A contiguous tensor on rows in memories of different kinds.
// refused: allot: these rows are in memories of different kinds
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

struct other_kind : allot::host::heap {
    static constexpr auto dl_device = allot::dl_device_type::ext_dev;
    [[nodiscard]] allot::acquired<other_kind> acquire(allot::layout wanted) noexcept {
        return *allot::host::heap::acquire(wanted);
    }
};

int main() {
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};
    allot::arena<other_kind, allot::best_fit<>> other{{}, 4096};
    const auto tables = *allot::alloc_storage(memory, 1024);
    const auto first = *allot::alloc_storage(memory, 256);
#ifdef MISUSE
    const auto second = *allot::alloc_storage(other, 256);
#else
    static_cast<void>(other);
    const auto second = *allot::alloc_storage(memory, 256);
#endif
    const allot::storage_list both{first, second};
    const auto rows =
        *allot::alloc_discontiguous_tensor(tables, allot::anywhere, both, allot::anywhere, {1, 4}, allot::int32);
    return allot::as_tensor(rows) ? 0 : 1;
}
