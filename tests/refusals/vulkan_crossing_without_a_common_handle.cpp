// refused: allot: these devices have no kind of handle in common
#include <allot/dma/heap.hpp>
#include <allot/vulkan/imported_memory.hpp>

#ifdef MISUSE
constexpr auto kind = allot::external::handle_kind::opaque_fd;  // a heap exports DMA buffers
#else
constexpr auto kind = allot::external::handle_kind::dma_buf;
#endif

int main() {
    const allot::dma::heap<"system"> frames;
    return allot::external::share<allot::vulkan::imported_memory<kind>>(frames, {}) ? 1 : 0;
}
