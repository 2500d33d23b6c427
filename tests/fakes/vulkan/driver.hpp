// A fake Vulkan driver behind a vkGetInstanceProcAddr, with features that lavapipe does not have: memory that is not
// coherent, pages that buffers and images must not share, few allocations, and resources that require a dedicated one.
//
//     host's view  │ … │  flush ──►  ◄── invalidate  │ … │  device's view       of mapped memory that is not coherent
//
// It is as strict as the specification allows and records every broken rule. It calls no function of the real loader.
#pragma once

#include "../payloads.hpp"

#include <allot/vulkan/memory.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fake {

inline constexpr VkDeviceSize atom = 256, page = 1024, resource_align = 64;
/// Memory types.
enum : std::uint32_t { local, visible, coherent, lazy, types };

struct resource;
struct allocation {
    std::uint32_t type = 0;
    VkMemoryAllocateFlags flags = 0;
    bool is_mapped = false;
    const resource* dedicated_to = nullptr;
    std::vector<std::byte> of_device, of_host;
    VkExternalMemoryHandleTypeFlags handles = 0;  // exportable as this, or imported from this
    bool is_imported = false;
    std::shared_ptr<held_payload> payload{};  // of exportable or imported memory, in place of `of_device`

    [[nodiscard]] std::byte* data() { return payload ? payload->data() : of_device.data(); }
    [[nodiscard]] std::size_t size() const { return payload ? payload->size() : of_device.size(); }
};
struct resource {
    VkDeviceSize size = 0;
    bool is_image = false;
    std::uint32_t fits_types = (1u << types) - 1;
    bool requires_dedicated = false;
    VkDeviceMemory bound_to = VK_NULL_HANDLE;
    VkDeviceSize at = 0;
    VkExternalMemoryHandleTypeFlags handles = 0;
};

inline constexpr VkExternalMemoryFeatureFlags both_ways =
    VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
/// What Vulkan requires of imports from an opaque descriptor.
struct opaque_payload {
    VkDeviceSize size = 0;
    std::uint32_t type = 0;
};

/// The driver's state and its requested failures.
struct machine {
    std::uint32_t most_allocations = 4;
    VkDeviceSize heap = 1 << 20, largest = 1 << 19;
    // The next call fails with this.
    VkResult refuse_allocation = VK_SUCCESS, refuse_map = VK_SUCCESS, refuse_create = VK_SUCCESS,
             refuse_bind = VK_SUCCESS;
    resource next{};         // the properties of resources that the driver creates, except size and kind
    const char* lacks = "";  // a missing function
    bool has_budget = true;  // supports VK_EXT_memory_budget
    // Handles that cross drivers.
    VkExternalMemoryFeatureFlags opaque_features = both_ways, dma_features = both_ways;
    std::uint32_t dma_types = 1u << coherent;        // the memory types that can be a DMA buffer
    unsigned char device_uuid = 1, driver_uuid = 2;  // the first bytes

    std::map<VkDeviceMemory, allocation> memory{};
    std::map<std::uint64_t, resource> resources{};
    std::uint64_t names = 0x1000;
    std::size_t allocations_asked = 0, flushes = 0, invalidations = 0;
    VkMappedMemoryRange last_range{};
    std::map<std::uint64_t, opaque_payload> opaque_payloads{};  // by identity
    std::size_t imports = 0;
    std::vector<std::string> broken{};  // the broken rules

    void check(bool is_kept, const char* rule) {
        if (!is_kept) broken.emplace_back(rule);
    }
};
inline machine now;

template <class Handle>
[[nodiscard]] Handle handle_of(std::uint64_t name) {
    return reinterpret_cast<Handle>(name);
}
template <class Handle>
[[nodiscard]] resource& of(Handle handle) {
    return now.resources.at(reinterpret_cast<std::uint64_t>(handle));
}
template <class Handle>
[[nodiscard]] Handle make(const resource& what) {
    now.resources[++now.names] = what;
    return handle_of<Handle>(now.names);
}
[[nodiscard]] inline VkBuffer buffer(VkDeviceSize size) { return make<VkBuffer>({size}); }
[[nodiscard]] inline VkImage image(VkDeviceSize size) { return make<VkImage>({size, true}); }

inline const VkInstance instance = handle_of<VkInstance>(1);
inline const VkPhysicalDevice physical = handle_of<VkPhysicalDevice>(2);
inline const VkDevice device = handle_of<VkDevice>(3);

