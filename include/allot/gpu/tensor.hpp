// SPDX-License-Identifier: BSL-1.0
// Tensors in memory of CUDA's or HIP's: copies on a stream. Programs include cuda/tensor.hpp or hip/tensor.hpp.
//
//     auto copied = allot::copy_tensor(host, device, allot::cuda::stream_copy{stream});
//     auto moved = allot::copy_tensor(on_gpu_0, on_gpu_1, allot::cuda::stream_copy{stream});    // *moved: peer, or staged
//
// The runtime finds out by itself where an address is (unified addressing), so one way serves every memory of its: device,
// pinned, managed, stream-ordered and mapped ranges of addresses. From device to device bytes go directly where one can
// reach the other (can_access_peer), and otherwise through the host, which the runtime does and the answer says.
//
// Complexity: one call for a run; from device to device three more. Memory: none. Thread safety: the runtime's.
#pragma once

#include <allot/gpu/runtime.hpp>
#include <allot/tensor/copy.hpp>

namespace allot {
inline namespace v1 {
namespace gpu {

/// Memory that a runtime's device has: its own, or managed.
template <class Memory, class Runtime>
concept memory_of_a_device =
    pointer_memory<Memory> && (Memory::dl_device == Runtime::dl_memory || Memory::dl_device == Runtime::dl_managed);

/// Copies for `copy_tensor` where a device has one side or both. The stream outlives it, and both sides outlive the work
/// that copies between devices put into the stream.
template <runtime Runtime>
class stream_copy {
public:
    using error_type = typename Runtime::error;
    using stream_type = typename Runtime::stream;

    explicit stream_copy(stream_type stream = nullptr) noexcept : stream_{stream} {}

    template <pointer_memory From, pointer_memory To>
        requires(memory_of_a_device<From, Runtime> && (memory_of_a_device<To, Runtime> || host_memory<To>)) ||
                (host_memory<From> && memory_of_a_device<To, Runtime>)
    [[nodiscard]] copied copy(const void* from, void* to, std::size_t bytes) const noexcept {
        copied path = !memory_of_a_device<From, Runtime> ? copy_path::to_device
                      : !memory_of_a_device<To, Runtime> ? copy_path::from_device
                                                         : between_devices(from, to);
        if (!path) return path;
        const error_type error = Runtime::memcpy_async(to, from, bytes, stream_);
        return error == Runtime::success ? path : refused(error);
    }
    /// The host's bytes are free to be used again; copies between devices are not waited for.
    [[nodiscard]] long finish(copy_path longest) const noexcept {
        if (longest != copy_path::to_device && longest != copy_path::from_device) return 0;
        const error_type error = Runtime::stream_synchronize(stream_);
        return error == Runtime::success ? 0 : refused(error).error();
    }

private:
    [[nodiscard]] static copied refused(error_type error) noexcept {
        static_cast<void>(Runtime::get_last_error());
        return copied::failure(error);
    }
    [[nodiscard]] static copied between_devices(const void* from, const void* to) noexcept {
        int source = 0, target = 0, reaches = 0;
        error_type error = Runtime::get_device_of(from, &source);
        if (error == Runtime::success) error = Runtime::get_device_of(to, &target);
        if (error != Runtime::success) return refused(error);
        if (source == target) return copy_path::on_device;
        error = Runtime::can_access_peer(&reaches, target, source);
        if (error != Runtime::success) return refused(error);
        return reaches != 0 ? copy_path::peer : copy_path::staged;
    }

    stream_type stream_;
};

}  // namespace gpu
}  // namespace v1
}  // namespace allot
