// SPDX-License-Identifier: BSL-1.0
// bindable_memory: the common part of Vulkan's memory devices. It holds VkDeviceMemory objects, maps them for the
// host, and binds buffers and images to blocks.
//
//     const auto wanted = memory.device().buffer_layout(buffer).value();  // the buffer's requirements, padded
//     const auto block = memory.allocate(wanted);
//     if (memory.device().bind_buffer(buffer, block) != VK_SUCCESS) …
//
//     std::memcpy(memory.device().host_pointer(block), from, n);          // host-visible memory is mapped permanently
//     memory.device().flush(block);                                       // publishes to the device; free if coherent
//
//     VkDeviceMemory  │ buffer │ image ░░░│ buffer ░│                  ░ padding: the next block begins at a granule
//                     0        ▲ granule  ▲         ▲
//
// When to use: through the devices of memory.hpp, dedicated.hpp, imported.hpp, exported_memory.hpp and
// imported_memory.hpp, which have these members.
// When not to use: by including this header directly.
//
// The code relies on these rules of Vulkan (specification 1.3, "Resource Memory Association" and "Memory Allocation"):
//   - Offset 0 of an allocation satisfies the alignment of every resource. Elsewhere, the offset must be aligned.
//   - A linear resource (a buffer) and an optimal one (an image) must not share a page of bufferImageGranularity bytes.
//     Here, a block begins at a page and its size is a multiple of the page size, so that no two blocks share a page.
//     If the user declares that only one kind of resource is bound, blocks are not padded to pages.
//   - A flushed or invalidated range begins and ends at a multiple of nonCoherentAtomSize, or at the end of the
//     allocation. In memory that is not coherent, blocks also begin and end at such multiples. Otherwise, flushing a
//     block would overwrite the device's writes to its neighbor with the host's old bytes.
//   - A VkDeviceMemory can be mapped only once at a time, for all of its blocks. Therefore all of it is mapped from its
//     acquisition on. The pointer to offset 0 is a multiple of minMemoryMapAlignment (at least 64); greater alignments
//     are not guaranteed.
//   - A resource is bound to memory of a type that it supports, at its alignment, with all of its bytes inside.
// `bind_buffer` and `bind_image` return an error if a call would break these rules, because drivers need not check
// them.
//
// Complexity: one driver call for each function; O(regions held) to find a region.
// Memory: 32 bytes for each of the `Regions` that a device can hold, inside the object.
// Thread safety: none. `bind_buffer`, `bind_image` and `host_pointer` only read the object.
#pragma once

#include <allot/address/handle_offset.hpp>
#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>
#include <allot/vulkan/logical_device.hpp>

#include <utility>