// ── the driver ───────────────────────────────────────────────────────────────────────────────────────────────────────

inline VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice, VkPhysicalDeviceProperties2* to) {
    to->properties.limits.maxMemoryAllocationCount = now.most_allocations;
    to->properties.limits.bufferImageGranularity = page;
    to->properties.limits.nonCoherentAtomSize = atom;
    for (auto* next = static_cast<VkBaseOutStructure*>(to->pNext); next != nullptr; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES)
            reinterpret_cast<VkPhysicalDeviceMaintenance3Properties*>(next)->maxMemoryAllocationSize = now.largest;
        if (next->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES) continue;
        auto& identity = *reinterpret_cast<VkPhysicalDeviceIDProperties*>(next);
        identity.deviceUUID[0] = now.device_uuid;
        identity.driverUUID[0] = now.driver_uuid;
    }
}
inline VKAPI_ATTR void VKAPI_CALL get_memory(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties* to) {
    constexpr VkMemoryPropertyFlags of_device = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                    of_host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    *to = {};
    to->memoryTypeCount = types;
    to->memoryTypes[local] = {of_device, 0};
    to->memoryTypes[visible] = {of_host | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 1};
    to->memoryTypes[coherent] = {of_host | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 1};
    to->memoryTypes[lazy] = {of_device | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT, 0};
    to->memoryHeapCount = 2;
    to->memoryHeaps[0] = to->memoryHeaps[1] = {now.heap, 0};
}
inline VKAPI_ATTR void VKAPI_CALL get_memory2(VkPhysicalDevice of, VkPhysicalDeviceMemoryProperties2* to) {
    get_memory(of, &to->memoryProperties);
    auto* const heaps = static_cast<VkPhysicalDeviceMemoryBudgetPropertiesEXT*>(to->pNext);
    if (!now.has_budget || heaps == nullptr) return;
    now.check(heaps->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT, "the budget's sType");
    for (std::uint32_t heap = 0; heap != 2; ++heap) {
        heaps->heapBudget[heap] = now.heap / 2;
        heaps->heapUsage[heap] = 1000;  // of other code in this process
        for (const auto& [name, each] : now.memory)
            if (to->memoryProperties.memoryTypes[each.type].heapIndex == heap) heaps->heapUsage[heap] += each.size();
    }
}
// The memory behind a descriptor. Fails as the driver does, without taking the descriptor.
inline VkResult import_into(allocation& fresh, const VkMemoryAllocateInfo& wanted,
                            const VkImportMemoryFdInfoKHR& from) {
    const bool is_dma = from.handleType == VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
    now.check(is_dma || from.handleType == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, "00669: the handle type");
    now.check(((is_dma ? now.dma_features : now.opaque_features) & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT) != 0,
              "00667: importable");
    const bool is_valid = is_of_kind(from.fd, is_dma ? dma_buffer : opaque);
    now.check(is_valid, "00670: a descriptor of the stated type");
    if (!is_valid) return VK_ERROR_INVALID_EXTERNAL_HANDLE;
    if (is_dma) {
        now.check((now.dma_types >> wanted.memoryTypeIndex & 1) != 0, "00648: a memory type of the descriptor");
    } else {
        const auto of = now.opaque_payloads.find(identity_of(from.fd));  // unknown if another driver allocated it
        now.check(of == now.opaque_payloads.end() ||
                      (of->second.size == wanted.allocationSize && of->second.type == wanted.memoryTypeIndex),
                  "01742: size and type");
    }
    if (wanted.allocationSize > size_of(from.fd)) return VK_ERROR_INVALID_EXTERNAL_HANDLE;
    ++now.imports;
    fresh.handles = from.handleType;
    fresh.is_imported = true;
    fresh.payload = std::make_shared<held_payload>(from.fd);
    return VK_SUCCESS;
}
inline void make_exportable(allocation& fresh, const VkMemoryAllocateInfo& wanted,
                            VkExternalMemoryHandleTypeFlags handles) {
    const bool is_dma = handles == VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
    now.check(is_dma || handles == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, "one handle type");
    now.check(((is_dma ? now.dma_features : now.opaque_features) & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) != 0,
              "00656: exportable");
    fresh.handles = handles;
    fresh.payload = std::make_shared<held_payload>(make_payload(is_dma ? dma_buffer : opaque, wanted.allocationSize));
    if (!is_dma) now.opaque_payloads[fresh.payload->identity()] = {wanted.allocationSize, wanted.memoryTypeIndex};
}
inline VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice, const VkMemoryAllocateInfo* wanted,
                                               const VkAllocationCallbacks*, VkDeviceMemory* to) {
    ++now.allocations_asked;
    if (now.refuse_allocation != VK_SUCCESS) return std::exchange(now.refuse_allocation, VK_SUCCESS);
    now.check(now.memory.size() < now.most_allocations, "maxMemoryAllocationCount");
    now.check(wanted->allocationSize != 0 && wanted->allocationSize <= now.largest, "maxMemoryAllocationSize");
    allocation fresh;
    fresh.type = wanted->memoryTypeIndex;
    for (auto* next = static_cast<const VkBaseInStructure*>(wanted->pNext); next != nullptr; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO)
            fresh.flags = reinterpret_cast<const VkMemoryAllocateFlagsInfo*>(next)->flags;
        if (next->sType == VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO)
            make_exportable(fresh, *wanted, reinterpret_cast<const VkExportMemoryAllocateInfo*>(next)->handleTypes);
        if (next->sType == VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR) {
            const auto& from = *reinterpret_cast<const VkImportMemoryFdInfoKHR*>(next);
            if (const VkResult status = import_into(fresh, *wanted, from); status != VK_SUCCESS) return status;
        }
        if (next->sType != VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO) continue;
        const auto& to_one = *reinterpret_cast<const VkMemoryDedicatedAllocateInfo*>(next);
        const resource& what = to_one.image != VK_NULL_HANDLE ? of(to_one.image) : of(to_one.buffer);
        now.check(what.size == wanted->allocationSize, "the size of a dedicated allocation");
        fresh.dedicated_to = &what;
    }
    if (!fresh.payload) fresh.of_device.resize(wanted->allocationSize);
    *to = handle_of<VkDeviceMemory>(++now.names);
    now.memory[*to] = fresh;
    return VK_SUCCESS;
}
inline VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice, VkDeviceMemory memory, const VkAllocationCallbacks*) {
    now.check(now.memory.erase(memory) == 1, "freed once");
}
inline VKAPI_ATTR VkResult VKAPI_CALL map(VkDevice, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size,
                                          VkMemoryMapFlags, void** to) {
    if (now.refuse_map != VK_SUCCESS) return std::exchange(now.refuse_map, VK_SUCCESS);
    allocation& what = now.memory.at(memory);
    now.check(what.type == visible || what.type == coherent, "mapped memory is host-visible");
    now.check(!std::exchange(what.is_mapped, true), "mapped once");
    now.check(offset == 0 && size == VK_WHOLE_SIZE, "mapped as a whole");
    if (what.type == coherent) return *to = what.data(), VK_SUCCESS;
    what.of_host.assign(what.data(), what.data() + what.size());
    *to = what.of_host.data();
    return VK_SUCCESS;
}
inline void move_range(const VkMappedMemoryRange& range, bool to_device) {
    allocation& what = now.memory.at(range.memory);
    const VkDeviceSize all = what.size();
    now.last_range = range;
    now.check(what.is_mapped, "flushed memory is mapped");
    now.check(range.offset % atom == 0, "a range begins at an atom");
    now.check(range.offset <= all && range.size <= all - range.offset, "a range is inside its memory");
    now.check(range.size % atom == 0 || range.offset + range.size == all,
              "a range ends at an atom or at the end of its memory");
    if (what.type == coherent || !now.broken.empty()) return;
    const std::byte* const from = to_device ? what.of_host.data() : what.data();
    std::byte* const to = to_device ? what.data() : what.of_host.data();
    std::memcpy(to + range.offset, from + range.offset, range.size);
}
inline VKAPI_ATTR VkResult VKAPI_CALL flush(VkDevice, std::uint32_t, const VkMappedMemoryRange* range) {
    return ++now.flushes, move_range(*range, true), VK_SUCCESS;
}
inline VKAPI_ATTR VkResult VKAPI_CALL invalidate(VkDevice, std::uint32_t, const VkMappedMemoryRange* range) {
    return ++now.invalidations, move_range(*range, false), VK_SUCCESS;
}
inline void answer(const resource& what, VkMemoryRequirements2* to) {
    to->memoryRequirements = {what.size, resource_align, what.fits_types};
    static_cast<VkMemoryDedicatedRequirements*>(to->pNext)->requiresDedicatedAllocation = what.requires_dedicated;
}
inline VKAPI_ATTR void VKAPI_CALL of_buffer(VkDevice, const VkBufferMemoryRequirementsInfo2* what,
                                            VkMemoryRequirements2* to) {
    answer(of(what->buffer), to);
}
inline VKAPI_ATTR void VKAPI_CALL of_image(VkDevice, const VkImageMemoryRequirementsInfo2* what,
                                           VkMemoryRequirements2* to) {
    answer(of(what->image), to);
}
inline VkResult bind(resource& what, VkDeviceMemory memory, VkDeviceSize at) {
    if (now.refuse_bind != VK_SUCCESS) return std::exchange(now.refuse_bind, VK_SUCCESS);
    const allocation& in = now.memory.at(memory);
    now.check(at % resource_align == 0, "bound at its alignment");
    now.check(at <= in.size() && what.size <= in.size() - at, "bound inside the memory");
    now.check(
        in.handles == 0 || (what.handles & in.handles) != 0,
        in.is_imported ? "02985: a resource for the imported handle type" : "02726: a resource for the handle type");
    now.check((what.fits_types >> in.type & 1) != 0, "bound to a supported memory type");
    now.check(!what.requires_dedicated || in.dedicated_to != nullptr, "dedicated if required");
    now.check(in.dedicated_to == nullptr || (in.dedicated_to == &what && at == 0),
              "01508: a dedicated allocation is bound to its resource, at its start");
    now.check(what.bound_to == VK_NULL_HANDLE, "07459: bound once");
    for (const auto& [name, other] : now.resources) {
        if (other.bound_to != memory || other.is_image == what.is_image) continue;
        const VkDeviceSize from = at / page, to = (at + what.size - 1) / page;
        const VkDeviceSize other_from = other.at / page, other_to = (other.at + other.size - 1) / page;
        now.check(to < other_from || other_to < from, "bufferImageGranularity");
    }
    what.bound_to = memory;
    what.at = at;
    return VK_SUCCESS;
}
inline VKAPI_ATTR VkResult VKAPI_CALL bind_buffer(VkDevice, VkBuffer what, VkDeviceMemory memory, VkDeviceSize at) {
    return bind(of(what), memory, at);
}
inline VKAPI_ATTR VkResult VKAPI_CALL bind_image(VkDevice, VkImage what, VkDeviceMemory memory, VkDeviceSize at) {
    return bind(of(what), memory, at);
}
template <class Handle>
VkResult create(VkDeviceSize size, bool is_image, Handle* to) {
    if (now.refuse_create != VK_SUCCESS) return std::exchange(now.refuse_create, VK_SUCCESS);
    resource fresh = now.next;
    fresh.size = size;
    fresh.is_image = is_image;
    return *to = make<Handle>(fresh), VK_SUCCESS;
}
template <class Handle>
void destroy(Handle what) {
    const resource& gone = of(what);
    now.check(gone.bound_to == VK_NULL_HANDLE || now.memory.count(gone.bound_to) == 1, "destroyed before its memory");
    now.resources.erase(reinterpret_cast<std::uint64_t>(what));
}
inline VKAPI_ATTR VkResult VKAPI_CALL create_buffer(VkDevice, const VkBufferCreateInfo* wanted,
                                                    const VkAllocationCallbacks*, VkBuffer* to) {
    const VkResult status = create(wanted->size, false, to);
    if (status == VK_SUCCESS && wanted->pNext != nullptr)
        of(*to).handles = static_cast<const VkExternalMemoryBufferCreateInfo*>(wanted->pNext)->handleTypes;
    return status;
}
inline VKAPI_ATTR void VKAPI_CALL destroy_buffer(VkDevice, VkBuffer what, const VkAllocationCallbacks*) {
    destroy(what);
}
inline VKAPI_ATTR VkResult VKAPI_CALL create_image(VkDevice, const VkImageCreateInfo* wanted,
                                                   const VkAllocationCallbacks*, VkImage* to) {
    return create(VkDeviceSize{4} * wanted->extent.width * wanted->extent.height, true, to);
}
inline VKAPI_ATTR void VKAPI_CALL destroy_image(VkDevice, VkImage what, const VkAllocationCallbacks*) { destroy(what); }

