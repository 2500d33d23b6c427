// SPDX-License-Identifier: BSL-1.0
// vulkan::logical_device: the functions, the limits and the allocation counts of one VkDevice.
//
//     allot::vulkan::logical_device gpu{vkGetInstanceProcAddr, instance, physical, device};
//     const auto types = gpu.types_for_buffers(VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
//     const auto type = allot::vulkan::memory_type(gpu.memory(), types, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
//                                                  VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
//     allot::arena<allot::vulkan::device_memory, allot::best_fit<>> memory{{gpu, type}, 64_MiB};
//
//     arena ──► device_memory ──┐
//     arena ──► dedicated ──────┼──► logical_device ──► VkDevice       one count of allocations, one sum for each heap
//     arena ──► imported ───────┘
//
// When to use: create one logical_device for each VkDevice. It must outlive every arena on that VkDevice.
// When not to use: two objects for one VkDevice, because Vulkan limits the number of a VkDevice's allocations
// (maxMemoryAllocationCount, often 4096). A program that also allocates without allot passes the number that allot may
// use.
//
// The code relies on these rules of Vulkan (specification 1.3, "Device Memory"):
//   - The first of several suitable memory types is preferable: types are ordered so that a type with fewer flags, or a
//     faster one, precedes the others.
//   - vkAllocateMemory may fail above maxMemoryAllocationSize. Some drivers do not enforce a heap's size: lavapipe
//     accepts 8 GiB in a heap of 2 GiB and commits memory when it is touched. Therefore allot never allocates more than
//     a heap's size in total. Only the driver knows the allocations of other code in a heap.
//   - VkMemoryDedicatedRequirements reports whether a resource prefers or requires a dedicated allocation.
//
// All calls use pointers from vkGetInstanceProcAddr, which may belong to the loader, to volk or to a layer: nothing is
// linked. The instance and the device must support Vulkan 1.1; otherwise every call fails with
// VK_ERROR_INITIALIZATION_FAILED.
//
// Complexity: O(1), plus the driver's calls.
// Memory: the object, which holds the function pointers, the memory properties and the counts.
// Thread safety: the counts are atomic. Any thread may use the object.
#pragma once

#include <allot/core/device.hpp>

#include <vulkan/vulkan.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>

namespace allot {
inline namespace v1 {
namespace vulkan {

/// Means "no memory type". Allocations with it fail with VK_ERROR_FEATURE_NOT_PRESENT.
inline constexpr std::uint32_t no_type = VK_MAX_MEMORY_TYPES;

/// Returns the index of the memory type to allocate from. Considers the types in `types` (a resource's memoryTypeBits)
/// that have all `required` properties, and returns the first of those with the most `preferred` properties, or
/// `no_type`. Types with special properties (protected, lazily allocated, and those of vendors) are considered only if
/// `required` or `preferred` names these properties.
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
        const bool serves =
            (types >> i & 1) != 0 && (has & required) == required && (has & ~(ordinary | required | preferred)) == 0;
        const int wishes = std::popcount(has & preferred);
        if (!serves || wishes <= most) continue;
        best = i;
        most = wishes;
    }
    return best;
}

/// The memory requirements of a buffer or an image. The size is 0 if Vulkan's functions are missing.
struct requirements {
    VkDeviceSize size = 0;            ///< Size in bytes.
    VkDeviceSize align = 1;           ///< Alignment in bytes.
    std::uint32_t types = 0;          ///< A bit for each memory type that the resource supports.
    bool prefers_dedicated = false;   ///< The resource works better in a dedicated allocation.
    bool requires_dedicated = false;  ///< The resource requires a dedicated allocation.
};

namespace detail {

// An atomic sum that never exceeds a limit.
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

// The functions of Vulkan that allot calls. Null for each function that does not exist.
struct functions {
    PFN_vkGetPhysicalDeviceProperties2 get_properties = nullptr;
    PFN_vkGetPhysicalDeviceMemoryProperties get_memory_properties = nullptr;
    PFN_vkGetPhysicalDeviceMemoryProperties2 get_memory_properties2 = nullptr;
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
    PFN_vkCreateImage create_image = nullptr;
    PFN_vkDestroyImage destroy_image = nullptr;
    PFN_vkCmdCopyBuffer copy_buffer = nullptr;
    PFN_vkGetMemoryHostPointerPropertiesEXT of_host_pointer = nullptr;  // with VK_EXT_external_memory_host
    PFN_vkGetPhysicalDeviceExternalBufferProperties of_external_buffers = nullptr;
    PFN_vkGetMemoryFdKHR get_descriptor = nullptr;           // with VK_KHR_external_memory_fd
    PFN_vkGetMemoryFdPropertiesKHR of_descriptor = nullptr;  // with VK_KHR_external_memory_fd

