// The blocks of a segregated allocator have one type of address.
// refused: allot: segregated needs allocators with the same address model and the same traits offsets and dl_device: choose between different memories in the calling code
#include <allot/allot.hpp>

struct fake_buffer {
    using address_model = allot::handle_offset<int>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr allot::dl_device_type dl_device = allot::dl_device_type::cpu;
    allot::acquired<fake_buffer> acquire(allot::layout) noexcept { return allot::acquired<fake_buffer>::failure(1); }
    void release(allot::region<address_model::address>) noexcept {}
};

int main() {
    using host_arena = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::fixed<>>;
    host_arena host;
#ifdef MISUSE
    allot::arena<fake_buffer, allot::best_fit<>, allot::growth::fixed<>> second;
#else
    host_arena second;
#endif
    allot::segregated memory{allot::up_to<64>(host), second};
    memory.deallocate({});
}
