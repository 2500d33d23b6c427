// A Vulkan resource is bound to a VkDeviceMemory, and this arena has host memory.
// refused: allot: a Vulkan resource is bound to a block of Vulkan memory: pass an arena or a naive over vulkan::device_memory
#include <allot/allot.hpp>
#include <allot/vulkan/unique_resource.hpp>

int main() {
#ifdef MISUSE
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};
#else
    allot::vulkan::logical_device none{nullptr, nullptr, nullptr, nullptr};
    allot::arena<allot::vulkan::device_memory, allot::best_fit<>> memory{{none, 0}, 4096};
#endif
    return allot::vulkan::make_buffer(memory, {}) ? 1 : 0;
}
