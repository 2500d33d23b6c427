// Blocks of a best_fit with records beside the memory carry a metadata, which a cuda::mr resource would lose.
// refused: allot: a cuda::mr resource deallocates by address and size, but blocks of this allocator have metadata: use indexed<Allocator>
#include <allot/allot.hpp>
#include <allot/cuda/memory.hpp>
#include <allot/cuda/memory_resource.hpp>

#ifdef MISUSE
using allocator = allot::arena<allot::cuda::device_memory, allot::best_fit<>>;
#else
using allocator = allot::indexed<allot::arena<allot::cuda::device_memory, allot::best_fit<>>>;
#endif

int main() {
    allocator memory{allot::arena<allot::cuda::device_memory, allot::best_fit<>>{allot::cuda::device_memory{0}, 4096}};
    allot::cuda::memory_resource resource{memory};
    return resource == resource ? 0 : 1;
}
