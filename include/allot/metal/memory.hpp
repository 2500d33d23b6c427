// SPDX-License-Identifier: BSL-1.0
// Metal buffers and heaps (Apple's GPUs): memory with no address, only an MTL::Buffer or an MTL::Heap and a byte offset.
//
//     using memory = allot::metal::buffer<MTL::Device>;
//     allot::arena<memory, allot::best_fit<>> arena{memory{device, MTL::ResourceStorageModePrivate}, 64_MiB};
//     auto x = arena.allocate({.size = 4096, .align = 256});
//     encoder->setBuffer(x.address.handle, x.address.offset, 0);
//
// This is a template over the calls of Metal-cpp's MTL::Device, and includes nothing of Metal's. It ran on no hardware yet:
// it compiles against Metal-cpp's headers, and tests/unit/metal has a stand-in of those calls that enforces Metal's rules.
//
//     device        a region is                a block is                       a kernel gets
//     buffer        one MTL::Buffer            the buffer and a byte offset     setBuffer(handle, offset, index)
//     heap          one MTL::Heap, placement   the heap and a byte offset       a buffer that is placed there
//
// In a heap the caller makes buffers (or textures) where an arena or a plan says, several at one place if their lives do
// not meet: they have the same bytes.
//
//     heap     │ … │◄──────── block ────────►│ … │      what Metal takes for a length, and at which multiples, is said
//                  └ place_buffer(block, n)           by buffer_layout(device, n, options): allocate that
//
// Storage modes are the options' (MTL::ResourceOptions), and say whether the host may touch the bytes by `contents`:
//     shared    host and GPU have the same bytes
//     managed   a copy each: what the host wrote is told by `did_modify`, what the GPU wrote is fetched by the
//               synchronizeResource of a blit encoder
//     private   the GPU's alone: `contents` gives null
// Memoryless is for textures, and refused (11).
//
// Rules of Metal's that this relies on (developer.apple.com/documentation/metal: MTLDevice, MTLBuffer, MTLHeap,
// MTLResource, MTLComputeCommandEncoder; the sentences of its API validation, which ends the program):
//   - A length of 0, or over maxBufferLength, is a mistake ("Cannot create buffer of zero length", "newBufferWith*:length
//     must not exceed"), so neither is asked for. Where there is no memory, the answer is null and no code.
//   - A buffer's offset is a multiple of 256 at most, in the constant address space on a Mac (setBuffer:offset:atIndex:).
//     Offset 0 is one of every number, so a base has 256, and that is all that is known of it: more is refused (10).
//   - What a heap holds lies at multiples of what heapBufferSizeAndAlign or heapTextureSizeAndAlign says for it, with the
//     heap's own storage and cache modes. Offset 0 will do for all of them: a heap's base has every alignment, of which
//     1 MiB is stated here, more than Metal asks for anything.
//   - Metal does not track hazards between what lies in a heap, unless the options say so: the caller puts fences.
//   - Objects are counted. What `new…` gave is released once; a heap lives while a buffer is in it, and both while a command
//     buffer that retains its resources waits.
// The device is the user's, who keeps it alive as long as the arena.
//
// Complexity: two calls of Metal's each, for a heap seven. Memory: none, but whole pages for a heap. Thread safety: Metal's:
// acquire and release may be called from any thread.
#pragma once

#include <allot/address/handle_offset.hpp>
#include <allot/core/device.hpp>

#include <type_traits>

