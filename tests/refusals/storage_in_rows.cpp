// A storage over an allocator whose blocks are not contiguous.
// refused: allot: a storage needs memory that is contiguous
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

using memory = allot::arena<allot::host::heap, allot::best_fit<>>;

int main() {
    memory rows{{}, 4096}, tables{{}, 4096};
#ifdef MISUSE
    allot::paged<memory&, memory&, allot::pointer_table<64>> allocator{rows, tables};
#else
    memory& allocator = rows;
    static_cast<void>(tables);
#endif
    return allot::alloc_storage(allocator, 64) ? 0 : 1;
}
