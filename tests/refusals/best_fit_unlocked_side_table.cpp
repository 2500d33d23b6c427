// A side table is read under the lock only.
// refused: allot: best_fit_options::unlocked_capacity is for records in band: leave it out for a side table
#include <allot/allot.hpp>

using namespace allot::literals;

#ifdef MISUSE
constexpr allot::best_fit_options options{.store = allot::node_store::side_table, .unlocked_capacity = true};
#else
constexpr allot::best_fit_options options{.store = allot::node_store::in_band, .unlocked_capacity = true};
#endif

int main() {
    allot::arena<allot::host::heap, allot::best_fit<options>> memory{{}, 64_KiB};
    const auto block = memory.allocate({.size = 100});
    return block ? 0 : 1;
}