    functions(PFN_vkGetInstanceProcAddr get, VkInstance instance, VkDevice device) noexcept {
        if (get == nullptr || instance == nullptr || device == nullptr) return;
        const auto from_instance = [&]<class Function>(Function& to, const char* name) {
            to = reinterpret_cast<Function>(get(instance, name));
        };
        PFN_vkGetDeviceProcAddr get_of_device = nullptr;
        from_instance(get_of_device, "vkGetDeviceProcAddr");
        from_instance(get_properties, "vkGetPhysicalDeviceProperties2");
        from_instance(get_memory_properties, "vkGetPhysicalDeviceMemoryProperties");
        from_instance(get_memory_properties2, "vkGetPhysicalDeviceMemoryProperties2");
        from_instance(of_external_buffers, "vkGetPhysicalDeviceExternalBufferProperties");
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
        from_device(create_image, "vkCreateImage");
        from_device(destroy_image, "vkDestroyImage");
        from_device(copy_buffer, "vkCmdCopyBuffer");
        from_device(of_host_pointer, "vkGetMemoryHostPointerPropertiesEXT");
        from_device(get_descriptor, "vkGetMemoryFdKHR");
        from_device(of_descriptor, "vkGetMemoryFdPropertiesKHR");
    }
    [[nodiscard]] bool are_there() const noexcept {
        return get_properties && get_memory_properties && get_memory_properties2 && allocate && free && map && flush &&
               invalidate && of_buffer && of_image && bind_buffer && bind_image && create_buffer && destroy_buffer &&
               create_image && destroy_image && copy_buffer;
    }
};

}  // namespace detail

/// A VkDevice as allot's memory uses it.
class logical_device {
public:
    /// Looks up the functions and the limits. `most_allocations` limits the number of allot's allocations, if it is
    /// below the driver's limit. The object does not own the Vulkan handles.
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
        most_allocations_ =
            limits.maxMemoryAllocationCount < most_allocations ? limits.maxMemoryAllocationCount : most_allocations;
        buffer_image_granularity_ = limits.bufferImageGranularity;
        non_coherent_atom_size_ = limits.nonCoherentAtomSize;
    }
    logical_device(const logical_device&) = delete;
    logical_device& operator=(const logical_device&) = delete;

    /// Returns true if all required functions of Vulkan exist.
    [[nodiscard]] explicit operator bool() const noexcept { return memory_.memoryTypeCount != 0; }
    /// Returns the VkDevice.
    [[nodiscard]] VkDevice handle() const noexcept { return handle_; }
    /// Returns the physical device.
    [[nodiscard]] VkPhysicalDevice physical() const noexcept { return physical_; }
    /// Returns the memory types and heaps.
    [[nodiscard]] const VkPhysicalDeviceMemoryProperties& memory() const noexcept { return memory_; }
    /// Returns the driver's bufferImageGranularity in bytes.
    [[nodiscard]] VkDeviceSize buffer_image_granularity() const noexcept { return buffer_image_granularity_; }
    /// Returns the driver's nonCoherentAtomSize in bytes.
    [[nodiscard]] VkDeviceSize non_coherent_atom_size() const noexcept { return non_coherent_atom_size_; }

    /// Returns the number of allot's current allocations on this VkDevice.
    [[nodiscard]] std::uint64_t allocations() const noexcept { return count_.value(); }

