// The installed Vulkan: the first physical device of version 1.1 with a compute queue. If the validation layer is
// installed, it checks every call, and the synchronization of commands. A test on it has the form
//
//     TEST_CASE_FIXTURE(tests::validated, "…") { … gpu … }
//
// and fails if the layer reports anything, including objects that exist when the device is destroyed.
#pragma once

#include <allot/vulkan/memory.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace tests {

[[nodiscard]] inline bool has_validation_layer() {
    std::uint32_t count = 0;
    ::vkEnumerateInstanceLayerProperties(&count, nullptr);
    std::vector<VkLayerProperties> layers(count);
    ::vkEnumerateInstanceLayerProperties(&count, layers.data());
    return std::any_of(layers.begin(), layers.end(), [](const VkLayerProperties& each) {
        return std::strcmp(each.layerName, "VK_LAYER_KHRONOS_validation") == 0;
    });
}

class vulkan_installation {
public:
    vulkan_installation() = default;
    vulkan_installation(const vulkan_installation&) = delete;
    vulkan_installation& operator=(const vulkan_installation&) = delete;
    ~vulkan_installation() { close(); }

    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    std::uint32_t family = 0;
    bool can_import = false;            // VK_EXT_external_memory_host
    bool shares_descriptors = false;    // VK_KHR_external_memory_fd, enabled
    bool shares_dma_buffers = false;    // VK_EXT_external_memory_dma_buf, enabled
    bool has_timelines = false;         // VK_KHR_timeline_semaphore, enabled
    bool listens = false;               // the validation layer is installed
    std::vector<std::string> messages;  // its messages

    /// Initializes the device. Returns the reason for a failure, or null.
    [[nodiscard]] const char* open() {
        VkApplicationInfo about{};
        about.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
        about.apiVersion = VK_API_VERSION_1_1;
        VkDebugUtilsMessengerCreateInfoEXT messenger{};
        messenger.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
        messenger.messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
        messenger.messageType =
            VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
        messenger.pfnUserCallback = &listen;
        messenger.pUserData = this;
        // The layer reads from the environment whether it also checks the order of submissions.
        ::setenv("VK_LAYER_ENABLES", "VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT", 0);
        const VkValidationFeatureEnableEXT synchronization =
            VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
        VkValidationFeaturesEXT more{};
        more.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
        more.enabledValidationFeatureCount = 1;
        more.pEnabledValidationFeatures = &synchronization;
        messenger.pNext = &more;
        const char* const layer = "VK_LAYER_KHRONOS_validation";
        const char* const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
        listens = has_validation_layer();
        VkInstanceCreateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
        wanted.pApplicationInfo = &about;
        if (listens) {
            wanted.pNext = &messenger;  // also receives messages about the instance
            wanted.enabledLayerCount = wanted.enabledExtensionCount = 1;
            wanted.ppEnabledLayerNames = &layer;
            wanted.ppEnabledExtensionNames = &extension;
        }
        if (::vkCreateInstance(&wanted, nullptr, &instance) != VK_SUCCESS) return "no Vulkan driver (vkCreateInstance)";
        if (listens) {
            const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
                ::vkGetInstanceProcAddr(instance, "vkCreateDebugUtilsMessengerEXT"));
            messenger.pNext = nullptr;
            create(instance, &messenger, nullptr, &messenger_);
        }
        std::uint32_t count = 0;
        if (::vkEnumeratePhysicalDevices(instance, &count, nullptr) != VK_SUCCESS || count == 0)
            return "no Vulkan device";
        std::vector<VkPhysicalDevice> all(count);
        ::vkEnumeratePhysicalDevices(instance, &count, all.data());
        for (const VkPhysicalDevice each : all) {
            if (open(each)) return nullptr;
        }
        return "no Vulkan device of version 1.1 with a queue that computes";
    }
    void close() {
        if (device != VK_NULL_HANDLE) ::vkDestroyDevice(device, nullptr);
        if (messenger_ != VK_NULL_HANDLE) {
            const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
                ::vkGetInstanceProcAddr(instance, "vkDestroyDebugUtilsMessengerEXT"));
            destroy(instance, messenger_, nullptr);
        }
        if (instance != VK_NULL_HANDLE) ::vkDestroyInstance(instance, nullptr);
        device = VK_NULL_HANDLE;
        messenger_ = VK_NULL_HANDLE;
        instance = VK_NULL_HANDLE;
    }
    /// The driver and its version, for example "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)".
    [[nodiscard]] std::string name() const {
        VkPhysicalDeviceDriverProperties driver{};
        driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
        VkPhysicalDeviceProperties2 about{};
        about.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
        about.pNext = &driver;
        ::vkGetPhysicalDeviceProperties2(physical, &about);
        return std::string{driver.driverName} + " " + driver.driverInfo;
    }

