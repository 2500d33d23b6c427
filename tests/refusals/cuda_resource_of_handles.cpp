// A resource gives pointers, and this memory has none.
// refused: allot: a cuda::mr resource returns pointers
#include <allot/allot.hpp>
#include <allot/cuda/memory_resource.hpp>

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
    allot::cuda::memory_resource resource{memory};
    return resource == resource ? 0 : 1;
}
