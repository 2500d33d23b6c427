// PyTorch has a pointer for each tensor, and a buffer of this memory has a handle.
// refused: allot: PyTorch identifies a tensor by a pointer: use a device whose addresses are pointers
#include <device_allocator.hpp>

#include <allot/allot.hpp>

#include <mutex>

struct buffers {
    using address_model = allot::handle_offset<int>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 64, granularity = 64;
    static constexpr auto dl_device = allot::dl_device_type::ext_dev;
    allot::acquired<buffers> acquire(allot::layout wanted) noexcept {
        return allot::region<address_model::address>{{1, 0}, wanted.size, wanted.align};
    }
    void release(allot::region<address_model::address>) noexcept {}
};
#ifdef MISUSE
using device = buffers;
#else
using device = allot::host::heap;
#endif
using memory = allot::synchronized<allot::arena<device, allot::best_fit<>, allot::growth::geometric<>>, std::mutex>;

int main() {
    allot_torch::device_allocator<memory> tensors{1, [](c10::DeviceIndex) { return memory{}; }};
    return static_cast<int>(tensors.statistics(0).used);
}
