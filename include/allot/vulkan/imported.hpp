// SPDX-License-Identifier: BSL-1.0
// vulkan::imported: host bytes as a VkDeviceMemory, without a copy (VK_EXT_external_memory_host).
//
//     alignas(4096) static std::byte weights[1_MiB];
//     allot::arena<allot::vulkan::imported, allot::best_fit<>> memory{{gpu, weights, sizeof weights}};
//     const auto block = memory.allocate(memory.device().buffer_layout(buffer).value());
//
//     host            │ weights …                                  │
//                         ▲ the same bytes
//     VkDeviceMemory  │ … block at its offset …                    │
//
// When to use: for host memory that the device reads or writes in place, for example the weights of a model.
// When not to use: for memory that only the device uses: memory.hpp.
//
// The caller owns the bytes, which must outlive the arena and all work on them. A buffer that is bound to them must be
// created with a VkExternalMemoryBufferCreateInfo of handle type
// VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT; buffer_over (bound_buffer.hpp) does this. The same applies
// to images. While the device works on the bytes, the host must not access them, as with any mapped memory. The program
// must call `flush` and `invalidate`, which cost nothing in coherent memory; the device prefers a coherent type.
//
// The code relies on these rules of Vulkan (VK_EXT_external_memory_host). The first byte and the size are multiples of
// minImportedHostPointerAlignment (usually 4096). The memory type is one of the types that
// vkGetMemoryHostPointerPropertiesEXT reports for the bytes. The extension is enabled on the VkDevice.
//
// Complexity: three driver calls.
// Memory: 32 bytes for the region.
// Thread safety: none for one object. Several objects on one logical_device need no lock.
#pragma once

#include <allot/vulkan/bindable_memory.hpp>

namespace allot {
inline namespace v1 {
namespace vulkan {

/// The device whose only region is imported bytes of the host.
class imported : public detail::allocations<1> {
public:
    /// The handle type that resources in this memory must be created with.
    static constexpr VkExternalMemoryHandleTypeFlags external_handles =
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;

    /// Imports the `size` bytes from `first` on.
    imported(logical_device& gpu, void* first, std::size_t size, resources holds = resources::mixed) noexcept
        : imported{gpu, first, size, holds, import(gpu, first, size)} {}

    /// Returns the number of imported bytes.
    [[nodiscard]] std::size_t capacity() const noexcept { return size_; }

    /// Imports all of the bytes. Fails with VK_ERROR_EXTENSION_NOT_PRESENT (-7) if the VkDevice does not have the
    /// extension; VK_ERROR_INVALID_EXTERNAL_HANDLE (-1000072003) for null, or for an unsuitable alignment of the first
    /// byte or the size; VK_ERROR_FEATURE_NOT_PRESENT (-8) if no memory type is suitable;
    /// VK_ERROR_VALIDATION_FAILED_EXT (-1000011001) for an invalid layout or a size above the capacity;
    /// VK_ERROR_TOO_MANY_OBJECTS (-10) while the region is held; otherwise like `logical_device::allocate`, or with the
    /// driver's code.
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
    // The memory type for the bytes, or the reason why there is no such type.
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
        const VkResult status =
            gpu.calls.of_host_pointer(gpu.handle(), VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, first, &of);
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
