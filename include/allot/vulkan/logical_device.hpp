// SPDX-License-Identifier: BSL-1.0
// logical_device: what allot knows of a VkDevice, and counts on it, for all memory that it takes there.
//
//     allot::vulkan::logical_device gpu{vkGetInstanceProcAddr, instance, physical, device};
//     const auto type = allot::vulkan::memory_type(gpu.memory(), gpu.types_for_buffers(VK_BUFFER_USAGE_STORAGE_BUFFER_BIT),
//                                                  VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
//     allot::arena<allot::vulkan::device_memory, allot::best_fit<>> memory{{gpu, type}, 64_MiB};
//
//     arena ──► device_memory ──┐
//     arena ──► dedicated ──────┼──► logical_device ──► VkDevice       one count of allocations, one sum for each heap
//     arena ──► imported ───────┘
//
// Vulkan limits how many allocations a VkDevice has at a time (maxMemoryAllocationCount, often 4096), whoever makes
// them: one logical_device for each VkDevice, which outlives every arena on it. A program that allocates by itself as
// well says how many are left to allot.
//
// Rules of Vulkan's that this relies on (specification 1.3, "Device Memory"):
//   - Among the types that serve, the first is to be preferred: they are ordered so that one with fewer flags, or the
//     faster one, comes before the other.
//   - vkAllocateMemory may be refused above maxMemoryAllocationSize. A heap's size is a promise of the driver's that
//     some break (lavapipe accepts 8 GiB in a heap of 2 GiB, and memory is committed when it is touched): allot asks
//     for no more than is in it. What others took from a heap is the driver's to know.
//   - A resource says by VkMemoryDedicatedRequirements that it wants, or has to have, an allocation of its own.
//
// Every call goes through the pointers that vkGetInstanceProcAddr gives, whether the loader's, volk's or a layer's:
// nothing is linked. Needs Vulkan 1.1 of instance and device; without it, everything is refused with
// VK_ERROR_INITIALIZATION_FAILED.
//
// Complexity: O(1). Memory: this object. Thread safety: the counts are atomic; any thread may use it.
#pragma once

#include <allot/core/result.hpp>

#include <vulkan/vulkan.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>

