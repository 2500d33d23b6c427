// DLPack has one pointer for the memory, and this handle is a number.
// refused: allot: DLPack identifies memory by a pointer, and this handle is not a pointer
#include <allot/allot.hpp>
#include <allot/tensor/dlpack.hpp>

template <class Handle>
struct buffers {
    using address_model = allot::handle_offset<Handle>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr auto dl_device = allot::dl_device_type::ext_dev;
    allot::acquired<buffers> acquire(allot::layout) noexcept { return allot::acquired<buffers>::failure(1); }
    void release(allot::region_of<buffers>) noexcept {}
};

int main() {
#ifdef MISUSE
    using memory = buffers<int>;
#else
    using memory = buffers<int*>;
#endif
    return allot::from_dlpack<memory>(allot::dlpack_pointer{}) ? 1 : 0;
}
