// SPDX-License-Identifier: BSL-1.0
// vulkan: copies of tensors in Vulkan's memory, by the host in mapped memory or by commands that the caller submits.
//
//     allot::copy_tensor(host, visible, allot::vulkan::mapped_copy{memory.device()});
//     …                                                                  // vkBeginCommandBuffer(commands, …)
//     allot::copy_tensor(visible, local, allot::vulkan::command_copy{gpu, commands, buffers});
//     …                                                                  // barrier, end, submit, wait
//
//     host bytes ◄── mapped_copy ──► host-visible memory ◄── command_copy ──► other device memory
//
// When to use: mapped_copy for host-visible memory; command_copy for memory of one VkDevice.
// When not to use: for images, record vkCmdCopyBufferToImage.
//
// mapped_copy copies immediately, and calls flush or invalidate if the memory is not coherent. Before the copy, the
// program must wait for earlier work on the memory; later work must be submitted after it. An atom may contain bytes of
// other tensors. Therefore mapped_copy invalidates atoms before it writes to them, so that a flush preserves the
// device's bytes. The program must flush its own earlier writes to such atoms.
//
// command_copy only records vkCmdCopyBuffer. The copy happens when the caller submits the commands, in their order and
// with the caller's barriers. The `buffers`, created by buffer_over with transfer usage, must cover the tensors; other
// bytes are left to the next method.
//
// Complexity: one call for each contiguous run.
// Memory: no overhead.
// Thread safety: that of the command buffer.
#pragma once

#include <allot/tensor/copy.hpp>
#include <allot/vulkan/bound_buffer.hpp>

#include <cstring>
#include <span>

namespace allot {
inline namespace v1 {
namespace vulkan {

/// Memory whose bytes are in a VkDeviceMemory.
template <class Memory>
concept vulkan_memory = std::same_as<typename Memory::address_model, handle_offset<VkDeviceMemory>>;

/// A copy method for `copy_tensor` between the host and mapped memory of `Device`. Leaves other memory to the next
/// method.
template <class Device>
class mapped_copy {
    using address = handle_offset<VkDeviceMemory>::address;

public:
    /// Copies to and from memory of `device`, for example `memory.device()` of an arena. `device` must outlive the
    /// object.
    explicit mapped_copy(const Device& device) noexcept : device_{&device} {}

    /// Copies host bytes to mapped memory.
    template <host_memory From, vulkan_memory To>
    [[nodiscard]] copied copy(const void* from, address to, std::size_t bytes) const noexcept {
        void* const mapped = device_->host_pointer(to, bytes);
        if (mapped == nullptr) return copy_path::none;
        if (const VkResult status = device_->invalidate(to, bytes); status != VK_SUCCESS) return answer(status);
        std::memcpy(mapped, from, bytes);
        return answer(device_->flush(to, bytes));
    }
    /// Copies bytes of mapped memory to the host.
    template <vulkan_memory From, host_memory To>
    [[nodiscard]] copied copy(address from, void* to, std::size_t bytes) const noexcept {
        const void* const mapped = device_->host_pointer(from, bytes);
        if (mapped == nullptr) return copy_path::none;
        const copied seen = answer(device_->invalidate(from, bytes));
        if (seen) std::memcpy(to, mapped, bytes);
        return seen;
    }

private:
    [[nodiscard]] static copied answer(VkResult status) noexcept {
        return status == VK_SUCCESS ? copied{copy_path::mapped} : copied::failure(status);
    }

    const Device* device_;
};

/// A copy method for `copy_tensor` between memories of one VkDevice. Records commands.
class command_copy {
    using address = handle_offset<VkDeviceMemory>::address;

public:
    /// Records to `commands`, which must be in the recording state. The buffers must live until the commands are
    /// executed.
    command_copy(const logical_device& gpu, VkCommandBuffer commands, std::span<const bound_buffer> buffers) noexcept
        : gpu_{&gpu}, commands_{commands}, buffers_{buffers} {}

    /// Records a copy. Leaves bytes that no buffer covers to the next method.
    template <vulkan_memory From, vulkan_memory To>
    [[nodiscard]] copied copy(address from, address to, std::size_t bytes) const noexcept {
        const bound_buffer *const source = over(from, bytes), *const target = over(to, bytes);
        if (source == nullptr || target == nullptr) return copy_path::none;
        const VkBufferCopy all{source->offset_of(from), target->offset_of(to), bytes};
        gpu_->calls.copy_buffer(commands_, source->handle(), target->handle(), 1, &all);
        return copy_path::on_device;
    }

private:
    [[nodiscard]] const bound_buffer* over(address at, std::size_t bytes) const noexcept {
        for (const bound_buffer& each : buffers_) {
            if (each.contains(at, bytes)) return &each;
        }
        return nullptr;
    }

    const logical_device* gpu_;
    VkCommandBuffer commands_;
    std::span<const bound_buffer> buffers_;
};

}  // namespace vulkan
}  // namespace v1
}  // namespace allot