namespace allot {
inline namespace v1 {
namespace metal {

/// Why there is no memory. Metal itself has no codes.
enum class error : int {
    none = 0,
    no_memory = 1,       // Metal gave none
    no_device = 2,       // the device is null
    invalid_layout = 3,  // no bytes, or no alignment
    too_long = 4,        // over maxBufferLength; for a heap, no number of pages
    too_small = 5,       // the block has not the bytes that Metal takes for this length
    misaligned = 10,     // beyond 256, or an offset that is no multiple of what Metal asks
    memoryless = 11,     // for textures only
    not_executed = 12,   // a command buffer ended with an error: metal/tensor.hpp
};

/// MTL::StorageMode, and where MTL::ResourceOptions has it.
enum class storage_mode : unsigned char { shared = 0, managed = 1, private_to_gpu = 2, memoryless = 3 };
[[nodiscard]] constexpr storage_mode storage_mode_of(std::size_t options) noexcept {
    return static_cast<storage_mode>(options >> 4 & 15);
}

/// What bases are known to be multiples of.
inline constexpr std::size_t base_align = 256, heap_align = std::size_t{1} << 20;

namespace detail {

template <class Device>
using buffer_type = std::remove_pointer_t<decltype(std::declval<Device&>().newBuffer(std::size_t{1}, std::size_t{0}))>;
template <class Device>
using heap_type = std::remove_pointer_t<decltype(std::declval<Device&>().newHeap(nullptr))>;

template <class Device, class Heap, class Descriptor>
Descriptor descriptor_of(Heap* (Device::*)(const Descriptor*));
template <class Device, class Heap, class Descriptor>
Descriptor descriptor_of(Heap* (Device::*)(const Descriptor*) const);
/// What newHeap takes.
template <class Device>
using heap_descriptor_type = decltype(descriptor_of(&Device::newHeap));

}  // namespace detail

/// Buffers of `Device`, which is MTL::Device.
template <class Device>
class buffer {
public:
    using address_model = handle_offset<detail::buffer_type<Device>*>;
    using address = typename address_model::address;
    using error = metal::error;
    static constexpr bool host_accessible = false;  // by pointers: `contents` gives one where there is one
    static constexpr offset_use offsets = offset_use::carried;
    static constexpr std::size_t min_align = base_align;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = dl_device_type::metal;

    /// With MTL::ResourceOptions; without them, shared.
    explicit buffer(Device* device, std::size_t options = 0) noexcept : device_{device}, options_{options} {}

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
    void release(region<address> held) noexcept { held.base.handle->release(); }

private:
    Device* device_;
    std::size_t options_;
};

/// Heaps of `Device`, which is MTL::Device, in which the caller places buffers and textures.
template <class Device>
class heap {
public:
    using address_model = handle_offset<detail::heap_type<Device>*>;
    using address = typename address_model::address;
    using error = metal::error;
    static constexpr bool host_accessible = false;
    static constexpr offset_use offsets = offset_use::carried;
    static constexpr std::size_t min_align = heap_align;
    static constexpr std::size_t granularity = 16 * 1024;  // a page of Apple's
    static constexpr dl_device_type dl_device = dl_device_type::metal;

    /// With MTL::ResourceOptions, which everything in the heap has. (Macs with other GPUs than Apple's have private heaps
    /// only.)
    heap(Device* device, std::size_t options) noexcept : device_{device}, options_{options} {}

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
    void release(region<address> held) noexcept { held.base.handle->release(); }

private:
    Device* device_;
    std::size_t options_;
};

/// What a buffer of this length takes in a heap of these options: allocate it there. No layout where there can be no
/// such buffer.
template <class Device>
[[nodiscard]] layout buffer_layout(Device* device, std::size_t length, std::size_t options) noexcept {
    if (length == 0 || length > device->maxBufferLength()) return {0, 1};
    const auto needed = device->heapBufferSizeAndAlign(length, options);
    return {needed.size, needed.align};
}

/// A buffer at a block of a heap's, with the heap's options, or why there is none. It is the caller's, to be released; its
/// bytes are the block's, and those of every other buffer placed there.
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

/// The name of a byte in a Metal buffer.
template <class Address>
concept buffer_address = requires(const Address at) {
    { at.handle->contents() } -> std::same_as<void*>;
    at.handle->storageMode();
    { at.offset } -> std::convertible_to<std::size_t>;
};

/// Where the host may touch a byte of a buffer; null where it may not, which is in private ones.
template <buffer_address Address>
[[nodiscard]] void* contents(Address at) noexcept {
    if (at.handle == nullptr) return nullptr;
    if (static_cast<storage_mode>(at.handle->storageMode()) == storage_mode::private_to_gpu) return nullptr;
    return static_cast<std::byte*>(at.handle->contents()) + at.offset;
}
/// The host wrote `size` bytes there. Managed buffers have to be told; for others this does nothing.
template <buffer_address Address>
void did_modify(Address at, std::size_t size) noexcept {
    if (at.handle == nullptr) return;
    if (static_cast<storage_mode>(at.handle->storageMode()) == storage_mode::managed)
        at.handle->didModifyRange({at.offset, size});
}
template <class Block>
    requires buffer_address<decltype(Block::address)>
[[nodiscard]] void* contents(const Block& block) noexcept {
    return contents(block.address);
}
template <class Block>
    requires buffer_address<decltype(Block::address)>
void did_modify(const Block& block) noexcept {
    did_modify(block.address, block.size);
}
template <class Tensor>
    requires buffer_address<typename Tensor::address_type>
[[nodiscard]] void* contents(const Tensor& tensor) noexcept {
    return contents(tensor.address());
}
template <class Tensor>
    requires buffer_address<typename Tensor::address_type>
void did_modify(const Tensor& tensor) noexcept {
    did_modify(tensor.address(), tensor.size_bytes());
}

}  // namespace metal
}  // namespace v1
}  // namespace allot
