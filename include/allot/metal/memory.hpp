// SPDX-License-Identifier: BSL-1.0
// metal: Metal buffers and heaps (Apple's GPUs), memory that is named by an object and a byte offset.
//
//     using memory = allot::metal::buffer<MTL::Device>;
//     allot::arena<memory, allot::best_fit<>> arena{memory{device, MTL::ResourceStorageModePrivate}, 64_MiB};
//     auto x = arena.allocate({.size = 4096, .align = 256});
//     encoder->setBuffer(x.address.handle, x.address.offset, 0);
//
// The header is a template over the calls of Metal-cpp's MTL::Device and includes no header of Metal. It is not yet
// tested on hardware: it compiles against Metal-cpp's headers, and tests/unit/metal has a fake of these calls that
// enforces Metal's rules.
//
//     device        a region is                a block is                       a kernel gets
//     buffer        one MTL::Buffer            the buffer and a byte offset     setBuffer(handle, offset, index)
//     heap          one MTL::Heap, placement   the heap and a byte offset       a buffer that is placed there
//
// In a heap, the caller places buffers or textures at the offsets of an arena or a plan. Several resources may be
// placed at the same offset if their lifetimes do not overlap: they share the bytes.
//
//     heap     │ … │◄──────── block ────────►│ … │      buffer_layout(device, n, options) returns the size and the
//                  └ place_buffer(block, n)           alignment of the block that a buffer of n bytes needs
//
// MTL::ResourceOptions select the storage mode, which determines whether `contents` returns a host pointer:
//     shared    the host and the GPU access the same bytes
//     managed   the host and the GPU each have a copy: `did_modify` publishes the host's writes, and the
//               synchronizeResource of a blit encoder fetches the GPU's writes
//     private   only the GPU has access: `contents` returns null
// Memoryless storage is for textures only, and `acquire` rejects it (error 11).
//
// When to use: `buffer` for kernel arguments; `heap` where buffers and textures share bytes, as in a memory plan.
// When not to use: `heap` for resources whose hazards Metal must track.
//
// The code relies on these rules of Metal (developer.apple.com/documentation/metal: MTLDevice, MTLBuffer, MTLHeap,
// MTLResource, MTLComputeCommandEncoder; the messages of its API validation, which ends the program):
//   - A length of 0 or above maxBufferLength is an error ("Cannot create buffer of zero length", "newBufferWith*:length
//     must not exceed"). `acquire` requests neither. If Metal cannot allocate memory, it returns null and no
//     error code.
//   - A buffer's offset needs an alignment of at most 256, which the constant address space on a Mac requires
//     (setBuffer:offset:atIndex:). A base at offset 0 is a multiple of 256, and greater alignments are not known to be
//     supported: `acquire` rejects them (error 10).
//   - A resource in a heap must have the alignment that heapBufferSizeAndAlign or heapTextureSizeAndAlign returns for
//     it, with the heap's storage and cache modes. Offset 0 satisfies every alignment. The header states 1 MiB for a
//     heap's base, which exceeds all alignments of Metal.
//   - Metal does not track hazards between the resources in a heap unless the options request it. The caller uses
//     fences.
//   - Objects are reference-counted. The result of a `new…` call is released once. A heap lives as long as a buffer in
//     it; both live as long as a pending command buffer that retains its resources.
// The caller owns the device and must keep it alive as long as the arena.
//
// Complexity: two calls of Metal for each `acquire` of a buffer, seven for a heap; one for each `release`.
// Memory: no overhead for a buffer; whole pages for a heap.
// Thread safety: that of Metal. Any thread may call `acquire` and `release`.
#pragma once

#include <allot/address/handle_offset.hpp>
#include <allot/core/device.hpp>

#include <type_traits>

