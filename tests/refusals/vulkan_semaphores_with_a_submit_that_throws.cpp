// The function that submits may throw, in the middle of a request that is noexcept.
// refused: allot: the function that submits must be noexcept, take a VkQueue, a number of batches and a pointer to VkSubmitInfo, and return a VkResult
#include <allot/vulkan/timeline_semaphores.hpp>

int main() {
#ifdef MISUSE
    const auto submit = [](VkQueue, std::uint32_t, const VkSubmitInfo*) { return VK_SUCCESS; };
#else
    const auto submit = [](VkQueue, std::uint32_t, const VkSubmitInfo*) noexcept { return VK_SUCCESS; };
#endif
    const allot::vulkan::timeline_semaphores line{nullptr, VkInstance{}, VkDevice{}, submit};
    return line ? 1 : 0;
}