    /// Returns the budget of the heap of a memory type: the bytes that this process uses, and those that it can use
    /// without failures and slowdowns. Fails with VK_ERROR_INITIALIZATION_FAILED (-3) if functions are missing;
    /// VK_ERROR_FEATURE_NOT_PRESENT (-8) for an invalid type; VK_ERROR_EXTENSION_NOT_PRESENT (-7) if the driver does
    /// not support VK_EXT_memory_budget, which need not be enabled.
    [[nodiscard]] result<memory_budget, VkResult> budget(std::uint32_t type) const noexcept {
        using answer = result<memory_budget, VkResult>;
        if (!*this) return answer::failure(VK_ERROR_INITIALIZATION_FAILED);
        if (type >= memory_.memoryTypeCount) return answer::failure(VK_ERROR_FEATURE_NOT_PRESENT);
        VkPhysicalDeviceMemoryBudgetPropertiesEXT heaps{};
        heaps.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
        VkPhysicalDeviceMemoryProperties2 all{};
        all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
        all.pNext = &heaps;
        calls.get_memory_properties2(physical_, &all);
        const std::uint32_t heap = memory_.memoryTypes[type].heapIndex;
        // A driver without the extension ignores the structure. With it, no budget of a heap is 0.
        if (heaps.heapBudget[heap] == 0) return answer::failure(VK_ERROR_EXTENSION_NOT_PRESENT);
        return memory_budget{heaps.heapUsage[heap], heaps.heapBudget[heap]};
    }

    /// Returns the memory requirements of a buffer.
    [[nodiscard]] requirements requirements_of_buffer(VkBuffer buffer) const noexcept {
        VkBufferMemoryRequirementsInfo2 of{};
        of.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2;
        of.buffer = buffer;
        return requirements_by(calls.of_buffer, of);
    }
    /// Returns the memory requirements of an image that is not disjoint.
    [[nodiscard]] requirements requirements_of_image(VkImage image) const noexcept {
        VkImageMemoryRequirementsInfo2 of{};
        of.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2;
        of.image = image;
        return requirements_by(calls.of_image, of);
    }

    /// Returns a bit for each memory type that buffers of this usage support, which does not depend on their size.
    /// `handles` are the external handle types of the buffers. Returns 0 if the driver does not create such a buffer.
    [[nodiscard]] std::uint32_t types_for_buffers(VkBufferUsageFlags usage,
                                                  VkExternalMemoryHandleTypeFlags handles = 0) const noexcept {
        if (!*this) return 0;
        VkExternalMemoryBufferCreateInfo external{};
        external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
        external.handleTypes = handles;
        VkBufferCreateInfo any{};
        any.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
        any.pNext = handles == 0 ? nullptr : &external;
        any.size = 1;
        any.usage = usage;
        VkBuffer made = VK_NULL_HANDLE;
        if (calls.create_buffer(handle_, &any, nullptr, &made) != VK_SUCCESS) return 0;
        const std::uint32_t types = requirements_of_buffer(made).types;
        calls.destroy_buffer(handle_, made, nullptr);
        return types;
    }

    /// Allocates memory. `next` is the pNext chain of VkMemoryAllocateInfo. Fails without a driver call with
    /// VK_ERROR_INITIALIZATION_FAILED (-3) if functions are missing; VK_ERROR_FEATURE_NOT_PRESENT (-8) for an invalid
    /// type; VK_ERROR_OUT_OF_DEVICE_MEMORY (-2) for a size above maxMemoryAllocationSize or the rest of the heap;
    /// VK_ERROR_TOO_MANY_OBJECTS (-10) at the limit of allocations. Otherwise fails with the driver's code. Imported
    /// host bytes (`takes_from_heap` is false) do not count against the heap.
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
    /// Frees an allocation of `allocate`, with the same type, size and `took_from_heap`.
    void free(VkDeviceMemory memory, std::uint32_t type, VkDeviceSize size, bool took_from_heap = true) noexcept {
        calls.free(handle_, memory, nullptr);
        count_.subtract(1);
        if (took_from_heap) held_[memory_.memoryTypes[type].heapIndex].subtract(size);
    }

    /// The functions of Vulkan.
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
