// A device whose granularity is not a power of two.
// refused: allot: a device's granularity is a power of two
#include <allot/allot.hpp>

struct my_memory {
    using address_model = allot::raw_pointer;
    using error = int;
    static constexpr bool host_accessible = true;
    static constexpr auto offsets = allot::offset_use::arithmetic;
    static constexpr std::size_t min_align = 16;
#ifdef MISUSE
    static constexpr std::size_t granularity = 1000;
#else
    static constexpr std::size_t granularity = 1;
#endif
    static constexpr allot::dl_device_type dl_device = allot::dl_device_type::cpu;
    allot::result<allot::region<void*>, int> acquire(allot::layout) noexcept { return {{}}; }
    void release(allot::region<void*>) noexcept {}
};

int main() {
    allot::arena<my_memory, allot::bump<>> arena{my_memory{}, 64};
    return static_cast<int>(arena.size());
}
