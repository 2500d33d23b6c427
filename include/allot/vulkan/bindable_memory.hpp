// SPDX-License-Identifier: BSL-1.0
// allocations: what the devices of Vulkan's memory have in common: the VkDeviceMemory objects that they hold, where the
// host sees them, and the buffers and images that are bound in them.
//
//     const auto wanted = memory.device().buffer_layout(buffer);       // what the buffer needs, and its neighbours
//     const auto block = memory.allocate(*wanted);
//     if (memory.device().bind_buffer(buffer, block) != VK_SUCCESS) …
//
//     std::memcpy(memory.device().host_pointer(block), from, n);       // memory that the host sees is mapped for good
//     memory.device().flush(block);                                    // to be seen by the device: nothing where coherent
//
//     VkDeviceMemory  │ buffer │ image ░░░│ buffer ░│                  ░ padding: the next block begins at a granule
//                     0        ▲ granule  ▲         ▲
//
// Rules of Vulkan's that this relies on (specification 1.3, "Resource Memory Association", "Memory Allocation"):
//   - Offset 0 of an allocation is as aligned as any resource can ask; elsewhere it is the offset that is aligned.
//   - A linear resource (a buffer) and an optimal one (an image) must not meet in one page of bufferImageGranularity
//     bytes. Here a block begins at a page and its size is a number of whole pages, so that no two blocks have a page in
//     common, whatever lies in them and on whichever side. Where only one kind is ever bound, and the user says so,
//     nothing is padded.
//   - What is flushed or invalidated begins and ends at a multiple of nonCoherentAtomSize, or at the allocation's end. In
//     memory that is not coherent, blocks begin and end so as well: otherwise flushing one would write back the host's
//     old view of its neighbour over what the device wrote there.
//   - A VkDeviceMemory is mapped once at a time, however many blocks lie in it: so all of it, from its acquisition on.
//     The pointer to offset 0 is a multiple of minMemoryMapAlignment (at least 64), and perhaps of no more.
//   - A resource is bound to a memory type that it names, at its alignment, with all of its bytes inside.
// `bind_buffer` and `bind_image` refuse what breaks these, before the driver sees it: drivers need not check.
//
// Complexity: a driver call each; O(regions held) to find a region. Memory: 32 bytes for each of a device's `Regions`,
// inside the object. Thread safety: none; binding and host pointers only read.
#pragma once

#include <allot/address/handle_offset.hpp>
#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>
#include <allot/vulkan/logical_device.hpp>

#include <utility>

