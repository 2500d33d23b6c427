// Guards are written by the host.
// refused: allot: guarded writes bytes around each block: use an allocator of memory that the host can access by pointers
#include <allot/allot.hpp>

struct numbered {
    using address_model = allot::handle_offset<int>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr auto dl_device = allot::dl_device_type::ext_dev;
    [[nodiscard]] allot::acquired<numbered> acquire(allot::layout wanted) noexcept {
        return allot::region<address_model::address>{{5, 0}, wanted.size, 64};
    }
    void release(allot::region<address_model::address>) noexcept {}
};

int main() {
#ifdef MISUSE
    using device = numbered;
#else
    using device = allot::host::heap;
#endif
    allot::guarded<allot::arena<device, allot::best_fit<>>> memory{allot::arena<device, allot::best_fit<>>{{}, 1000}};
    return memory.allocate({.size = 10}) ? 0 : 1;
}
