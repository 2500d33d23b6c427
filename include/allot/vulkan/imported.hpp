// SPDX-License-Identifier: BSL-1.0
// imported: bytes of the host as a VkDeviceMemory, without copying them (VK_EXT_external_memory_host).
//
//     alignas(4096) static std::byte weights[1_MiB];
//     allot::arena<allot::vulkan::imported, allot::best_fit<>> memory{{gpu, weights, sizeof weights}};
//     const auto block = memory.allocate(*memory.device().buffer_layout(buffer));
//
//     host            │ weights …                                  │
//                         ▲ the same bytes
//     VkDeviceMemory  │ … block at its offset …                    │
//
// The bytes are the caller's: they outlive the arena and all work on them. A buffer that is bound in them was made with a
// VkExternalMemoryBufferCreateInfo of handle type VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, as buffer_over
// (vulkan_buffer.hpp) makes it; an image likewise. While the device works on them the host keeps away, as with any mapped
// memory, and says flush and invalidate: where the memory is coherent, which is preferred, they cost nothing.
//
// Rules of Vulkan's that this relies on (VK_EXT_external_memory_host): the first byte and the size are multiples of
// minImportedHostPointerAlignment (4096, as a rule), and the memory type is one of those that
// vkGetMemoryHostPointerPropertiesEXT names for these bytes. The extension is enabled on the VkDevice.
//
// Complexity: three driver calls. Memory: one region's 32 bytes. Thread safety: as device_memory.
#pragma once

#include <allot/vulkan/bindable_memory.hpp>

namespace allot {
inline namespace v1 {
namespace vulkan {

class imported : public detail::allocations<1> {
public:
    static constexpr VkExternalMemoryHandleTypeFlags external_handles =
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;

    /// The `size` bytes from `first` on.
    imported(logical_device& gpu, void* first, std::size_t size, resources holds = resources::mixed) noexcept
        : imported{gpu, first, size, holds, import(gpu, first, size)} {}

    [[nodiscard]] std::size_t capacity() const noexcept { return size_; }

    /// All of the bytes. Refused with VK_ERROR_EXTENSION_NOT_PRESENT (-7) where the VkDevice has not the extension;
    /// VK_ERROR_INVALID_EXTERNAL_HANDLE (-1000072003) for bytes that are nowhere, or do not begin and end where they
    /// have to; VK_ERROR_FEATURE_NOT_PRESENT (-8) where no memory type takes them;
    /// VK_ERROR_VALIDATION_FAILED_EXT (-1000011001) for an invalid layout or more than there are;
    /// VK_ERROR_TOO_MANY_OBJECTS (-10) while they are out; and as `logical_device::allocate` and the driver refuse.
    [[nodiscard]] acquired<imported> acquire(layout wanted) noexcept {
        if (why_not_ != VK_SUCCESS) return acquired<imported>::failure(why_not_);
        if (!wanted.is_valid() || wanted.size > size_)
            return acquired<imported>::failure(VK_ERROR_VALIDATION_FAILED_EXT);
        VkImportMemoryHostPointerInfoEXT from{};
        from.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
        from.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
        from.pHostPointer = first_;
        return take({size_, wanted.align}, &from, false);
    }

private:
    struct importing {
        std::uint32_t type = no_type;
        VkResult why_not = VK_SUCCESS;
    };
    /// The memory type that these bytes can be, or why they cannot.
    [[nodiscard]] static importing import(const logical_device& gpu, const void* first, std::size_t size) noexcept {
        if (!gpu) return {no_type, VK_ERROR_INITIALIZATION_FAILED};
        if (gpu.calls.of_host_pointer == nullptr) return {no_type, VK_ERROR_EXTENSION_NOT_PRESENT};
        VkPhysicalDeviceExternalMemoryHostPropertiesEXT host{};
        host.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT;
        VkPhysicalDeviceProperties2 all{};
        all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
        all.pNext = &host;
        gpu.calls.get_properties(gpu.physical(), &all);
        const auto unit = static_cast<std::size_t>(host.minImportedHostPointerAlignment);
        if (first == nullptr || size == 0 || unit == 0 || raw_pointer::position(first) % unit != 0 || size % unit != 0)
            return {no_type, VK_ERROR_INVALID_EXTERNAL_HANDLE};
        VkMemoryHostPointerPropertiesEXT of{};
        of.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT;
        const VkResult status = gpu.calls.of_host_pointer(
            gpu.handle(), VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, first, &of);
        return {memory_type(gpu.memory(), of.memoryTypeBits, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                            VK_MEMORY_PROPERTY_HOST_COHERENT_BIT),
                status};
    }
    imported(logical_device& gpu, void* first, std::size_t size, resources holds, const importing& as) noexcept
        : allocations{gpu, as.type, holds}, first_{first}, size_{size}, why_not_{as.why_not} {}

    void* first_;
    std::size_t size_;
    VkResult why_not_;
};

static_assert(bounded_device<imported>);

}  // namespace vulkan
}  // namespace v1
}  // namespace allot
