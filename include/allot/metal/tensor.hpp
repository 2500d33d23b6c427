// SPDX-License-Identifier: BSL-1.0
// metal: copies of tensors in Metal buffers, on a command queue.
//
//     auto copied = allot::copy_tensor(host, buffer, allot::metal::queue_copy{queue});       // an MTL::CommandQueue*
//
//     host ◄──► shared          the host copies after the queue's work is done                      mapped
//     host ──► private, managed a blit from a staging buffer, which gets the host's bytes first     to_device
//     host ◄── private, managed a blit into a staging buffer, followed by a wait                    from_device
//     buffer ──► buffer         a blit in the order of the queue                                    on_device
//
// When to use: to copy tensors between the host and Metal buffers, or between buffers of one device.
// When not to use: in heaps without hazard tracking, unless the caller uses fences.
//
// The code relies on these rules of Metal (developer.apple.com/documentation/metal: MTLBlitCommandEncoder,
// MTLCommandBuffer). On a Mac, offsets and sizes of a blit are multiples of 4: the object leaves other bytes, and
// buffers of another device, to the next method. A command buffer keeps its resources alive until it is done. Blits
// execute in the order of the queue where Metal tracks hazards: by default, but not in a heap. `commandBuffer` and
// `blitCommandEncoder` return autoreleased objects, so that the caller needs an NS::AutoreleasePool.
//
// Complexity: at most seven calls of Metal for each contiguous run.
// Memory: a temporary staging buffer of the run's size if the host cannot access the buffer.
// Thread safety: that of the queue.
#pragma once

#include <allot/metal/memory.hpp>
#include <allot/tensor/copy.hpp>

namespace allot {
inline namespace v1 {
namespace metal {

/// Memory whose bytes are in Metal buffers.
template <class Memory>
concept buffer_memory = buffer_address<typename Memory::address_model::address>;

/// A copy method for `copy_tensor` between the host and buffers, and between buffers of the queue's device.
template <class Queue>
class queue_copy {
public:
    /// Copies on `queue`, which must outlive the object.
    explicit queue_copy(Queue* queue) noexcept : queue_{queue} {}

    /// Copies host bytes to a buffer. The host bytes may be reused when the function returns.
    template <host_memory From, buffer_memory To>
    [[nodiscard]] copied copy(const void* from, typename To::address_model::address to,
                              std::size_t bytes) const noexcept {
        if (!is_here(to)) return copy_path::none;
        if (is_shared(to)) return on_host(contents(to), from, bytes);
        if (!may_blit(to, bytes)) return copy_path::none;
        auto* const staging = queue_->device()->newBuffer(from, bytes, 0);
        if (staging == nullptr) return failed(error::no_memory);
        const error reason = blit(decltype(to){staging, 0}, to, bytes, false);
        staging->release();
        return reason == error::none ? copied{copy_path::to_device} : failed(reason);
    }
    /// Copies bytes of a buffer to the host, and waits.
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
    /// Enqueues a copy between buffers. If the range is unsuitable for a blit and both buffers are shared, the host
    /// copies.
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

    // Waits for all earlier work in the queue and copies on the host.
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