namespace allot {
inline namespace v1 {
namespace vulkan {

/// Which resources are bound in a memory, ever.
enum class resources : unsigned char {
    mixed,           // buffers and images: blocks are kept apart by bufferImageGranularity
    buffers,         // buffers alone
    optimal_images,  // images of VK_IMAGE_TILING_OPTIMAL alone
};

/// The bytes to flush or invalidate for those that the host touched: from an atom's first byte to an atom's last, or to
/// the end of the allocation. Precondition: `touched` lies in it, and `atom` is a power of two.
[[nodiscard]] constexpr extent whole_atoms(extent touched, std::size_t allocation, std::size_t atom) noexcept {
    const std::size_t from = align_down(touched.offset, atom), beyond = allocation - touched.end();
    const std::size_t more = (std::size_t{0} - touched.end()) & (atom - 1);
    return {from, touched.end() + (more < beyond ? more : beyond) - from};
}

namespace detail {

template <std::size_t Regions>
class allocations {
    static_assert(Regions > 0, "allot: a device of Vulkan's memory holds at least one region");

public:
    using address_model = handle_offset<VkDeviceMemory>;
    using error = VkResult;
    using address = address_model::address;
    static constexpr bool host_accessible = false;  // not by an address: see host_pointer
    static constexpr offset_use offsets = offset_use::carried;
    static constexpr std::size_t min_align = std::size_t{1} << 20;  // offset 0: no resource is known to ask for more
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = dl_device_type::vulkan;
    /// What buffers and images that are bound here are made for, beside their uses.
    static constexpr VkExternalMemoryHandleTypeFlags external_handles = 0;

    allocations(allocations&& other) noexcept
        : gpu_{other.gpu_}, type_{other.type_}, holds_{other.holds_}, held_{std::exchange(other.held_, 0)} {
        for (std::size_t i = 0; i != held_; ++i) entries_[i] = other.entries_[i];
    }
    allocations& operator=(allocations&&) = delete;

    [[nodiscard]] logical_device& gpu() const noexcept { return *gpu_; }
    [[nodiscard]] std::uint32_t type() const noexcept { return type_; }

    // ── blocks for resources ─────────────────────────────────────────────────────────────────────────────────────────

    /// A layout whose block keeps its distance from its neighbours: to whole granules.
    [[nodiscard]] layout padded(layout wanted) const noexcept {
        const std::size_t unit = granule();
        if (!wanted.is_valid() || !checked_align_up(wanted.size, unit, wanted.size)) return {0, wanted.align};
        return {wanted.size, wanted.align < unit ? unit : wanted.align};
    }
    /// What to ask an arena over this memory for. Refused with VK_ERROR_FEATURE_NOT_PRESENT (-8) where the resource
    /// cannot lie in memory of this type, or requires a dedicated allocation.
    [[nodiscard]] result<layout, VkResult> buffer_layout(VkBuffer buffer) const noexcept {
        return layout_of(gpu_->requirements_of_buffer(buffer));
    }
    [[nodiscard]] result<layout, VkResult> image_layout(VkImage image) const noexcept {
        return layout_of(gpu_->requirements_of_image(image));
    }

    /// Binds all of a buffer, or of an image that is not disjoint, to a block. Refused as its layout is, and with
    /// VK_ERROR_VALIDATION_FAILED_EXT (-1000011001) for a block that is not of this memory, too small, misaligned, not
    /// padded, or in memory for the other kind of resource; and with the driver's code.
    template <class Block>
    [[nodiscard]] VkResult bind_buffer(VkBuffer buffer, const Block& to) const noexcept {
        const VkResult reason = admit(gpu_->requirements_of_buffer(buffer), resources::optimal_images, to.address, to.size);
        if (reason != VK_SUCCESS) return reason;
        return gpu_->calls.bind_buffer(gpu_->handle(), buffer, to.address.handle, to.address.offset);
    }
    template <class Block>
    [[nodiscard]] VkResult bind_image(VkImage image, const Block& to) const noexcept {
        const VkResult reason = admit(gpu_->requirements_of_image(image), resources::buffers, to.address, to.size);
        if (reason != VK_SUCCESS) return reason;
        return gpu_->calls.bind_image(gpu_->handle(), image, to.address.handle, to.address.offset);
    }

    // ── the host's view ──────────────────────────────────────────────────────────────────────────────────────────────

    /// Where the host sees these bytes; null where it does not, or they do not lie in one region.
    [[nodiscard]] void* host_pointer(address at, std::size_t size = 1) const noexcept {
        const entry* const in = find(at, size);
        return in == nullptr || in->host == nullptr ? nullptr : raw_pointer::locate(in->host, at.offset);
    }
    template <class Block>
    [[nodiscard]] void* host_pointer(const Block& block) const noexcept {
        return host_pointer(block.address, block.size);
    }
    /// The device may see what the host wrote here, once work is submitted after it. The driver is asked only where the
    /// memory is not coherent. VK_ERROR_MEMORY_MAP_FAILED (-5) for bytes that the host does not see.
    [[nodiscard]] VkResult flush(address at, std::size_t size) const noexcept {
        return synchronise(gpu_->calls.flush, at, size);
    }
    template <class Block>
    [[nodiscard]] VkResult flush(const Block& block) const noexcept {
        return flush(block.address, block.size);
    }
    /// The host may see what the device wrote here, once that work was waited for (a fence, and a barrier to
    /// VK_ACCESS_HOST_READ_BIT). Otherwise as `flush`.
    [[nodiscard]] VkResult invalidate(address at, std::size_t size) const noexcept {
        return synchronise(gpu_->calls.invalidate, at, size);
    }
    template <class Block>
    [[nodiscard]] VkResult invalidate(const Block& block) const noexcept {
        return invalidate(block.address, block.size);
    }

protected:
    allocations(logical_device& gpu, std::uint32_t type, resources holds) noexcept
        : gpu_{&gpu}, type_{type}, holds_{holds} {}

    /// Allocates, maps what the host can see, and keeps it. `dedicated`: for one resource, which may require that.
    [[nodiscard]] result<region<address>, VkResult> take(layout wanted, const void* next, bool takes_from_heap = true,
                                                         bool dedicated = false) noexcept {
        using answer = result<region<address>, VkResult>;
        if (!wanted.is_valid()) return answer::failure(VK_ERROR_VALIDATION_FAILED_EXT);
        if (held_ == Regions) return answer::failure(VK_ERROR_TOO_MANY_OBJECTS);
        const auto made = gpu_->allocate(type_, wanted.size, next, takes_from_heap);
        if (!made) return answer::failure(made.error());
        entry fresh{*made, nullptr, wanted.size, takes_from_heap, dedicated};
        if (has(VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)) {
            const VkResult status = gpu_->calls.map(gpu_->handle(), *made, 0, VK_WHOLE_SIZE, 0, &fresh.host);
            if (status != VK_SUCCESS) {
                give_back(fresh);
                return answer::failure(status);
            }
        }
        entries_[held_++] = fresh;
        return region<address>{{*made, 0}, wanted.size, wanted.align < min_align ? min_align : wanted.align};
    }

public:
    void release(region<address> back) noexcept {
        std::size_t index = 0;
        while (entries_[index].memory != back.base.handle) ++index;
        give_back(std::exchange(entries_[index], entries_[--held_]));
    }

private:
    struct entry {
        VkDeviceMemory memory = VK_NULL_HANDLE;
        void* host = nullptr;
        std::size_t size = 0;
        bool took_from_heap = true, dedicated = false;
    };

    [[nodiscard]] bool has(VkMemoryPropertyFlags property) const noexcept {
        return type_ < gpu_->memory().memoryTypeCount &&
               (gpu_->memory().memoryTypes[type_].propertyFlags & property) != 0;
    }
    [[nodiscard]] bool needs_flushing() const noexcept {
        return has(VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) && !has(VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    }
    /// What blocks begin and end at a multiple of.
    [[nodiscard]] std::size_t granule() const noexcept {
        const VkDeviceSize page = holds_ == resources::mixed ? gpu_->buffer_image_granularity() : 1;
        const VkDeviceSize atom = needs_flushing() ? gpu_->non_coherent_atom_size() : 1;
        return static_cast<std::size_t>(page < atom ? atom : page);  // powers of two, both
    }
    [[nodiscard]] const entry* find(address at, std::size_t size) const noexcept {
        for (std::size_t i = 0; i != held_; ++i) {
            const entry& each = entries_[i];
            if (each.memory == at.handle && extent{0, each.size}.contains({at.offset, size})) return &each;
        }
        return nullptr;
    }
    void give_back(const entry& gone) noexcept {  // what is freed is unmapped
        gpu_->free(gone.memory, type_, gone.size, gone.took_from_heap);
    }

    [[nodiscard]] bool can_lie_here(const requirements& of) const noexcept {
        return of.size != 0 && type_ < no_type && (of.types >> type_ & 1) != 0;
    }
    [[nodiscard]] result<layout, VkResult> layout_of(const requirements& of) const noexcept {
        using answer = result<layout, VkResult>;
        if (!can_lie_here(of) || of.requires_dedicated) return answer::failure(VK_ERROR_FEATURE_NOT_PRESENT);
        if (of.size > std::numeric_limits<std::size_t>::max()) return answer::failure(VK_ERROR_OUT_OF_DEVICE_MEMORY);
        return padded({static_cast<std::size_t>(of.size), static_cast<std::size_t>(of.align)});
    }
    [[nodiscard]] VkResult admit(const requirements& of, resources others, address at, std::size_t size) const noexcept {
        const entry* const in = find(at, size);
        if (!can_lie_here(of) || (of.requires_dedicated && in != nullptr && !in->dedicated))
            return VK_ERROR_FEATURE_NOT_PRESENT;
        const std::size_t unit = granule();
        const bool is_padded = at.offset % unit == 0 && (size % unit == 0 || (in && at.offset + size == in->size));
        const bool fits = in != nullptr && of.size <= size && at.offset % of.align == 0;
        return fits && is_padded && holds_ != others ? VK_SUCCESS : VK_ERROR_VALIDATION_FAILED_EXT;
    }

    template <class Function>
    [[nodiscard]] VkResult synchronise(Function ask, address at, std::size_t size) const noexcept {
        const entry* const in = find(at, size);
        if (in == nullptr || in->host == nullptr) return VK_ERROR_MEMORY_MAP_FAILED;
        if (!needs_flushing() || size == 0) return VK_SUCCESS;
        const extent all =
            whole_atoms({at.offset, size}, in->size, static_cast<std::size_t>(gpu_->non_coherent_atom_size()));
        VkMappedMemoryRange range{};
        range.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE;
        range.memory = in->memory;
        range.offset = all.offset;
        range.size = all.size;
        return ask(gpu_->handle(), 1, &range);
    }

    logical_device* gpu_;
    std::uint32_t type_;
    resources holds_;
    entry entries_[Regions]{};
    std::size_t held_ = 0;
};

}  // namespace detail

}  // namespace vulkan
}  // namespace v1
}  // namespace allot
