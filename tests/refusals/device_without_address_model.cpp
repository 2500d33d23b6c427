// A device without an address model.
// refused: allot: a device states its address_model, a linear one
#include <allot/allot.hpp>

struct my_memory {
#ifdef MISUSE
#else
    using address_model = allot::raw_pointer;
#endif
    using error = int;
    static constexpr bool host_accessible = true;
    static constexpr auto offsets = allot::offset_use::arithmetic;
    static constexpr std::size_t min_align = 16;
    static constexpr std::size_t granularity = 1;
    static constexpr allot::dl_device_type dl_device = allot::dl_device_type::cpu;
    allot::result<allot::region<void*>, int> acquire(allot::layout) noexcept { return {{}}; }
    void release(allot::region<void*>) noexcept {}
};

int main() {
    allot::arena<my_memory, allot::bump<>> arena{my_memory{}, 64};
    return static_cast<int>(arena.size());
}