inline VKAPI_ATTR void VKAPI_CALL copy_buffer(VkCommandBuffer, VkBuffer, VkBuffer, std::uint32_t, const VkBufferCopy*) {
    now.broken.emplace_back("no copy is expected");
}

inline VKAPI_ATTR void VKAPI_CALL of_external_buffers(VkPhysicalDevice, const VkPhysicalDeviceExternalBufferInfo* about,
                                                      VkExternalBufferProperties* to) {
    now.check(about->usage != 0, "buffers have a usage");
    to->externalMemoryProperties.externalMemoryFeatures =
        about->handleType == VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT ? now.dma_features : now.opaque_features;
}
inline VKAPI_ATTR VkResult VKAPI_CALL get_descriptor(VkDevice, const VkMemoryGetFdInfoKHR* wanted, int* to) {
    const auto found = now.memory.find(wanted->memory);
    now.check(found != now.memory.end(), "memory of the device is exported");
    if (found == now.memory.end()) return VK_ERROR_UNKNOWN;
    now.check(found->second.handles == static_cast<VkFlags>(wanted->handleType) && !found->second.is_imported,
              "00671: exported as the memory was allocated");
    *to = found->second.payload->share();
    return *to < 0 ? VK_ERROR_TOO_MANY_OBJECTS : VK_SUCCESS;
}
inline VKAPI_ATTR VkResult VKAPI_CALL of_descriptor(VkDevice, VkExternalMemoryHandleTypeFlagBits type, int descriptor,
                                                    VkMemoryFdPropertiesKHR* to) {
    now.check(type != VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, "00674: not for opaque descriptors");
    const bool is_valid = is_of_kind(descriptor, dma_buffer);
    now.check(is_valid, "00673: a descriptor of the stated type");
    to->memoryTypeBits = now.dma_types;
    return is_valid ? VK_SUCCESS : VK_ERROR_INVALID_EXTERNAL_HANDLE;
}

