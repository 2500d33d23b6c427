// A tensor's handle is not an address: adding a number to it does not compile.
// refused: 'buffer_handle' and 'int')
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

struct buffer_handle {
    int number = 0;
    friend bool operator==(buffer_handle, buffer_handle) = default;
};
struct buffers {
    using address_model = allot::handle_offset<buffer_handle>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr auto dl_device = allot::dl_device_type::ext_dev;
    allot::result<allot::region<address_model::address>, int> acquire(allot::layout wanted) noexcept {
        return allot::region<address_model::address>{{{1}, 0}, wanted.size, 4096};
    }
    void release(allot::region<address_model::address>) noexcept {}
};

int main() {
    allot::arena<buffers, allot::best_fit<>> memory{{}, 4096};
    const auto data = *allot::alloc_storage(memory, 1024);
    const auto a = *allot::alloc_tensor(data, 256, {64}, allot::int32);
#ifdef MISUSE
    return (a.data() + 256).number;
#else
    return a.data().number == 1 && a.byte_offset() == 256 ? 0 : 1;
#endif
}
