// An object has an address.
// refused: allot: the blocks of this allocator have no pointers: use an allocator of memory that has addresses
#include <allot/allot.hpp>
#include <allot/object.hpp>

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
    return allot::make_unique<int>(memory) == nullptr ? 0 : 1;
}
