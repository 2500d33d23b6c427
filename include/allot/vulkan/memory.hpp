// SPDX-License-Identifier: BSL-1.0
// Vulkan's device memory: a VkDeviceMemory and a byte offset, in which buffers and images are bound.
//
//     allot::vulkan::logical_device gpu{vkGetInstanceProcAddr, instance, physical, device};
//     const auto type = allot::vulkan::memory_type(gpu.memory(), gpu.types_for_buffers(usage),
//                                                  VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
//     allot::arena<allot::vulkan::device_memory, allot::best_fit<>> memory{{gpu, type}, 64_MiB};
//
//     const auto wanted = memory.device().buffer_layout(buffer);       // VkMemoryRequirements, padded: see
//     const auto block = memory.allocate(*wanted);                     // vulkan_allocations.hpp
//     memory.device().bind_buffer(buffer, block);                      // refused here where it would be undefined there
//
//     VkDeviceMemory  │ buffer │ buffer │ image │        │ buffer │    one allocation: a driver has few (often 4096)
//
// One buffer over a whole region, for kernels that take offsets, is made by vulkan_buffer.hpp. A resource that prefers an
// allocation of its own, or requires one, gets it from vulkan_dedicated.hpp; bytes of the host become device memory by
// vulkan_import.hpp. Memory of a type that the host sees is mapped from the start.
//
// Refusals, limits, padding, mapping: vulkan_logical_device.hpp and vulkan_allocations.hpp. The logical_device, and the
// VkDevice, outlive the arena; what is bound to a block is destroyed, or used no more, before the block goes back.
//
// Complexity: a driver call, two where the host sees the memory. Memory: 32 bytes a region that can be held.
// Thread safety: none for one object; several on one logical_device need no lock.
#pragma once

#include <allot/vulkan/bindable_memory.hpp>

namespace allot {
inline namespace v1 {
namespace vulkan {

template <std::size_t Regions = 16>
class basic_device_memory : public detail::allocations<Regions> {
    using allocations = detail::allocations<Regions>;

public:
    static constexpr std::size_t granularity = 256;  // no driver has larger atoms, or rounds a buffer up to more

    /// Memory of a type, by its index. `flags` as VkMemoryAllocateFlagsInfo has them: for buffers whose addresses are
    /// asked for, VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT.
    basic_device_memory(logical_device& gpu, std::uint32_t type, resources holds = resources::mixed,
                        VkMemoryAllocateFlags flags = 0) noexcept
        : allocations{gpu, type, holds}, flags_{flags} {}

    /// Refused with VK_ERROR_VALIDATION_FAILED_EXT (-1000011001) for an invalid layout, with VK_ERROR_TOO_MANY_OBJECTS
    /// (-10) when `Regions` are held, as `logical_device::allocate` refuses, and with the driver's code.
    [[nodiscard]] acquired<basic_device_memory> acquire(layout wanted) noexcept {
        VkMemoryAllocateFlagsInfo with{};
        with.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
        with.flags = flags_;
        if (!checked_align_up(wanted.size, granularity, wanted.size))
            return acquired<basic_device_memory>::failure(VK_ERROR_OUT_OF_DEVICE_MEMORY);
        return allocations::take(wanted, flags_ == 0 ? nullptr : &with);
    }

private:
    VkMemoryAllocateFlags flags_;
};

using device_memory = basic_device_memory<>;

static_assert(device<device_memory> && !bounded_device<device_memory>);

}  // namespace vulkan
}  // namespace v1
}  // namespace allot