inline VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get(VkInstance, const char* name);
inline VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_of_device(VkDevice, const char* name) {
    return get(instance, name);
}
inline PFN_vkVoidFunction VKAPI_CALL get(VkInstance, const char* name) {
    if (std::strcmp(name, now.lacks) == 0) return nullptr;
    const auto any = [](auto function) { return reinterpret_cast<PFN_vkVoidFunction>(function); };
    const std::map<std::string, PFN_vkVoidFunction> all{
        {"vkGetDeviceProcAddr", any(&get_of_device)},
        {"vkGetPhysicalDeviceProperties2", any(&get_properties)},
        {"vkGetPhysicalDeviceMemoryProperties", any(&get_memory)},
        {"vkGetPhysicalDeviceMemoryProperties2", any(&get_memory2)},
        {"vkAllocateMemory", any(&allocate)},
        {"vkFreeMemory", any(&free_memory)},
        {"vkMapMemory", any(&map)},
        {"vkFlushMappedMemoryRanges", any(&flush)},
        {"vkInvalidateMappedMemoryRanges", any(&invalidate)},
        {"vkGetBufferMemoryRequirements2", any(&of_buffer)},
        {"vkGetImageMemoryRequirements2", any(&of_image)},
        {"vkBindBufferMemory", any(&bind_buffer)},
        {"vkBindImageMemory", any(&bind_image)},
        {"vkCreateBuffer", any(&create_buffer)},
        {"vkDestroyBuffer", any(&destroy_buffer)},
        {"vkCreateImage", any(&create_image)},
        {"vkDestroyImage", any(&destroy_image)},
        {"vkCmdCopyBuffer", any(&copy_buffer)},
        {"vkGetPhysicalDeviceExternalBufferProperties", any(&of_external_buffers)},
        {"vkGetMemoryFdKHR", any(&get_descriptor)},
        {"vkGetMemoryFdPropertiesKHR", any(&of_descriptor)},
    };
    const auto found = all.find(name);
    return found == all.end() ? nullptr : found->second;
}

/// A fresh machine for one test. At the end, checks that no rule is broken, no memory is held, and no descriptor is
/// open.
struct driven {
    driven() { now = {}; }
    driven(const driven&) = delete;
    driven& operator=(const driven&) = delete;
    ~driven() {
        CHECK(now.memory.empty());
        CHECK(open_descriptors() == opened);
        CHECK(lost_descriptors == 0);
        for (const std::string& each : now.broken) FAIL_CHECK(each);
    }
    const std::size_t opened = open_descriptors();
};

}  // namespace fake
