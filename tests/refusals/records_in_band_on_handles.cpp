// Records inside memory with handles, which has no addresses.
// refused: allot: records in band need memory with pointers
#include <allot/allot.hpp>

struct mapped_buffer {
    using address_model = allot::handle_offset<int>;
    using error = int;
    static constexpr bool host_accessible = true;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr allot::dl_device_type dl_device = allot::dl_device_type::cpu;
    allot::acquired<mapped_buffer> acquire(allot::layout) noexcept {
        return allot::acquired<mapped_buffer>::failure(1);
    }
    void release(allot::region<address_model::address>) noexcept {}
};

int main() {
#ifdef MISUSE
    constexpr auto store = allot::node_store::in_band;
#else
    constexpr auto store = allot::node_store::automatic;
#endif
    allot::arena<mapped_buffer, allot::best_fit<allot::best_fit_options{.store = store}>> arena{mapped_buffer{}, 64};
    return static_cast<int>(arena.size());
}
