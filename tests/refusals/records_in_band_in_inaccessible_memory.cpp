// Records inside memory that the host cannot access.
// refused: allot: records in band need memory that the host can access: use node_store::side_table or node_store::automatic with this device
#include <allot/allot.hpp>

struct unreachable {
    using address_model = allot::raw_pointer;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::arithmetic;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr allot::dl_device_type dl_device = allot::dl_device_type::cpu;
    allot::acquired<unreachable> acquire(allot::layout) noexcept { return allot::acquired<unreachable>::failure(1); }
    void release(allot::region<address_model::address>) noexcept {}
};

int main() {
#ifdef MISUSE
    constexpr auto store = allot::node_store::in_band;
#else
    constexpr auto store = allot::node_store::side_table;
#endif
    allot::arena<unreachable, allot::best_fit<allot::best_fit_options{.store = store}>> arena{unreachable{}, 64};
    return static_cast<int>(arena.size());
}
