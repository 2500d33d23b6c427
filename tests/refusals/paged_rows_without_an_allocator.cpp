// Not an allocator at all.
// refused: allot: an allocator states address_model, block_type, host_accessible, offsets, dl_device and reclaims, and has the noexcept functions allocate(layout), deallocate(block) and diagnose(layout): use an arena, or add these members
#include <allot/allot.hpp>

#include <memory>

int main() {
    using arena = allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>;
#ifdef MISUSE
    using row_memory = std::allocator<std::byte>;
#else
    using row_memory = arena;
#endif
    row_memory rows;
    arena tables;
    allot::paged<row_memory&, arena&, allot::pointer_table<256>> tensors{rows, tables};
    return tensors.allocate({1000, 16}) ? 0 : 1;
}
