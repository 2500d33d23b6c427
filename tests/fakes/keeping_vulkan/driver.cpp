// A Vulkan driver without devices. Like real drivers, it allocates memory once and keeps it until the process ends. If
// the driver is unloaded before that, no pointer to the memory is left.
#include <vulkan/vulkan.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

void* kept = nullptr;

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo*, const VkAllocationCallbacks*,
                                               VkInstance* instance) {
    static void* dispatch_table = nullptr;  // an instance begins with a pointer of the loader
    if (kept == nullptr) kept = std::malloc(128);
    *instance = reinterpret_cast<VkInstance>(&dispatch_table);
    return VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL no_extensions(const char*, std::uint32_t* count, VkExtensionProperties*) {
    *count = 0;
    return VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL no_devices(VkInstance, std::uint32_t* count, VkPhysicalDevice*) {
    *count = 0;
    return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance, const VkAllocationCallbacks*) {}
VKAPI_ATTR void VKAPI_CALL never_called() { std::abort(); }

template <class Function>
PFN_vkVoidFunction any(Function* function) {
    return reinterpret_cast<PFN_vkVoidFunction>(function);
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] VKAPI_ATTR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(std::uint32_t*) {
    return VK_SUCCESS;
}
[[gnu::visibility("default")]] VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance,
                                                                                                  const char* name) {
    const auto is = [=](const char* other) { return std::strcmp(name, other) == 0; };
    if (is("vkCreateInstance")) return any(create_instance);
    if (is("vkDestroyInstance")) return any(destroy_instance);
    if (is("vkEnumerateInstanceExtensionProperties")) return any(no_extensions);
    if (is("vkEnumeratePhysicalDevices")) return any(no_devices);
    if (std::strncmp(name, "vkEnumerateInstance", 19) == 0 || std::strncmp(name, "vk_icd", 6) == 0) return nullptr;
    return any(never_called);  // the loader requires all functions of Vulkan 1.0
}

}  // extern "C"