namespace allot {
inline namespace v1 {
namespace vulkan {

/// No memory type: memory of it is refused with VK_ERROR_FEATURE_NOT_PRESENT.
inline constexpr std::uint32_t no_type = VK_MAX_MEMORY_TYPES;

/// The memory type to allocate from: of those in `types` (a resource's memoryTypeBits) that have all `required`
/// properties, one with the most of the `preferred` ones, and of these the first. Types with properties that a program
/// has to be written for (protected, lazily allocated, and the vendors' own) are taken only where it names them.
[[nodiscard]] constexpr std::uint32_t memory_type(const VkPhysicalDeviceMemoryProperties& of, std::uint32_t types,
                                                  VkMemoryPropertyFlags required,
                                                  VkMemoryPropertyFlags preferred = 0) noexcept {
    constexpr VkMemoryPropertyFlags ordinary =
        VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
        VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    std::uint32_t best = no_type;
    int most = -1;
    for (std::uint32_t i = 0; i != of.memoryTypeCount; ++i) {
        const VkMemoryPropertyFlags has = of.memoryTypes[i].propertyFlags;
        const bool serves = (types >> i & 1) != 0 && (has & required) == required &&
                            (has & ~(ordinary | required | preferred)) == 0;
        const int wishes = std::popcount(has & preferred);
        if (!serves || wishes <= most) continue;
        best = i;
        most = wishes;
    }
    return best;
}

/// What a buffer or an image asks of the memory that it is bound to. Without a size where it could not be asked.
struct requirements {
    VkDeviceSize size = 0, align = 1;
    std::uint32_t types = 0;          // which memory types it can be bound to
    bool prefers_dedicated = false;   // it works better in an allocation of its own
    bool requires_dedicated = false;  // and nowhere else
};

namespace detail {

/// A sum that never exceeds its limit, whoever adds to it.
class bounded_sum {
public:
    [[nodiscard]] bool add(std::uint64_t amount, std::uint64_t limit) noexcept {
        std::uint64_t now = sum_.load(std::memory_order_relaxed);
        do {
            if (now > limit || amount > limit - now) return false;
        } while (!sum_.compare_exchange_weak(now, now + amount, std::memory_order_relaxed));
        return true;
    }
    void subtract(std::uint64_t amount) noexcept { sum_.fetch_sub(amount, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t value() const noexcept { return sum_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> sum_ = 0;
};

/// Vulkan's functions that allot calls; null where there is none of that name.
struct functions {
    PFN_vkGetPhysicalDeviceProperties2 get_properties = nullptr;
    PFN_vkGetPhysicalDeviceMemoryProperties get_memory_properties = nullptr;
    PFN_vkAllocateMemory allocate = nullptr;
    PFN_vkFreeMemory free = nullptr;
    PFN_vkMapMemory map = nullptr;
    PFN_vkFlushMappedMemoryRanges flush = nullptr;
    PFN_vkInvalidateMappedMemoryRanges invalidate = nullptr;
    PFN_vkGetBufferMemoryRequirements2 of_buffer = nullptr;
    PFN_vkGetImageMemoryRequirements2 of_image = nullptr;
    PFN_vkBindBufferMemory bind_buffer = nullptr;
    PFN_vkBindImageMemory bind_image = nullptr;
    PFN_vkCreateBuffer create_buffer = nullptr;
    PFN_vkDestroyBuffer destroy_buffer = nullptr;
    PFN_vkCmdCopyBuffer copy_buffer = nullptr;
    PFN_vkGetMemoryHostPointerPropertiesEXT of_host_pointer = nullptr;  // with VK_EXT_external_memory_host

    functions(PFN_vkGetInstanceProcAddr get, VkInstance instance, VkDevice device) noexcept {
        if (get == nullptr || instance == nullptr || device == nullptr) return;
        const auto from_instance = [&]<class Function>(Function& to, const char* name) {
            to = reinterpret_cast<Function>(get(instance, name));
        };
        PFN_vkGetDeviceProcAddr get_of_device = nullptr;
        from_instance(get_of_device, "vkGetDeviceProcAddr");
        from_instance(get_properties, "vkGetPhysicalDeviceProperties2");
        from_instance(get_memory_properties, "vkGetPhysicalDeviceMemoryProperties");
        if (get_of_device == nullptr) return;
        const auto from_device = [&]<class Function>(Function& to, const char* name) {
            to = reinterpret_cast<Function>(get_of_device(device, name));
        };
        from_device(allocate, "vkAllocateMemory");
        from_device(free, "vkFreeMemory");
        from_device(map, "vkMapMemory");
        from_device(flush, "vkFlushMappedMemoryRanges");
        from_device(invalidate, "vkInvalidateMappedMemoryRanges");
        from_device(of_buffer, "vkGetBufferMemoryRequirements2");
        from_device(of_image, "vkGetImageMemoryRequirements2");
        from_device(bind_buffer, "vkBindBufferMemory");
        from_device(bind_image, "vkBindImageMemory");
        from_device(create_buffer, "vkCreateBuffer");
        from_device(destroy_buffer, "vkDestroyBuffer");
        from_device(copy_buffer, "vkCmdCopyBuffer");
        from_device(of_host_pointer, "vkGetMemoryHostPointerPropertiesEXT");
    }
    [[nodiscard]] bool are_there() const noexcept {
        return get_properties && get_memory_properties && allocate && free && map && flush && invalidate && of_buffer &&
               of_image && bind_buffer && bind_image && create_buffer && destroy_buffer && copy_buffer;
    }
};

}  // namespace detail

class logical_device {
public:
    /// `most_allocations`: how many of them allot may have at a time, where that is less than the driver allows.
    logical_device(PFN_vkGetInstanceProcAddr get, VkInstance instance, VkPhysicalDevice physical, VkDevice device,
                   std::uint32_t most_allocations = std::numeric_limits<std::uint32_t>::max()) noexcept
        : calls{get, instance, device}, handle_{device}, physical_{physical} {
        if (physical_ == nullptr || !calls.are_there()) return;
        VkPhysicalDeviceMaintenance3Properties sizes{};
        sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
        VkPhysicalDeviceProperties2 all{};
        all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
        all.pNext = &sizes;
        calls.get_properties(physical_, &all);
        calls.get_memory_properties(physical_, &memory_);
        const VkPhysicalDeviceLimits& limits = all.properties.limits;
        largest_ = sizes.maxMemoryAllocationSize;
        most_allocations_ = limits.maxMemoryAllocationCount < most_allocations ? limits.maxMemoryAllocationCount
                                                                                : most_allocations;
        buffer_image_granularity_ = limits.bufferImageGranularity;
        non_coherent_atom_size_ = limits.nonCoherentAtomSize;
    }
    logical_device(const logical_device&) = delete;
    logical_device& operator=(const logical_device&) = delete;

    /// False where Vulkan's functions are not there.
    [[nodiscard]] explicit operator bool() const noexcept { return memory_.memoryTypeCount != 0; }
    [[nodiscard]] VkDevice handle() const noexcept { return handle_; }
    [[nodiscard]] VkPhysicalDevice physical() const noexcept { return physical_; }
    [[nodiscard]] const VkPhysicalDeviceMemoryProperties& memory() const noexcept { return memory_; }
    [[nodiscard]] VkDeviceSize buffer_image_granularity() const noexcept { return buffer_image_granularity_; }
    [[nodiscard]] VkDeviceSize non_coherent_atom_size() const noexcept { return non_coherent_atom_size_; }

    /// Allocations that there are now, of all memory on this device that allot took.
    [[nodiscard]] std::uint64_t allocations() const noexcept { return count_.value(); }

    [[nodiscard]] requirements requirements_of_buffer(VkBuffer buffer) const noexcept {
        VkBufferMemoryRequirementsInfo2 of{};
        of.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2;
        of.buffer = buffer;
        return requirements_by(calls.of_buffer, of);
    }
    /// Of an image that is not disjoint.
    [[nodiscard]] requirements requirements_of_image(VkImage image) const noexcept {
        VkImageMemoryRequirementsInfo2 of{};
        of.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2;
        of.image = image;
        return requirements_by(calls.of_image, of);
    }

    /// The memory types that buffers of these uses can be bound to, the same ones whatever their sizes; none where the
    /// driver makes no such buffer.
    [[nodiscard]] std::uint32_t types_for_buffers(VkBufferUsageFlags usage) const noexcept {
        if (!*this) return 0;
        VkBufferCreateInfo any{};
        any.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
        any.size = 1;
        any.usage = usage;
        VkBuffer made = VK_NULL_HANDLE;
        if (calls.create_buffer(handle_, &any, nullptr, &made) != VK_SUCCESS) return 0;
        const std::uint32_t types = requirements_of_buffer(made).types;
        calls.destroy_buffer(handle_, made, nullptr);
        return types;
    }

    /// An allocation, with the extensions of VkMemoryAllocateInfo that `next` begins. Refused, before the driver is asked,
    /// with VK_ERROR_INITIALIZATION_FAILED (-3) without functions, VK_ERROR_FEATURE_NOT_PRESENT (-8) for a type that is
    /// not there, VK_ERROR_OUT_OF_DEVICE_MEMORY (-2) for more than the driver allows at once or than is left of the heap,
    /// and VK_ERROR_TOO_MANY_OBJECTS (-10) for one allocation too many. Bytes that are the host's already
    /// (`takes_from_heap` is false) come out of no heap.
    [[nodiscard]] result<VkDeviceMemory, VkResult> allocate(std::uint32_t type, VkDeviceSize size, const void* next,
                                                            bool takes_from_heap = true) noexcept {
        using answer = result<VkDeviceMemory, VkResult>;
        if (!*this) return answer::failure(VK_ERROR_INITIALIZATION_FAILED);
        if (type >= memory_.memoryTypeCount) return answer::failure(VK_ERROR_FEATURE_NOT_PRESENT);
        const std::uint32_t heap = memory_.memoryTypes[type].heapIndex;
        const VkDeviceSize from_heap = takes_from_heap ? size : 0;
        if (size > largest_ || !held_[heap].add(from_heap, memory_.memoryHeaps[heap].size))
            return answer::failure(VK_ERROR_OUT_OF_DEVICE_MEMORY);
        VkResult status = VK_ERROR_TOO_MANY_OBJECTS;
        if (count_.add(1, most_allocations_)) {
            VkMemoryAllocateInfo wanted{};
            wanted.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
            wanted.pNext = next;
            wanted.allocationSize = size;
            wanted.memoryTypeIndex = type;
            VkDeviceMemory made = VK_NULL_HANDLE;
            status = calls.allocate(handle_, &wanted, nullptr, &made);
            if (status == VK_SUCCESS) return made;
            count_.subtract(1);
        }
        held_[heap].subtract(from_heap);
        return answer::failure(status);
    }
    void free(VkDeviceMemory memory, std::uint32_t type, VkDeviceSize size, bool took_from_heap = true) noexcept {
        calls.free(handle_, memory, nullptr);
        count_.subtract(1);
        if (took_from_heap) held_[memory_.memoryTypes[type].heapIndex].subtract(size);
    }

    const detail::functions calls;

private:
    template <class Function, class Info>
    [[nodiscard]] requirements requirements_by(Function ask, const Info& of) const noexcept {
        if (!*this) return {};
        VkMemoryDedicatedRequirements dedicated{};
        dedicated.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS;
        VkMemoryRequirements2 all{};
        all.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2;
        all.pNext = &dedicated;
        ask(handle_, &of, &all);
        const VkMemoryRequirements& plain = all.memoryRequirements;
        return {plain.size, plain.alignment, plain.memoryTypeBits, dedicated.prefersDedicatedAllocation == VK_TRUE,
                dedicated.requiresDedicatedAllocation == VK_TRUE};
    }

    VkDevice handle_;
    VkPhysicalDevice physical_;
    VkPhysicalDeviceMemoryProperties memory_{};
    VkDeviceSize largest_ = 0, buffer_image_granularity_ = 1, non_coherent_atom_size_ = 1;
    std::uint64_t most_allocations_ = 0;
    detail::bounded_sum count_, held_[VK_MAX_MEMORY_HEAPS];
};

}  // namespace vulkan
}  // namespace v1
}  // namespace allot
