// SPDX-License-Identifier: BSL-1.0
// vulkan::bound_buffer: a VkBuffer over bytes of a memory, for kernels and transfers that take a buffer and an offset.
//
//     const auto& all = memory.regions()[0];
//     auto buffer = allot::vulkan::buffer_over(memory.device(), all.base, all.size,
//                                            VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
//     if (!buffer) return buffer.error();
//     const std::size_t at = buffer->offset_of(tensor.address());  // in bytes, for a push constant or a VkBufferCopy
//
//     VkDeviceMemory  │        │ tensor │ tensor │         │
//     VkBuffer        │◄ at ──►                            │      one buffer over a region serves all its blocks
//
// When to use: for kernels that address many blocks through one storage buffer.
// When not to use: for buffers with different uses or lifetimes: bind a VkBuffer to each block.
//
// The destructor destroys the VkBuffer. Destroy the object before the memory is released and after all work that uses
// it. Other buffers and images may overlap the same bytes; the program must order their accesses.
//
// The code relies on the rules in bindable_memory.hpp and on one more rule of Vulkan: a buffer requires memory of its
// size, rounded up to its alignment. Regions of device_memory are multiples of 256 bytes and always suffice.
//
// Complexity: three driver calls to create the buffer.
// Memory: 48 bytes.
// Thread safety: none.
#pragma once

#include <allot/vulkan/bindable_memory.hpp>

namespace allot {
inline namespace v1 {
namespace vulkan {

/// An owning, move-only handle of a VkBuffer that is bound to memory.
class bound_buffer {
    using address = handle_offset<VkDeviceMemory>::address;  ///< The address of a block.

public:
    /// Constructs an empty object.
    bound_buffer() noexcept = default;
    /// Takes ownership of a buffer that is bound at `first`. `gpu` must outlive the object.
    bound_buffer(const logical_device& gpu, VkBuffer made, address first, std::size_t size) noexcept
        : gpu_{&gpu}, handle_{made}, first_{first}, size_{size} {}
    /// Moves the buffer. `other` becomes empty.
    bound_buffer(bound_buffer&& other) noexcept { swap(other); }
    /// Swaps the buffers.
    bound_buffer& operator=(bound_buffer&& other) noexcept {
        swap(other);
        return *this;
    }
    /// Destroys the buffer.
    ~bound_buffer() {
        if (handle_ != VkBuffer{}) gpu_->calls.destroy_buffer(gpu_->handle(), handle_, nullptr);
    }

    /// Returns Vulkan's handle, or VK_NULL_HANDLE if the object is empty.
    [[nodiscard]] VkBuffer handle() const noexcept { return handle_; }
    /// Returns the size in bytes.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Returns true if all of these bytes are inside the buffer.
    [[nodiscard]] bool contains(address at, std::size_t size) const noexcept {
        return at.handle == first_.handle && extent{first_.offset, size_}.contains({at.offset, size});
    }
    /// Returns the distance from the buffer's first byte to one of its bytes.
    [[nodiscard]] std::size_t offset_of(address at) const noexcept { return at.offset - first_.offset; }

private:
    void swap(bound_buffer& other) noexcept {
        std::swap(gpu_, other.gpu_);
        std::swap(handle_, other.handle_);
        std::swap(first_, other.first_);
        std::swap(size_, other.size_);
    }

    const logical_device* gpu_ = nullptr;
    VkBuffer handle_ = VK_NULL_HANDLE;
    address first_{};
    std::size_t size_ = 0;
};

/// Creates a buffer over `size` bytes with this usage. Fails like `bind_buffer`, also if the driver requires more than
/// `size` bytes for the buffer, and with the driver's code.
template <class Memory>
[[nodiscard]] result<bound_buffer, VkResult> buffer_over(const Memory& memory,
                                                         handle_offset<VkDeviceMemory>::address first, std::size_t size,
                                                         VkBufferUsageFlags usage) noexcept {
    using answer = result<bound_buffer, VkResult>;
    const logical_device& gpu = memory.gpu();
    if (!gpu) return answer::failure(VK_ERROR_INITIALIZATION_FAILED);
    if (size == 0) return answer::failure(VK_ERROR_VALIDATION_FAILED_EXT);
    VkExternalMemoryBufferCreateInfo external{};
    external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
    external.handleTypes = Memory::external_handles;
    VkBufferCreateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    wanted.pNext = Memory::external_handles == 0 ? nullptr : &external;
    wanted.size = size;
    wanted.usage = usage;
    wanted.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    VkBuffer handle = VK_NULL_HANDLE;
    VkResult status = gpu.calls.create_buffer(gpu.handle(), &wanted, nullptr, &handle);
    if (status != VK_SUCCESS) return answer::failure(status);
    bound_buffer made{gpu, handle, first, size};
    status =
        memory.bind_buffer(handle, block<handle_offset<VkDeviceMemory>::address, no_metadata<Memory>>{first, size});
    if (status != VK_SUCCESS) return answer::failure(status);
    return made;
}

}  // namespace vulkan
}  // namespace v1
}  // namespace allot