namespace allot {
inline namespace v1 {
namespace metal {

/// Errors of Metal memory. Metal itself has no codes.
enum class error : int {
    none = 0,            ///< No error.
    no_memory = 1,       ///< Metal returned null.
    no_device = 2,       ///< The device is null.
    invalid_layout = 3,  ///< The size is 0, or the alignment is not a power of two.
    too_long = 4,        ///< Above maxBufferLength; for a heap, the size overflows when rounded up to pages.
    too_small = 5,       ///< The block is smaller than Metal requires for a buffer of this length.
    misaligned = 10,     ///< An alignment above 256, or an offset that does not have the alignment Metal requires.
    memoryless = 11,     ///< The memoryless storage mode is for textures only.
    not_executed = 12,   ///< A command buffer ended with an error: see metal/tensor.hpp.
};

/// Returns a human-readable description of the reason.
[[nodiscard]] constexpr const char* to_string(error reason) noexcept {
    switch (reason) {
        case error::none: return "no error";
        case error::no_memory: return "Metal returned null";
        case error::no_device: return "the Metal device is null";
        case error::invalid_layout: return "the size is 0, or the alignment is not a power of two";
        case error::too_long: return "the size exceeds the maximum buffer length of the device";
        case error::too_small: return "the block is smaller than Metal requires for a buffer of this length";
        case error::misaligned: return "the alignment exceeds 256, or the offset is not aligned as Metal requires";
        case error::memoryless: return "the memoryless storage mode is for textures only";
        case error::not_executed: return "the command buffer ended with an error";
    }
    return "unknown";
}

/// Storage modes, with the values of MTL::StorageMode.
enum class storage_mode : unsigned char {
    shared = 0,          ///< The host and the GPU access the same bytes.
    managed = 1,         ///< The host and the GPU each have a copy.
    private_to_gpu = 2,  ///< Only the GPU has access.
    memoryless = 3,      ///< For textures whose contents exist during a render pass only.
};

/// Returns the storage mode in a value of MTL::ResourceOptions.
[[nodiscard]] constexpr storage_mode storage_mode_of(std::size_t options) noexcept {
    return static_cast<storage_mode>(options >> 4 & 15);
}

/// Alignment of the bases of buffers.
inline constexpr std::size_t base_align = 256;
/// Alignment of the bases of heaps.
inline constexpr std::size_t heap_align = std::size_t{1} << 20;

namespace detail {

template <class Device>
using buffer_type = std::remove_pointer_t<decltype(std::declval<Device&>().newBuffer(std::size_t{1}, std::size_t{0}))>;
template <class Device>
using heap_type = std::remove_pointer_t<decltype(std::declval<Device&>().newHeap(nullptr))>;

template <class Device, class Heap, class Descriptor>
Descriptor descriptor_of(Heap* (Device::*)(const Descriptor*));
template <class Device, class Heap, class Descriptor>
Descriptor descriptor_of(Heap* (Device::*)(const Descriptor*) const);
// The descriptor type that newHeap takes.
template <class Device>
using heap_descriptor_type = decltype(descriptor_of(&Device::newHeap));

template <class Device>
[[nodiscard]] result<memory_budget, error> budget_of(Device* device) noexcept {
    if (device == nullptr) return result<memory_budget, error>::failure(error::no_device);
    return memory_budget{device->currentAllocatedSize(), device->recommendedMaxWorkingSetSize()};
}

}  // namespace detail

/// Metal buffers as memory. `Device` is MTL::Device.
template <class Device>
class buffer {
public:
    using address_model = handle_offset<detail::buffer_type<Device>*>;  ///< An address is a handle and a byte offset.
    using address = typename address_model::address;                    ///< The address of a block.
    using error = metal::error;                                         ///< The error type.
    static constexpr bool host_accessible = false;                      ///< Blocks have no pointer: see `contents`.
    static constexpr offset_use offsets = offset_use::carried;          ///< An offset is passed next to the handle.
    static constexpr std::size_t min_align = base_align;                ///< Every base is a multiple of this.
    static constexpr std::size_t granularity = 1;                       ///< Every size is a multiple of this.
    static constexpr dl_device_type dl_device = dl_device_type::metal;  ///< DLPack's device type.

    /// Allocates buffers of `device` with these MTL::ResourceOptions. The default is shared storage.
    explicit buffer(Device* device, std::size_t options = 0) noexcept : device_{device}, options_{options} {}

    /// Creates a buffer. Fails with no_device, memoryless, invalid_layout, misaligned (above 256), too_long or
    /// no_memory.
    [[nodiscard]] acquired<buffer> acquire(layout wanted) noexcept {
        const auto refuse = [](error reason) { return acquired<buffer>::failure(reason); };
        if (device_ == nullptr) return refuse(error::no_device);
        if (storage_mode_of(options_) == storage_mode::memoryless) return refuse(error::memoryless);
        if (!wanted.is_valid()) return refuse(error::invalid_layout);
        if (wanted.align > base_align) return refuse(error::misaligned);
        if (wanted.size > device_->maxBufferLength()) return refuse(error::too_long);
        auto* const handle = device_->newBuffer(wanted.size, options_);
        if (handle == nullptr) return refuse(error::no_memory);
        return region<address>{{handle, 0}, wanted.size, base_align};
    }
    /// Releases the buffer.
    void release(region<address> held) noexcept { held.base.handle->release(); }

    /// Returns the bytes that this process has allocated on the device, and the size that Metal recommends as the
    /// limit. Fails with no_device.
    [[nodiscard]] result<memory_budget, error> budget() const noexcept { return detail::budget_of(device_); }

private:
    Device* device_;
    std::size_t options_;
};

/// Placement heaps in which the caller places buffers and textures. `Device` is MTL::Device.
template <class Device>
class heap {
public:
    using address_model = handle_offset<detail::heap_type<Device>*>;    ///< An address is a handle and a byte offset.
    using address = typename address_model::address;                    ///< The address of a block.
    using error = metal::error;                                         ///< The error type.
    static constexpr bool host_accessible = false;                      ///< The host cannot access the bytes.
    static constexpr offset_use offsets = offset_use::carried;          ///< An offset is passed next to the handle.
    static constexpr std::size_t min_align = heap_align;                ///< Every base is a multiple of this.
    static constexpr std::size_t granularity = 16 * 1024;               ///< A page on Apple's systems.
    static constexpr dl_device_type dl_device = dl_device_type::metal;  ///< DLPack's device type.

    /// Allocates heaps of `device`. All resources in a heap have these MTL::ResourceOptions. On a Mac with a GPU of
    /// another vendor, heaps can only be private.
    heap(Device* device, std::size_t options) noexcept : device_{device}, options_{options} {}

    /// Creates a heap. Fails with no_device, memoryless, invalid_layout, too_long or no_memory.
    [[nodiscard]] acquired<heap> acquire(layout wanted) noexcept {
        const auto refuse = [](error reason) { return acquired<heap>::failure(reason); };
        if (device_ == nullptr) return refuse(error::no_device);
        if (storage_mode_of(options_) == storage_mode::memoryless) return refuse(error::memoryless);
        if (!wanted.is_valid()) return refuse(error::invalid_layout);
        std::size_t size = 0;
        if (!checked_align_up(wanted.size, granularity, size)) return refuse(error::too_long);
        using heap_type = detail::heap_type<Device>;
        auto* const about = detail::heap_descriptor_type<Device>::alloc()->init();
        about->setType(static_cast<decltype(std::declval<heap_type&>().type())>(1));  // HeapTypePlacement
        about->setResourceOptions(options_);
        about->setSize(size);
        heap_type* const handle = device_->newHeap(about);
        about->release();
        if (handle == nullptr) return refuse(error::no_memory);
        return region<address>{{handle, 0}, size, wanted.align < heap_align ? heap_align : wanted.align};
    }
    /// Releases the heap.
    void release(region<address> held) noexcept { held.base.handle->release(); }

    /// Returns the bytes that this process has allocated on the device, and the size that Metal recommends as the
    /// limit. Fails with no_device.
    [[nodiscard]] result<memory_budget, error> budget() const noexcept { return detail::budget_of(device_); }

private:
    Device* device_;
    std::size_t options_;
};

/// Returns the layout of the block that a buffer of `length` bytes needs in a heap with these options. Returns an
/// invalid layout (size 0) if the device cannot create such a buffer.
template <class Device>
[[nodiscard]] layout buffer_layout(Device* device, std::size_t length, std::size_t options) noexcept {
    if (length == 0 || length > device->maxBufferLength()) return {0, 1};
    const auto needed = device->heapBufferSizeAndAlign(length, options);
    return {needed.size, needed.align};
}

/// Creates a buffer at a block of a heap, with the heap's options. The caller releases the buffer, whose bytes are
/// those of the block and of every other resource placed there. Fails with invalid_layout, too_long, too_small,
/// misaligned or no_memory.
template <class Block>
    requires requires(Block block) { block.address.handle->newBuffer(block.size, std::size_t{}, block.address.offset); }
[[nodiscard]] auto place_buffer(const Block& block, std::size_t length) noexcept {
    auto* const heap = block.address.handle;
    using pointer = decltype(heap->newBuffer(length, std::size_t{}, std::size_t{}));
    using answer = result<pointer, error>;
    if (heap == nullptr || length == 0) return answer::failure(error::invalid_layout);
    const layout needed = buffer_layout(heap->device(), length, heap->resourceOptions());
    if (needed.size == 0) return answer::failure(error::too_long);
    if (needed.size > block.size) return answer::failure(error::too_small);
    if (block.address.offset % needed.align != 0) return answer::failure(error::misaligned);
    const pointer placed = heap->newBuffer(length, heap->resourceOptions(), block.address.offset);
    return placed != nullptr ? answer{placed} : answer::failure(error::no_memory);
}

/// An address in a Metal buffer.
template <class Address>
concept buffer_address = requires(const Address at) {
    { at.handle->contents() } -> std::same_as<void*>;
    at.handle->storageMode();
    { at.offset } -> std::convertible_to<std::size_t>;
};

/// Returns a host pointer to a byte of a buffer, or null for a private buffer.
template <buffer_address Address>
[[nodiscard]] void* contents(Address at) noexcept {
    if (at.handle == nullptr) return nullptr;
    if (static_cast<storage_mode>(at.handle->storageMode()) == storage_mode::private_to_gpu) return nullptr;
    return static_cast<std::byte*>(at.handle->contents()) + at.offset;
}
/// Publishes the host's writes to `size` bytes of a managed buffer. Does nothing for other storage modes.
template <buffer_address Address>
void did_modify(Address at, std::size_t size) noexcept {
    if (at.handle == nullptr) return;
    if (static_cast<storage_mode>(at.handle->storageMode()) == storage_mode::managed)
        at.handle->didModifyRange({at.offset, size});
}
/// Returns a host pointer to the first byte of a block, or null for a private buffer.
template <class Block>
    requires buffer_address<decltype(Block::address)>
[[nodiscard]] void* contents(const Block& block) noexcept {
    return contents(block.address);
}
/// Publishes the host's writes to a block of a managed buffer.
template <class Block>
    requires buffer_address<decltype(Block::address)>
void did_modify(const Block& block) noexcept {
    did_modify(block.address, block.size);
}
/// Returns a host pointer to the first element of a tensor, or null for a private buffer.
template <class Tensor>
    requires buffer_address<typename Tensor::address_type>
[[nodiscard]] void* contents(const Tensor& tensor) noexcept {
    return contents(tensor.address());
}
/// Publishes the host's writes to a tensor in a managed buffer.
template <class Tensor>
    requires buffer_address<typename Tensor::address_type>
void did_modify(const Tensor& tensor) noexcept {
    did_modify(tensor.address(), tensor.size_bytes());
}

}  // namespace metal
}  // namespace v1
}  // namespace allot