private:
    static VKAPI_ATTR VkBool32 VKAPI_CALL listen(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                                 VkDebugUtilsMessageTypeFlagsEXT,
                                                 const VkDebugUtilsMessengerCallbackDataEXT* said, void* to) {
        const std::string text = said->pMessage;
        if (text.find("VUID-") != std::string::npos || text.find("SYNC-") != std::string::npos)
            static_cast<vulkan_installation*>(to)->messages.push_back(text);
        return VK_FALSE;
    }
    [[nodiscard]] bool open(VkPhysicalDevice candidate) {
        VkPhysicalDeviceProperties about{};
        ::vkGetPhysicalDeviceProperties(candidate, &about);
        std::uint32_t count = 0;
        ::vkGetPhysicalDeviceQueueFamilyProperties(candidate, &count, nullptr);
        std::vector<VkQueueFamilyProperties> families(count);
        ::vkGetPhysicalDeviceQueueFamilyProperties(candidate, &count, families.data());
        const auto computes = std::find_if(families.begin(), families.end(), [](const VkQueueFamilyProperties& each) {
            return (each.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
        });
        if (about.apiVersion < VK_API_VERSION_1_1 || computes == families.end()) return false;
        family = static_cast<std::uint32_t>(computes - families.begin());
        ::vkEnumerateDeviceExtensionProperties(candidate, nullptr, &count, nullptr);
        std::vector<VkExtensionProperties> extensions(count);
        ::vkEnumerateDeviceExtensionProperties(candidate, nullptr, &count, extensions.data());
        const auto has = [&](const char* name) {
            return std::any_of(extensions.begin(), extensions.end(), [=](const VkExtensionProperties& each) {
                return std::strcmp(each.extensionName, name) == 0;
            });
        };
        std::vector<const char*> enabled;
        can_import = has(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
        if (can_import) enabled.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
        shares_descriptors = has(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
        if (shares_descriptors) enabled.push_back(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
        shares_dma_buffers = shares_descriptors && has(VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME);
        if (shares_dma_buffers) enabled.push_back(VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME);
        has_timelines = has(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);  // the feature is then mandatory
        if (has_timelines) enabled.push_back(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);
        VkPhysicalDeviceTimelineSemaphoreFeatures timelines{};
        timelines.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
        timelines.timelineSemaphore = VK_TRUE;
        const float priority = 1;
        VkDeviceQueueCreateInfo one{};
        one.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
        one.queueFamilyIndex = family;
        one.queueCount = 1;
        one.pQueuePriorities = &priority;
        VkDeviceCreateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
        wanted.queueCreateInfoCount = 1;
        wanted.pQueueCreateInfos = &one;
        if (has_timelines) wanted.pNext = &timelines;
        wanted.enabledExtensionCount = static_cast<std::uint32_t>(enabled.size());
        wanted.ppEnabledExtensionNames = enabled.data();
        if (::vkCreateDevice(candidate, &wanted, nullptr, &device) != VK_SUCCESS) return false;
        physical = candidate;
        ::vkGetDeviceQueue(device, family, 0, &queue);
        return true;
    }

    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
};

inline constexpr VkBufferUsageFlags every_use =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

/// A device for one test, with allot's logical_device. Without a device, the program is skipped.
class validated {
public:
    validated() {
        if (const char* const reason = vulkan.open()) {
            std::printf("skipped: %s\n", reason);
            std::fflush(stdout);
            std::_Exit(77);
        }
        if (!vulkan.listens) std::puts("skipped: the Vulkan validation layer is not installed");
        gpu.emplace(&::vkGetInstanceProcAddr, vulkan.instance, vulkan.physical, vulkan.device);
    }
    validated(const validated&) = delete;
    validated& operator=(const validated&) = delete;
    ~validated() {
        CHECK(gpu->allocations() == 0);
        vulkan.close();
        for (const std::string& each : vulkan.messages) FAIL_CHECK(each);
    }

    vulkan_installation vulkan;
    std::optional<allot::vulkan::logical_device> gpu;

    /// Returns a host-visible memory type for buffers with every use in these tests.
    [[nodiscard]] std::uint32_t type() const {
        return allot::vulkan::memory_type(gpu->memory(), gpu->types_for_buffers(every_use),
                                          VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
    }
};

}  // namespace tests
