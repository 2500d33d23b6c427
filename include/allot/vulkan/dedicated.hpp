// SPDX-License-Identifier: BSL-1.0
// dedicated: a VkDeviceMemory for one buffer or one image, where the driver asks for that.
//
//     const auto needs = gpu.requirements_of_image(image);
//     if (needs.requires_dedicated || needs.prefers_dedicated) {
//         allot::naive<allot::vulkan::dedicated> memory{allot::vulkan::dedicated::for_image(gpu, image, required, preferred)};
//         const auto block = memory.allocate({memory.device().capacity(), 1});
//         memory.device().bind_image(image, block);
//     }
//
//     VkDeviceMemory  │ image │        its size is what the image needs, to the byte: Vulkan wants it so
//
// Drivers ask for it where it is faster (large images, render targets) and where memory is shared with others. Every one
// is an allocation of its own, and counts. The resource outlives the memory's acquisition, not the memory; the memory
// type is the best of those that the resource names (memory_type). All else: vulkan_allocations.hpp.
//
// Complexity: two driver calls, three where the host sees the memory. Memory: one region's 32 bytes. Thread safety: as
// device_memory.
#pragma once

#include <allot/vulkan/bindable_memory.hpp>

namespace allot {
inline namespace v1 {
namespace vulkan {

class dedicated : public detail::allocations<1> {
public:
    [[nodiscard]] static dedicated for_buffer(logical_device& gpu, VkBuffer buffer, VkMemoryPropertyFlags required,
                                              VkMemoryPropertyFlags preferred = 0,
                                              VkMemoryAllocateFlags flags = 0) noexcept {
        return {gpu, buffer, VK_NULL_HANDLE, gpu.requirements_of_buffer(buffer), required, preferred, flags};
    }
    [[nodiscard]] static dedicated for_image(logical_device& gpu, VkImage image, VkMemoryPropertyFlags required,
                                             VkMemoryPropertyFlags preferred = 0) noexcept {
        return {gpu, VK_NULL_HANDLE, image, gpu.requirements_of_image(image), required, preferred, 0};
    }

    /// What the resource needs.
    [[nodiscard]] std::size_t capacity() const noexcept { return size_; }

    /// All of it. Refused as `device_memory` is: with VK_ERROR_FEATURE_NOT_PRESENT (-8) where no type serves,
    /// VK_ERROR_VALIDATION_FAILED_EXT (-1000011001) for an invalid layout or more than the capacity, and
    /// VK_ERROR_TOO_MANY_OBJECTS (-10) while it is out.
    [[nodiscard]] acquired<dedicated> acquire(layout wanted) noexcept {
        if (!wanted.is_valid() || (size_ != 0 && wanted.size > size_))
            return acquired<dedicated>::failure(VK_ERROR_VALIDATION_FAILED_EXT);
        VkMemoryAllocateFlagsInfo with{};
        with.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
        with.flags = flags_;
        VkMemoryDedicatedAllocateInfo of{};
        of.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO;
        of.pNext = flags_ == 0 ? nullptr : &with;
        of.buffer = buffer_;
        of.image = image_;
        return take({size_ == 0 ? wanted.size : size_, wanted.align}, &of, true, true);  // without a size, no type
    }

    /// As in all memory, and refused for any resource but the one.
    template <class Block>
    [[nodiscard]] VkResult bind_buffer(VkBuffer buffer, const Block& to) const noexcept {
        return buffer == buffer_ ? allocations::bind_buffer(buffer, to) : VK_ERROR_VALIDATION_FAILED_EXT;
    }
    template <class Block>
    [[nodiscard]] VkResult bind_image(VkImage image, const Block& to) const noexcept {
        return image == image_ ? allocations::bind_image(image, to) : VK_ERROR_VALIDATION_FAILED_EXT;
    }

private:
    dedicated(logical_device& gpu, VkBuffer buffer, VkImage image, const requirements& of,
              VkMemoryPropertyFlags required, VkMemoryPropertyFlags preferred, VkMemoryAllocateFlags flags) noexcept
        : allocations{gpu,
                      can_be_counted(of) ? memory_type(gpu.memory(), of.types, required, preferred) : no_type,
                      buffer == VkBuffer{} ? resources::optimal_images : resources::buffers},
          buffer_{buffer},
          image_{image},
          flags_{flags},
          size_{can_be_counted(of) ? static_cast<std::size_t>(of.size) : 0} {}

    [[nodiscard]] static bool can_be_counted(const requirements& of) noexcept {
        return of.size <= std::numeric_limits<std::size_t>::max();
    }

    VkBuffer buffer_;
    VkImage image_;
    VkMemoryAllocateFlags flags_;
    std::size_t size_;
};

static_assert(bounded_device<dedicated>);

}  // namespace vulkan
}  // namespace v1
}  // namespace allot
