// Consumers of this memory take no offset, so an arena cannot divide it.
// refused: allot: consumers of this memory take no offset
#include <allot/allot.hpp>

#ifdef MISUSE
constexpr auto use = allot::offset_use::none;
#else
constexpr auto use = allot::offset_use::carried;
#endif

struct texture {
    using address_model = allot::handle_offset<int>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = use;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr allot::dl_device_type dl_device = allot::dl_device_type::cpu;
    allot::acquired<texture> acquire(allot::layout) noexcept { return allot::acquired<texture>::failure(1); }
    void release(allot::region<address_model::address>) noexcept {}
};

int main() {
    allot::arena<texture, allot::bump<>> arena{texture{}, 64};
    return static_cast<int>(arena.size());
}
