// SPDX-License-Identifier: BSL-1.0
// Copies of tensors in Vulkan's memory: by the host where it sees the memory, and by commands of the caller's.
//
//     allot::copy_tensor(host, visible, allot::vulkan::mapped_copy{memory.device()});
//     …                                                                  // vkBeginCommandBuffer(commands, …)
//     allot::copy_tensor(visible, local, allot::vulkan::command_copy{gpu, commands, buffers});
//     …                                                                  // barrier, end, submit, wait
//
//     host bytes ◄── mapped_copy ──► memory that the host sees ◄── command_copy ──► memory that it does not see
//
// mapped_copy copies at once, and flushes or invalidates where the memory is not coherent: work on the memory was waited
// for before, and later work is submitted after it. Atoms that hold bytes of other tensors too are invalidated before
// they are written, so that flushing them gives back what the device had there; what the host wrote by itself was flushed.
// command_copy only records (vkCmdCopyBuffer): nothing is copied before
// the commands are submitted, in their order, with the barriers that the caller puts around them. Its buffers, made by
// buffer_over for transfers, cover the tensors; bytes that none covers are left to the next way.
//
// Complexity: one call a run. Memory: none. Thread safety: that of the command buffer.
#pragma once

#include <allot/tensor/copy.hpp>
#include <allot/vulkan/bound_buffer.hpp>

#include <cstring>
#include <span>

namespace allot {
inline namespace v1 {
namespace vulkan {

/// Memory whose bytes lie in a VkDeviceMemory.
template <class Memory>
concept vulkan_memory = std::same_as<typename Memory::address_model, handle_offset<VkDeviceMemory>>;

/// Copies for `copy_tensor` between the host and a device's memory, where that is mapped. Other memory is left to the
/// next way.
template <class Device>
class mapped_copy {
    using address = handle_offset<VkDeviceMemory>::address;

public:
    /// `device` outlives it: `memory.device()` of an arena.
    explicit mapped_copy(const Device& device) noexcept : device_{&device} {}

    template <host_memory From, vulkan_memory To>
    [[nodiscard]] copied copy(const void* from, address to, std::size_t bytes) const noexcept {
        void* const mapped = device_->host_pointer(to, bytes);
        if (mapped == nullptr) return copy_path::none;
        if (const VkResult status = device_->invalidate(to, bytes); status != VK_SUCCESS) return answer(status);
        std::memcpy(mapped, from, bytes);
        return answer(device_->flush(to, bytes));
    }
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

/// Records copies for `copy_tensor` between memories of one VkDevice.
class command_copy {
    using address = handle_offset<VkDeviceMemory>::address;

public:
    /// `commands` are being recorded; the buffers stay until they were executed.
    command_copy(const logical_device& gpu, VkCommandBuffer commands, std::span<const bound_buffer> buffers) noexcept
        : gpu_{&gpu}, commands_{commands}, buffers_{buffers} {}

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