namespace allot {
inline namespace v1 {
namespace vulkan {

/// The kinds of resources that a program binds to a memory.
enum class resources : unsigned char {
    mixed,           ///< Buffers and images. Blocks are padded to bufferImageGranularity.
    buffers,         ///< Buffers only.
    optimal_images,  ///< Images with VK_IMAGE_TILING_OPTIMAL only.
};

/// Returns the range to flush or invalidate for the bytes that the host touched. It begins at a multiple of `atom` and
/// ends at a multiple of `atom` or at the end of the allocation. Precondition: `touched` is inside the allocation, and
/// `atom` is a power of two.
[[nodiscard]] constexpr extent whole_atoms(extent touched, std::size_t allocation, std::size_t atom) noexcept {
    const std::size_t from = align_down(touched.offset, atom), beyond = allocation - touched.end();
    const std::size_t more = (std::size_t{0} - touched.end()) & (atom - 1);
    return {from, touched.end() + (more < beyond ? more : beyond) - from};
}

namespace detail {

/// The common base class of Vulkan's memory devices. Holds at most `Regions` allocations.
template <std::size_t Regions>
class allocations {
    static_assert(Regions > 0, "allot: set Regions to 1 or more: the device holds at least one region");

public:
    using address_model = handle_offset<VkDeviceMemory>;            ///< An address is a handle and a byte offset.
    using error = VkResult;                                         ///< Vulkan's error codes.
    using address = address_model::address;                         ///< The address of a block.
    static constexpr bool host_accessible = false;                  ///< Blocks have no pointer: see host_pointer.
    static constexpr offset_use offsets = offset_use::carried;      ///< An offset is passed next to the handle.
    static constexpr std::size_t min_align = std::size_t{1} << 20;  ///< Of offset 0: no known resource requires more.
    static constexpr std::size_t granularity = 1;                   ///< Every size is a multiple of this.
    static constexpr dl_device_type dl_device = dl_device_type::vulkan;  ///< DLPack's device type.
    /// The external handle types that buffers and images must be created with.
    static constexpr VkExternalMemoryHandleTypeFlags external_handles = 0;

    /// Moves the device with the regions that it holds.
    allocations(allocations&& other) noexcept
        : gpu_{other.gpu_}, type_{other.type_}, holds_{other.holds_}, held_{std::exchange(other.held_, 0)} {
        for (std::size_t i = 0; i != held_; ++i) entries_[i] = other.entries_[i];
    }
    allocations& operator=(allocations&&) = delete;

    /// Returns the logical device.
    [[nodiscard]] logical_device& gpu() const noexcept { return *gpu_; }
    /// Returns the index of the memory type.
    [[nodiscard]] std::uint32_t type() const noexcept { return type_; }
    /// Asks the driver how many bytes of this type's heap are in use. Fails like `logical_device::budget`.
    [[nodiscard]] result<memory_budget, VkResult> budget() const noexcept { return gpu_->budget(type_); }
    /// Returns the kinds of resources that the program binds to this memory.
    [[nodiscard]] resources holds() const noexcept { return holds_; }

    // ── blocks for resources ─────────────────────────────────────────────────────────────────────────────────────────

    /// Returns the layout rounded up to whole granules, so that a block of this layout shares no granule with another.
    [[nodiscard]] layout padded(layout wanted) const noexcept {
        const std::size_t unit = granule();
        if (!wanted.is_valid() || !checked_align_up(wanted.size, unit, wanted.size)) return {0, wanted.align};
        return {wanted.size, wanted.align < unit ? unit : wanted.align};
    }
    /// Returns the padded layout of a buffer, to allocate from an arena over this memory. Fails with
    /// VK_ERROR_FEATURE_NOT_PRESENT (-8) if the buffer does not support this memory type or requires a dedicated
    /// allocation; VK_ERROR_OUT_OF_DEVICE_MEMORY (-2) if its size does not fit in std::size_t.
    [[nodiscard]] result<layout, VkResult> buffer_layout(VkBuffer buffer) const noexcept {
        return layout_of(gpu_->requirements_of_buffer(buffer));
    }
    /// Returns the padded layout of an image that is not disjoint. Fails like `buffer_layout`.
    [[nodiscard]] result<layout, VkResult> image_layout(VkImage image) const noexcept {
        return layout_of(gpu_->requirements_of_image(image));
    }

    /// Binds a whole buffer to a block. Fails with VK_ERROR_FEATURE_NOT_PRESENT (-8) if the buffer does not support
    /// this memory; VK_ERROR_VALIDATION_FAILED_EXT (-1000011001) for a block that belongs to other memory, is too
    /// small, misaligned or not padded, or is in memory for images; otherwise with the driver's code.
    template <class Block>
    [[nodiscard]] VkResult bind_buffer(VkBuffer buffer, const Block& to) const noexcept {
        const VkResult reason =
            admit(gpu_->requirements_of_buffer(buffer), resources::optimal_images, to.address, to.size);
        if (reason != VK_SUCCESS) return reason;
        return gpu_->calls.bind_buffer(gpu_->handle(), buffer, to.address.handle, to.address.offset);
    }
    /// Binds a whole image, which is not disjoint, to a block. Fails like `bind_buffer`, and in memory for buffers.
    template <class Block>
    [[nodiscard]] VkResult bind_image(VkImage image, const Block& to) const noexcept {
        const VkResult reason = admit(gpu_->requirements_of_image(image), resources::buffers, to.address, to.size);
        if (reason != VK_SUCCESS) return reason;
        return gpu_->calls.bind_image(gpu_->handle(), image, to.address.handle, to.address.offset);
    }

    // ── the host's view ──────────────────────────────────────────────────────────────────────────────────────────────

    /// Returns a host pointer to `size` bytes. Returns null if the memory is not host-visible, or if the bytes are not
    /// inside one region.
    [[nodiscard]] void* host_pointer(address at, std::size_t size = 1) const noexcept {
        const entry* const in = find(at, size);
        return in == nullptr || in->host == nullptr ? nullptr : raw_pointer::locate(in->host, at.offset);
    }
    /// Returns a host pointer to a block, or null.
    template <class Block>
    [[nodiscard]] void* host_pointer(const Block& block) const noexcept {
        return host_pointer(block.address, block.size);
    }
    /// Makes the host's writes to these bytes visible to work that is submitted later. Calls the driver only if the
    /// memory is not coherent. Fails with VK_ERROR_MEMORY_MAP_FAILED (-5) for bytes that are not mapped.
    [[nodiscard]] VkResult flush(address at, std::size_t size) const noexcept {
        return synchronise(gpu_->calls.flush, at, size);
    }
    /// Makes the host's writes to a block visible to work that is submitted later.
    template <class Block>
    [[nodiscard]] VkResult flush(const Block& block) const noexcept {
        return flush(block.address, block.size);
    }
    /// Makes the device's writes to these bytes visible to the host. Call it after the program has waited for that work
    /// (a fence, and a barrier to VK_ACCESS_HOST_READ_BIT). Otherwise like `flush`.
    [[nodiscard]] VkResult invalidate(address at, std::size_t size) const noexcept {
        return synchronise(gpu_->calls.invalidate, at, size);
    }
    /// Makes the device's writes to a block visible to the host.
    template <class Block>
    [[nodiscard]] VkResult invalidate(const Block& block) const noexcept {
        return invalidate(block.address, block.size);
    }

protected:
    allocations(logical_device& gpu, std::uint32_t type, resources holds) noexcept
        : gpu_{&gpu}, type_{type}, holds_{holds} {}

    // Returns whether this object acquired the region.
    [[nodiscard]] bool is_held(region<address> held) const noexcept {
        return held.base.offset == 0 && find(held.base, held.size) != nullptr;
    }

    // Allocates, maps host-visible memory, and records the region. `dedicated`: for a resource that may require that.
    // Sets `allocated` once the driver has the memory, even if mapping fails.
    [[nodiscard]] result<region<address>, VkResult> take(layout wanted, const void* next, bool takes_from_heap = true,
                                                         bool dedicated = false, bool* allocated = nullptr) noexcept {
        using answer = result<region<address>, VkResult>;
        if (!wanted.is_valid()) return answer::failure(VK_ERROR_VALIDATION_FAILED_EXT);
        if (held_ == Regions) return answer::failure(VK_ERROR_TOO_MANY_OBJECTS);
        const auto made = gpu_->allocate(type_, wanted.size, next, takes_from_heap);
        if (!made) return answer::failure(made.error());
        if (allocated != nullptr) *allocated = true;
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
    /// Frees a region, which also unmaps it. Does nothing for a region that this object does not hold.
    void release(region<address> back) noexcept {
        std::size_t index = 0;
        while (index != held_ && entries_[index].memory != back.base.handle) ++index;
        if (index == held_) return;
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
    // Blocks begin and end at multiples of this.
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
    void give_back(const entry& gone) noexcept {  // freeing also unmaps
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
    [[nodiscard]] VkResult admit(const requirements& of, resources others, address at,
                                 std::size_t size) const noexcept {
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
