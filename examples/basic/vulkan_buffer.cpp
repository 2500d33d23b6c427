// Vulkan buffers in one call: many buffers share one allocation of the driver, and each has an owner.
#include <allot/allot.hpp>
#include <allot/vulkan/unique_resource.hpp>

#include <cstdio>
#include <cstring>

using namespace allot::literals;

int main() {
    VkApplicationInfo about{};
    about.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    about.apiVersion = VK_API_VERSION_1_1;
    VkInstanceCreateInfo instance_info{};
    instance_info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    instance_info.pApplicationInfo = &about;
    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    std::uint32_t count = 1;
    if (vkCreateInstance(&instance_info, nullptr, &instance) != VK_SUCCESS) return std::puts("skipped: no Vulkan"), 77;
    vkEnumeratePhysicalDevices(instance, &count, &physical);
    const float priority = 1;
    VkDeviceQueueCreateInfo queue_info{};
    queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue_info.queueCount = 1;
    queue_info.pQueuePriorities = &priority;
    VkDeviceCreateInfo device_info{};
    device_info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    device_info.queueCreateInfoCount = 1;
    device_info.pQueueCreateInfos = &queue_info;
    VkDevice device = VK_NULL_HANDLE;
    if (count == 0 || vkCreateDevice(physical, &device_info, nullptr, &device) != VK_SUCCESS)
        return std::puts("skipped: no Vulkan device"), vkDestroyInstance(instance, nullptr), 77;

    bool ok = false;
    {
        allot::vulkan::logical_device gpu{&vkGetInstanceProcAddr, instance, physical, device};
        constexpr VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
        const auto type =
            allot::vulkan::memory_type(gpu.memory(), gpu.types_for_buffers(usage), VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
        allot::arena<allot::vulkan::device_memory, allot::best_fit<>> memory{{gpu, type}, 16_MiB};

        VkBufferCreateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
        wanted.size = 4096;
        wanted.usage = usage;
        const auto weights = allot::vulkan::make_buffer(memory, wanted);
        const auto result = allot::vulkan::make_buffer(memory, wanted);
        if (weights && result) {
            std::memset(weights->host_pointer(), 0, wanted.size);
            ok = weights->flush() == VK_SUCCESS && gpu.allocations() == 1;
            std::printf("two buffers, %u allocation of the driver\n", static_cast<unsigned>(gpu.allocations()));
        }
    }  // destroys the buffers, then frees the memory
    vkDestroyDevice(device, nullptr);
    vkDestroyInstance(instance, nullptr);
    return ok ? 0 : 1;
}
