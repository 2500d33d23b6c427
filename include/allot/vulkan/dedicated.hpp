// SPDX-License-Identifier: BSL-1.0
// vulkan::dedicated: a VkDeviceMemory for one buffer or one image (a dedicated allocation).
//
//     const auto needs = gpu.requirements_of_image(image);
//     if (needs.requires_dedicated || needs.prefers_dedicated) {
//         using memory = allot::naive<allot::vulkan::dedicated>;
//         memory images{allot::vulkan::dedicated::for_image(gpu, image, required, preferred)};
//         const auto block = images.allocate({images.device().capacity(), 1});
//         images.device().bind_image(image, block);
//     }
//
//     VkDeviceMemory  │ image │        exactly the size that the image requires, as Vulkan demands
//
// When to use: if the driver prefers or requires a dedicated allocation. It does so where that is faster (large images,
// render targets), and for memory that is shared with other APIs.
// When not to use: for all other resources, because each dedicated allocation counts against the driver's limit.
//
// The resource must exist when the memory is acquired, and may be destroyed before the memory is released. The memory
// type is the best type that the resource supports (see `memory_type`). bindable_memory.hpp describes everything
// else.
//
// Complexity: two driver calls, three for host-visible memory.
// Memory: 32 bytes for the region.
// Thread safety: none for one object. Several objects on one logical_device need no lock.
#pragma once

#include <allot/vulkan/bindable_memory.hpp>

namespace allot {
inline namespace v1 {
namespace vulkan {

/// The device whose only region is a dedicated allocation.
class dedicated : public detail::allocations<1> {
public:
    /// Returns a device for the memory of `buffer`. `required` and `preferred` select the memory type.
    [[nodiscard]] static dedicated for_buffer(logical_device& gpu, VkBuffer buffer, VkMemoryPropertyFlags required,
                                              VkMemoryPropertyFlags preferred = 0,
                                              VkMemoryAllocateFlags flags = 0) noexcept {
        return {gpu, buffer, VK_NULL_HANDLE, gpu.requirements_of_buffer(buffer), required, preferred, flags};
    }
    /// Returns a device for the memory of `image`. `required` and `preferred` select the memory type.
    [[nodiscard]] static dedicated for_image(logical_device& gpu, VkImage image, VkMemoryPropertyFlags required,
                                             VkMemoryPropertyFlags preferred = 0) noexcept {
        return {gpu, VK_NULL_HANDLE, image, gpu.requirements_of_image(image), required, preferred, 0};
    }

    /// Returns the size that the resource requires.
    [[nodiscard]] std::size_t capacity() const noexcept { return size_; }

    /// Allocates the memory of the resource. Fails like `device_memory`: with VK_ERROR_FEATURE_NOT_PRESENT (-8) if no
    /// memory type is suitable; VK_ERROR_VALIDATION_FAILED_EXT (-1000011001) for an invalid layout or a size above the
    /// capacity; VK_ERROR_TOO_MANY_OBJECTS (-10) while the region is held.
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
        // Without a suitable type, `size_` is 0 and `take` fails.
        return take({size_ == 0 ? wanted.size : size_, wanted.align}, &of, true, true);
    }

    /// Binds the buffer. Fails like `bind_buffer` of other memory, and for any buffer other than that of `for_buffer`.
    template <class Block>
    [[nodiscard]] VkResult bind_buffer(VkBuffer buffer, const Block& to) const noexcept {
        return buffer == buffer_ ? allocations::bind_buffer(buffer, to) : VK_ERROR_VALIDATION_FAILED_EXT;
    }
    /// Binds the image. Fails like `bind_image` of other memory, and for any image other than that of `for_image`.
    template <class Block>
    [[nodiscard]] VkResult bind_image(VkImage image, const Block& to) const noexcept {
        return image == image_ ? allocations::bind_image(image, to) : VK_ERROR_VALIDATION_FAILED_EXT;
    }

private:
    dedicated(logical_device& gpu, VkBuffer buffer, VkImage image, const requirements& of,
              VkMemoryPropertyFlags required, VkMemoryPropertyFlags preferred, VkMemoryAllocateFlags flags) noexcept
        : allocations{gpu, can_be_counted(of) ? memory_type(gpu.memory(), of.types, required, preferred) : no_type,
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
