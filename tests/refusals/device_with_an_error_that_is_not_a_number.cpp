// A device whose error diagnose could not pass on.
// refused: allot: a device states the type of its error codes, convertible to long
#include <allot/allot.hpp>

struct my_memory {
    using address_model = allot::raw_pointer;
#ifdef MISUSE
    using error = const char*;
#else
    using error = int;
#endif
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
