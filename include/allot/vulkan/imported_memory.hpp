// SPDX-License-Identifier: BSL-1.0
// vulkan::imported_memory: memory of another driver, or of another VkDevice, as a VkDeviceMemory
// (VK_KHR_external_memory_fd, VK_EXT_external_memory_dma_buf).
//
//     using imported = allot::vulkan::imported_memory<allot::external::handle_kind::dma_buf>;
//     auto shared = frames.device().export_memory(frames.regions()[0]);           // dma::heap, dma::udmabuf, …
//     allot::arena<imported, allot::best_fit<>> memory{{gpu, std::move(*shared), VK_BUFFER_USAGE_STORAGE_BUFFER_BIT}};
//     auto all = allot::vulkan::buffer_over(memory.device(), base, size, usage);  // created for external memory
//
// When to use: for buffers that another driver allocated.
// When not to use: for bytes of the host: `imported` (vulkan/imported.hpp).
//
// The code relies on these rules of Vulkan (specification 1.3, "Device Memory"):
//   - A successful import transfers the descriptor to the driver; a failed one does not. Therefore each `acquire`
//     passes a duplicate and closes it only if vkAllocateMemory fails.
//   - The kind is importable for buffers of this usage (VUID-VkImportMemoryFdInfoKHR-handleType-00667).
//   - A DMA buffer has a memory type that vkGetMemoryFdPropertiesKHR reports (VUID-VkMemoryAllocateInfo-
//     memoryTypeIndex-00648). An opaque descriptor must not be passed to that function
//     (VUID-vkGetMemoryFdPropertiesKHR-handleType-00674). Its size and type are those of the exporter
//     (VUID-VkMemoryAllocateInfo-allocationSize-01742), and its device and driver are equal
//     (VUID-VkImportMemoryFdInfoKHR-fd-00668, -01746). `acquire` compares them with `external::memory`. CUDA's opaque
//     descriptors have no memory type and no driver of Vulkan, only the device.
//   - Memory of a dedicated allocation is imported for the same buffer or image only. This device refuses it.
//   - Before Vulkan uses the bytes, the queue family acquires them from VK_QUEUE_FAMILY_EXTERNAL, or from
//     VK_QUEUE_FAMILY_FOREIGN_EXT for other vendors' drivers and DMA heaps. The program records this barrier.
//
// The program enables both extensions on the VkDevice.
//
// Complexity: two driver calls and one system call for the region, one more for host-visible memory.
// Memory: the descriptor and 32 bytes for the region.
// Thread safety: none for one object. Several objects on one logical_device need no lock.
#pragma once

#include <allot/external/crossing.hpp>
#include <allot/vulkan/bindable_memory.hpp>
#include <allot/vulkan/detail/external_handles.hpp>

namespace allot {
inline namespace v1 {
namespace vulkan {

/// The device whose only region is memory of another driver.
template <external::handle_kind Kind>
class imported_memory : public detail::allocations<1> {
public:
    /// The handle type that buffers in this memory must be created with.
    static constexpr VkExternalMemoryHandleTypeFlags external_handles = detail::handle_type(Kind);
    /// The kind of handle that the device accepts.
    static constexpr external::handle_kinds imports = external::handle_kinds::of(Kind);

    /// Keeps the memory for buffers of this usage. `acquire` imports it. `preferred` selects the memory type among
    /// those that the driver reports for a DMA buffer, or for such buffers if the exporter is not Vulkan.
    imported_memory(logical_device& gpu, external::memory from, VkBufferUsageFlags usage,
                    VkMemoryPropertyFlags preferred = 0) noexcept
        : imported_memory{choose(gpu, from, usage, preferred), gpu, std::move(from)} {}

    /// Returns the imported memory.
    [[nodiscard]] const external::memory& source() const noexcept { return from_; }
    /// Returns the size of the memory in bytes.
    [[nodiscard]] std::size_t capacity() const noexcept { return from_.about().size; }

    /// Imports all of the memory. Fails with VK_ERROR_EXTENSION_NOT_PRESENT (-7) without VK_KHR_external_memory_fd;
    /// VK_ERROR_INVALID_EXTERNAL_HANDLE (-1000072003) if there is no memory, or memory of another kind, another device
    /// or another driver, or of a dedicated allocation; VK_ERROR_FEATURE_NOT_PRESENT (-8) if the driver does not import
    /// this kind for this usage, or has no memory type for it; VK_ERROR_VALIDATION_FAILED_EXT (-1000011001) for an
    /// invalid layout or a size above the capacity; VK_ERROR_TOO_MANY_OBJECTS (-10) while the region is held, or
    /// without free descriptors; otherwise like `logical_device::allocate`, or with the driver's code.
    [[nodiscard]] acquired<imported_memory> acquire(layout wanted) noexcept {
        using answer = acquired<imported_memory>;
        if (why_not_ != VK_SUCCESS) return answer::failure(why_not_);
        if (!wanted.is_valid() || wanted.size > capacity()) return answer::failure(VK_ERROR_VALIDATION_FAILED_EXT);
        auto copy = from_.duplicate();
        if (!copy) return answer::failure(VK_ERROR_TOO_MANY_OBJECTS);
        VkImportMemoryFdInfoKHR from{};
        from.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR;
        from.handleType = detail::handle_type(Kind);
        from.fd = copy->descriptor();
        bool imported = false;
        const auto held = take({capacity(), wanted.align}, &from, false, false, &imported);
        if (imported) static_cast<void>(copy->release());  // the driver owns the descriptor
        return held;
    }

private:
    struct choice {
        std::uint32_t type = no_type;
        VkResult why_not = VK_SUCCESS;
    };
    [[nodiscard]] static choice choose(const logical_device& gpu, const external::memory& from,
                                       VkBufferUsageFlags usage, VkMemoryPropertyFlags preferred) noexcept {
        const VkResult support = detail::external_support(gpu, Kind, usage, VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT);
        if (support != VK_SUCCESS) return {no_type, support};
        const external::properties& about = from.about();
        if (!from || about.kind != Kind || about.dedicated || about.size == 0)
            return {no_type, VK_ERROR_INVALID_EXTERNAL_HANDLE};
        if constexpr (Kind == external::handle_kind::opaque_fd) {
            external::properties here = about;
            detail::identify(gpu, here);
            const bool is_from_vulkan = about.memory_type != external::properties{}.memory_type;
            const bool same = here.device == about.device && (!is_from_vulkan || here.driver == about.driver);
            if (!same) return {no_type, VK_ERROR_INVALID_EXTERNAL_HANDLE};
            if (is_from_vulkan) return {about.memory_type, VK_SUCCESS};
            return {memory_type(gpu.memory(), gpu.types_for_buffers(usage, external_handles), 0, preferred)};
        } else {
            VkMemoryFdPropertiesKHR found{};
            found.sType = VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR;
            const VkResult status =
                gpu.calls.of_descriptor(gpu.handle(), detail::handle_type(Kind), from.descriptor(), &found);
            const std::uint32_t types = found.memoryTypeBits & gpu.types_for_buffers(usage, external_handles);
            return {memory_type(gpu.memory(), types, 0, preferred), status};
        }
    }
    imported_memory(const choice& as, logical_device& gpu, external::memory from) noexcept
        : allocations{gpu, as.type, resources::buffers}, from_{std::move(from)}, why_not_{as.why_not} {}

    external::memory from_;
    VkResult why_not_;
};

static_assert(external::importable<imported_memory<external::handle_kind::dma_buf>>);

}  // namespace vulkan
}  // namespace v1
}  // namespace allot
