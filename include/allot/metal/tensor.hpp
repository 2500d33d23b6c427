// SPDX-License-Identifier: BSL-1.0
// Tensors in Metal buffers: copies on a command queue.
//
//     auto copied = allot::copy_tensor(host, buffer, allot::metal::queue_copy{queue});       // an MTL::CommandQueue*
//
//     host ◄──► shared          by the host, when the queue's work is done                          mapped
//     host ──► private, managed by a blit out of bytes that Metal takes from the host's at once     to_device
//     host ◄── private, managed by a blit into bytes of Metal's, which is waited for                from_device
//     buffer ──► buffer         by a blit, in the order of the queue                                on_device
//
// Rules of Metal's that this relies on (developer.apple.com/documentation/metal: MTLBlitCommandEncoder, MTLCommandBuffer):
// on a Mac, offsets and sizes of a blit are multiples of 4: other bytes, and buffers of another device, are left to the next
// way. A command buffer keeps what it works on until it is done. Blits are in the order of the queue where Metal tracks
// hazards, which is by default, but not in a heap; elsewhere the caller puts fences.
// `commandBuffer` and `blitCommandEncoder` give objects that an NS::AutoreleasePool of the caller's takes away.
//
// Complexity: for a run up to seven calls, and a copy of its bytes in a buffer of Metal's where the host cannot touch them.
// Thread safety: the queue's.
#pragma once

#include <allot/metal/memory.hpp>
#include <allot/tensor/copy.hpp>

namespace allot {
inline namespace v1 {
namespace metal {

/// Memory whose bytes lie in Metal buffers.
template <class Memory>
concept buffer_memory = buffer_address<typename Memory::address_model::address>;

/// Copies for `copy_tensor` between the host and buffers, and between buffers of the queue's device.
template <class Queue>
class queue_copy {
public:
    explicit queue_copy(Queue* queue) noexcept : queue_{queue} {}

    template <host_memory From, buffer_memory To>
    [[nodiscard]] copied copy(const void* from, typename To::address_model::address to, std::size_t bytes) const noexcept {
        if (!is_here(to)) return copy_path::none;
        if (is_shared(to)) return on_host(contents(to), from, bytes);
        if (!may_blit(to, bytes)) return copy_path::none;
        auto* const staging = queue_->device()->newBuffer(from, bytes, 0);
        if (staging == nullptr) return failed(error::no_memory);
        const error reason = blit(decltype(to){staging, 0}, to, bytes, false);
        staging->release();
        return reason == error::none ? copied{copy_path::to_device} : failed(reason);
    }
    template <buffer_memory From, host_memory To>
    [[nodiscard]] copied copy(typename From::address_model::address from, void* to, std::size_t bytes) const noexcept {
        if (!is_here(from)) return copy_path::none;
        if (is_shared(from)) return on_host(to, contents(from), bytes);
        if (!may_blit(from, bytes)) return copy_path::none;
        auto* const staging = queue_->device()->newBuffer(bytes, std::size_t{0});
        if (staging == nullptr) return failed(error::no_memory);
        const error reason = blit(from, decltype(from){staging, 0}, bytes, true);
        if (reason == error::none) std::memcpy(to, staging->contents(), bytes);
        staging->release();
        return reason == error::none ? copied{copy_path::from_device} : failed(reason);
    }
    template <buffer_memory From, buffer_memory To>
    [[nodiscard]] copied copy(typename From::address_model::address from, typename To::address_model::address to,
                              std::size_t bytes) const noexcept {
        if (!is_here(from) || !is_here(to)) return copy_path::none;
        if (!may_blit(from, bytes) || !may_blit(to, bytes)) {
            if (!is_shared(from) || !is_shared(to)) return copy_path::none;
            return on_host(contents(to), contents(from), bytes);
        }
        const error reason = blit(from, to, bytes, false);
        return reason == error::none ? copied{copy_path::on_device} : failed(reason);
    }

private:
    [[nodiscard]] static copied failed(error reason) noexcept { return copied::failure(static_cast<long>(reason)); }
    template <class Address>
    [[nodiscard]] bool is_here(Address at) const noexcept {
        return at.handle->device() == queue_->device();
    }
    template <class Address>
    [[nodiscard]] static bool is_shared(Address at) noexcept {
        return static_cast<storage_mode>(at.handle->storageMode()) == storage_mode::shared;
    }
    template <class Address>
    [[nodiscard]] static bool may_blit(Address at, std::size_t bytes) noexcept {
        return at.offset % 4 == 0 && bytes % 4 == 0;
    }

    /// The host copies, when all work that was put into the queue before is done.
    [[nodiscard]] copied on_host(void* to, const void* from, std::size_t bytes) const noexcept {
        auto* const commands = queue_->commandBuffer();
        if (commands == nullptr) return failed(error::no_memory);
        commands->commit();
        commands->waitUntilCompleted();
        if (has_failed(*commands)) return failed(error::not_executed);
        std::memcpy(to, from, bytes);
        return copy_path::mapped;
    }
    template <class From, class To>
    [[nodiscard]] error blit(From from, To to, std::size_t bytes, bool wait) const noexcept {
        auto* const commands = queue_->commandBuffer();
        if (commands == nullptr) return error::no_memory;
        auto* const encoder = commands->blitCommandEncoder();
        if (encoder == nullptr) return error::no_memory;
        encoder->copyFromBuffer(from.handle, from.offset, to.handle, to.offset, bytes);
        encoder->endEncoding();
        commands->commit();
        if (!wait) return error::none;
        commands->waitUntilCompleted();
        return has_failed(*commands) ? error::not_executed : error::none;
    }
    template <class Commands>
    [[nodiscard]] static bool has_failed(const Commands& commands) noexcept {
        return static_cast<int>(commands.status()) == 5;  // CommandBufferStatusError
    }

    Queue* queue_;
};

}  // namespace metal
}  // namespace v1
}  // namespace allot
