// SPDX-License-Identifier: BSL-1.0
// vulkan::exported_memory: Vulkan's device memory whose regions other drivers can import (VK_KHR_external_memory_fd,
// VK_EXT_external_memory_dma_buf).
//
//     using exported = allot::vulkan::exported_memory<allot::external::handle_kind::opaque_fd>;
//     allot::arena<exported, allot::best_fit<>> memory{{gpu, type, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT}, 64_MiB};
//     auto buffer = allot::vulkan::make_buffer(memory, create_info);              // bound to a block, as elsewhere
//     auto shared = memory.device().export_memory(memory.regions()[0]);           // for CUDA, OpenCL, another VkDevice
//
// When to use: for buffers that Vulkan and another driver access. `dma_buf` suits most drivers. CUDA, another
// VkDevice on the same GPU, and drivers in software use `opaque_fd`.
// When not to use: for memory of one VkDevice, which some drivers place better: `device_memory`. For images, whose
// layout the importer must know too.
//
// The code relies on these rules of Vulkan (specification 1.3, "Device Memory"):
//   - The kind is exportable for buffers of this usage (VUID-VkExportMemoryAllocateInfo-handleTypes-00656). The driver
//     does not demand a dedicated allocation.
//   - A buffer in this memory is created with VkExternalMemoryBufferCreateInfo and this handle type
//     (VUID-vkBindBufferMemory-memory-02726). `external_handles` states it; `buffer_over` and `make_buffer` obey.
//   - Each vkGetMemoryFdKHR returns a new descriptor, which the caller owns and closes. The payload lives until the
//     memory and all descriptors and imports are gone.
//   - Before another driver uses the bytes, the queue family releases them to VK_QUEUE_FAMILY_EXTERNAL, or to
//     VK_QUEUE_FAMILY_FOREIGN_EXT for other vendors' drivers. The program records this barrier.
//
// The program enables the extension of its kind on the VkDevice.
//
// Complexity: one driver call for each `acquire` and each `export_memory`, two for host-visible memory.
// Memory: 32 bytes for each of the `Regions` that the device can hold.
// Thread safety: none for one object. Several objects on one logical_device need no lock.
#pragma once

#include <allot/external/crossing.hpp>
#include <allot/vulkan/bindable_memory.hpp>
#include <allot/vulkan/detail/external_handles.hpp>

namespace allot {
inline namespace v1 {
namespace vulkan {

/// The device whose regions are exportable VkDeviceMemory objects, at most `Regions` of them at a time.
template <external::handle_kind Kind, std::size_t Regions = 16>
class exported_memory : public detail::allocations<Regions> {
    using allocations = detail::allocations<Regions>;

public:
    /// The handle type that buffers in this memory must be created with.
    static constexpr VkExternalMemoryHandleTypeFlags external_handles = detail::handle_type(Kind);
    static constexpr std::size_t granularity = 4096;  ///< Every size is a multiple of this: drivers share whole pages.
    /// The kind of handle that `export_memory` returns.
    static constexpr external::handle_kinds exports = external::handle_kinds::of(Kind);

    /// Allocates memory of the type with index `type` for buffers of this usage.
    exported_memory(logical_device& gpu, std::uint32_t type, VkBufferUsageFlags usage) noexcept
        : allocations{gpu, type, resources::buffers},
          why_not_{detail::external_support(gpu, Kind, usage, VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT)} {}

    /// Allocates memory. Fails with VK_ERROR_EXTENSION_NOT_PRESENT (-7) without VK_KHR_external_memory_fd;
    /// VK_ERROR_FEATURE_NOT_PRESENT (-8) if the driver does not export this kind for this usage; otherwise like
    /// `device_memory`.
    [[nodiscard]] acquired<exported_memory> acquire(layout wanted) noexcept {
        using answer = acquired<exported_memory>;
        if (why_not_ != VK_SUCCESS) return answer::failure(why_not_);
        if (!checked_align_up(wanted.size, granularity, wanted.size))
            return answer::failure(VK_ERROR_OUT_OF_DEVICE_MEMORY);
        VkExportMemoryAllocateInfo with{};
        with.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO;
        with.handleTypes = external_handles;
        return allocations::take(wanted, &with);
    }

    /// Returns the memory of a region for another driver, with a new descriptor. Fails with
    /// VK_ERROR_INVALID_EXTERNAL_HANDLE (-1000072003) for a region that the device does not hold, otherwise with the
    /// driver's code.
    [[nodiscard]] result<external::memory, VkResult> export_memory(
        region<typename allocations::address> held) const noexcept {
        using answer = result<external::memory, VkResult>;
        if (!this->is_held(held)) return answer::failure(VK_ERROR_INVALID_EXTERNAL_HANDLE);
        VkMemoryGetFdInfoKHR wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR;
        wanted.memory = held.base.handle;
        wanted.handleType = detail::handle_type(Kind);
        int descriptor = -1;
        const logical_device& gpu = this->gpu();
        const VkResult status = gpu.calls.get_descriptor(gpu.handle(), &wanted, &descriptor);
        if (status != VK_SUCCESS) return answer::failure(status);
        external::properties about{.kind = Kind, .size = held.size, .memory_type = this->type()};
        detail::identify(gpu, about);
        return external::memory{descriptor, about};
    }

private:
    VkResult why_not_;
};

static_assert(external::exportable<exported_memory<external::handle_kind::dma_buf>>);

}  // namespace vulkan
}  // namespace v1
}  // namespace allot
