// SPDX-License-Identifier: BSL-1.0
// gpu::stream_copy: copies of tensors in memory of the CUDA and HIP runtimes, on a stream.
//
//     auto copied = allot::copy_tensor(host, device, allot::cuda::stream_copy{stream});
//     auto moved = allot::copy_tensor(on_gpu_0, on_gpu_1, allot::cuda::stream_copy{stream});  // *moved: peer or staged
//
// When to use: through cuda/tensor.hpp or hip/tensor.hpp.
// When not to use: by including this header directly.
//
// Unified addressing lets the runtime find the memory of an address. Therefore one way serves all of its memories:
// device, pinned, managed, stream-ordered, and mapped ranges of addresses. Between devices, the bytes go directly if
// one device can access the other (can_access_peer). Otherwise the runtime copies through the host. The returned path
// reports the case.
//
// Complexity: one runtime call for each contiguous run; three more between devices.
// Memory: no overhead.
// Thread safety: that of the runtime.
#pragma once

#include <allot/gpu/runtime.hpp>
#include <allot/tensor/copy.hpp>

namespace allot {
inline namespace v1 {
namespace gpu {

/// Memory that a GPU owns or shares: device memory and managed memory of a runtime.
template <class Memory, class Runtime>
concept memory_of_a_device =
    pointer_memory<Memory> && (Memory::dl_device == Runtime::dl_memory || Memory::dl_device == Runtime::dl_managed);

/// A copy method for `copy_tensor` with device memory on one side or on both. The stream must outlive the object. After
/// a copy between devices, both tensors must live until the stream has executed the copy.
template <runtime Runtime>
class stream_copy {
public:
    /// The runtime's error type.
    using error_type = typename Runtime::error;
    /// The runtime's stream type.
    using stream_type = typename Runtime::stream;

    /// Copies on `stream`. The default is the runtime's default stream.
    explicit stream_copy(stream_type stream = nullptr) noexcept : stream_{stream} {}

    /// Enqueues a copy. Returns its path, or the runtime's error.
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
    /// Waits for the stream if host memory takes part in the copy; does not wait for copies between devices. Returns 0
    /// or the runtime's error.
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
