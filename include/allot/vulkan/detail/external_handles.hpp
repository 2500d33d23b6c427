// SPDX-License-Identifier: BSL-1.0
// external_handles: what Vulkan reports about handles that cross drivers.
#pragma once

#include <allot/external/memory.hpp>
#include <allot/vulkan/logical_device.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace vulkan {
namespace detail {

/// Vulkan's name of a kind of handle.
[[nodiscard]] constexpr VkExternalMemoryHandleTypeFlagBits handle_type(external::handle_kind kind) noexcept {
    return kind == external::handle_kind::dma_buf ? VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT
                                                  : VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
}

/// Returns VK_SUCCESS if buffers of this usage can have external memory of this kind, without a dedicated allocation.
[[nodiscard]] inline VkResult external_support(const logical_device& gpu, external::handle_kind kind,
                                               VkBufferUsageFlags usage, VkExternalMemoryFeatureFlags needed) noexcept {
    if (!gpu) return VK_ERROR_INITIALIZATION_FAILED;
    if (gpu.calls.of_external_buffers == nullptr || gpu.calls.get_descriptor == nullptr ||
        gpu.calls.of_descriptor == nullptr)
        return VK_ERROR_EXTENSION_NOT_PRESENT;
    VkPhysicalDeviceExternalBufferInfo of{};
    of.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO;
    of.usage = usage;
    of.handleType = handle_type(kind);
    VkExternalBufferProperties found{};
    found.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES;
    gpu.calls.of_external_buffers(gpu.physical(), &of, &found);
    const VkExternalMemoryFeatureFlags has = found.externalMemoryProperties.externalMemoryFeatures;
    const bool serves = (has & needed) == needed && (has & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) == 0;
    return serves ? VK_SUCCESS : VK_ERROR_FEATURE_NOT_PRESENT;
}

/// Sets the identifiers of the device and its driver.
inline void identify(const logical_device& gpu, external::properties& about) noexcept {
    VkPhysicalDeviceIDProperties identity{};
    identity.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
    VkPhysicalDeviceProperties2 all{};
    all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    all.pNext = &identity;
    gpu.calls.get_properties(gpu.physical(), &all);
    std::copy_n(identity.deviceUUID, about.device.size(), about.device.begin());
    std::copy_n(identity.driverUUID, about.driver.size(), about.driver.begin());
}

}  // namespace detail
}  // namespace vulkan
}  // namespace v1
}  // namespace allot
