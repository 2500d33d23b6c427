// SPDX-License-Identifier: BSL-1.0
// vulkan::device_memory: Vulkan's device memory. A block is a VkDeviceMemory and a byte offset, to which buffers and
// images are bound.
//
//     allot::vulkan::logical_device gpu{vkGetInstanceProcAddr, instance, physical, device};
//     const auto type = allot::vulkan::memory_type(gpu.memory(), gpu.types_for_buffers(usage),
//                                                  VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
//     allot::arena<allot::vulkan::device_memory, allot::best_fit<>> memory{{gpu, type}, 64_MiB};
//
//     auto weights = allot::vulkan::make_buffer(memory, create_info);  // one call: see vulkan/unique_resource.hpp
//
//     const auto wanted = memory.device().buffer_layout(buffer).value();  // VkMemoryRequirements, padded: see
//     const auto block = memory.allocate(wanted);                         // vulkan/bindable_memory.hpp
//     memory.device().bind_buffer(buffer, block);                      // returns an error where Vulkan would not
//
//     VkDeviceMemory  │ buffer │ buffer │ image │        │ buffer │    one allocation: their number is limited
//
// When to use: for buffers and images that share allocations. Memory of a host-visible type is mapped permanently.
// When not to use: for a resource that prefers or requires a dedicated allocation, use dedicated.hpp; for existing
// host bytes, imported.hpp. bound_buffer.hpp creates one buffer over a whole region, for kernels that take offsets.
//
// logical_device.hpp and bindable_memory.hpp describe errors, limits, padding and mapping. The logical_device and the
// VkDevice must outlive the arena. Destroy the resources that are bound to a block, or stop using them, before you
// deallocate the block.
//
// Complexity: one driver call for each `acquire`, two for host-visible memory.
// Memory: 32 bytes for each of the `Regions` that the device can hold.
// Thread safety: none for one object. Several objects on one logical_device need no lock.
#pragma once

#include <allot/vulkan/bindable_memory.hpp>

namespace allot {
inline namespace v1 {
namespace vulkan {

/// The device whose regions are VkDeviceMemory objects, at most `Regions` of them at a time.
template <std::size_t Regions = 16>
class basic_device_memory : public detail::allocations<Regions> {
    using allocations = detail::allocations<Regions>;

public:
    // The largest atom of all known drivers, and the largest unit to which they round a buffer's size.
    static constexpr std::size_t granularity = 256;  ///< Every size is a multiple of this.

    /// Allocates memory of the type with index `type`. `flags` are those of VkMemoryAllocateFlagsInfo: for buffers with
    /// device addresses, VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT.
    basic_device_memory(logical_device& gpu, std::uint32_t type, resources holds = resources::mixed,
                        VkMemoryAllocateFlags flags = 0) noexcept
        : allocations{gpu, type, holds}, flags_{flags} {}

    /// Allocates memory. Fails with VK_ERROR_VALIDATION_FAILED_EXT (-1000011001) for an invalid layout;
    /// VK_ERROR_TOO_MANY_OBJECTS (-10) if the device holds `Regions` regions; otherwise like
    /// `logical_device::allocate`, or with the driver's code.
    [[nodiscard]] acquired<basic_device_memory> acquire(layout wanted) noexcept {
        VkMemoryAllocateFlagsInfo with{};
        with.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
        with.flags = flags_;
        if (!checked_align_up(wanted.size, granularity, wanted.size))
            return acquired<basic_device_memory>::failure(VK_ERROR_OUT_OF_DEVICE_MEMORY);
        return allocations::take(wanted, flags_ == 0 ? nullptr : &with);
    }

    /// Returns the flags of VkMemoryAllocateFlagsInfo.
    [[nodiscard]] VkMemoryAllocateFlags flags() const noexcept { return flags_; }

private:
    VkMemoryAllocateFlags flags_;
};

/// Device memory with at most 16 regions.
using device_memory = basic_device_memory<>;

static_assert(device<device_memory> && !bounded_device<device_memory>);

}  // namespace vulkan
}  // namespace v1
}  // namespace allot
