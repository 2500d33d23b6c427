// A resource gives pointers, and this memory has none.
// refused: allot: standard allocators return pointers
#include <allot/adapt/memory_resource.hpp>
#include <allot/allot.hpp>

struct file : allot::traits_of<allot::host::heap> {
    using error = int;
#ifdef MISUSE
    using address_model = allot::handle_offset<int>;
#endif
    allot::result<allot::region<address_model::address>, error> acquire(allot::layout) noexcept {
        return allot::result<allot::region<address_model::address>, error>::failure(1);
    }
    void release(allot::region<address_model::address>) noexcept {}
};

int main() {
    allot::arena<file, allot::bump<>> memory{file{}, 4096};
    allot::memory_resource resource{memory};
    return resource == resource ? 0 : 1;
}
