// A span has a pointer, and this memory has none.
// refused: allot: a unique_span has a pointer to its elements: use an allocator whose blocks have pointers
#include <allot/allot.hpp>
#include <allot/gpu/span.hpp>

struct file : allot::traits_of<allot::host::heap> {
    using error = int;
#ifdef MISUSE
    using address_model = allot::handle_offset<int>;
#endif
    static constexpr bool host_accessible = false;
    allot::result<allot::region<address_model::address>, error> acquire(allot::layout) noexcept {
        return allot::result<allot::region<address_model::address>, error>::failure(1);
    }
    void release(allot::region<address_model::address>) noexcept {}
};

int main() {
    allot::arena<file, allot::bump<>> memory{file{}, 4096};
    return allot::gpu::make_span<float>(memory, 10) ? 1 : 0;
}
