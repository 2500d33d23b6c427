// SPDX-License-Identifier: BSL-1.0
// bound_buffer: a VkBuffer over bytes of a memory, for what takes buffers and offsets: kernels and transfers.
//
//     const auto& all = memory.regions()[0];
//     auto buffer = allot::vulkan::buffer_over(memory.device(), all.base, all.size, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
//     if (!buffer) return buffer.error();
//     const std::size_t at = buffer->offset_of(tensor.address());      // in bytes, for a push constant or a VkBufferCopy
//
//     VkDeviceMemory  │        │ tensor │ tensor │         │
//     VkBuffer        │◄ at ──►                            │      one over a region serves all blocks in it
//
// It is destroyed with this object, before the memory goes back and once no work uses it any more. Other buffers and
// images may lie over the same bytes; who uses which when is the program's to order.
//
// Rules of Vulkan's that this relies on: those of vulkan_allocations.hpp; and a buffer's memory is as large as the
// buffer, rounded up to its alignment. Regions of device_memory are whole multiples of 256 bytes and always suffice.
//
// Complexity: three driver calls. Memory: 48 bytes. Thread safety: none.
#pragma once

#include <allot/vulkan/bindable_memory.hpp>

namespace allot {
inline namespace v1 {
namespace vulkan {

class bound_buffer {
    using address = handle_offset<VkDeviceMemory>::address;

public:
    bound_buffer() noexcept = default;
    bound_buffer(const logical_device& gpu, VkBuffer made, address first, std::size_t size) noexcept
        : gpu_{&gpu}, handle_{made}, first_{first}, size_{size} {}
    bound_buffer(bound_buffer&& other) noexcept { swap(other); }
    bound_buffer& operator=(bound_buffer&& other) noexcept {
        swap(other);
        return *this;
    }
    ~bound_buffer() {
        if (handle_ != VkBuffer{}) gpu_->calls.destroy_buffer(gpu_->handle(), handle_, nullptr);
    }

    [[nodiscard]] VkBuffer handle() const noexcept { return handle_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// True when all of these bytes lie in the buffer.
    [[nodiscard]] bool contains(address at, std::size_t size) const noexcept {
        return at.handle == first_.handle && extent{first_.offset, size_}.contains({at.offset, size});
    }
    /// How far behind the buffer's first byte one of its bytes lies.
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

/// A buffer over `size` bytes, for these uses. Refused as `bind_buffer` is, also where the driver needs more bytes for it
/// than there are, and with the driver's code.
template <class Memory>
[[nodiscard]] result<bound_buffer, VkResult> buffer_over(const Memory& memory, handle_offset<VkDeviceMemory>::address first,
                                                         std::size_t size, VkBufferUsageFlags usage) noexcept {
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
    status = memory.bind_buffer(handle, block<handle_offset<VkDeviceMemory>::address, no_metadata<Memory>>{first, size});
    if (status != VK_SUCCESS) return answer::failure(status);
    return made;
}

}  // namespace vulkan
}  // namespace v1
}  // namespace allot
