// Tensors in CUDA memory: copies on a stream.
//
//     auto copied = allot::copy_tensor(host, device, allot::cuda::stream_copy{stream});
//     auto moved = allot::copy_tensor(on_gpu_0, on_gpu_1, allot::cuda::stream_copy{stream});    // *moved: peer, or staged
//
// CUDA finds out by itself where an address is (unified addressing: runtime API, "Unified Addressing"), so one way serves
// every memory of its: device, pinned, managed, stream-ordered and mapped ranges of addresses. From device to device bytes
// go directly where one can reach the other (cudaDeviceCanAccessPeer), and otherwise through the host, which the driver
// does and the answer says.
//
// Complexity: one call for a run; from device to device two more. Memory: none. Thread safety: the runtime's.
#pragma once

#include <allot/device/cuda.hpp>
#include <allot/tensor/copy.hpp>

namespace allot::inline v1::cuda {

/// Memory that a device has: its own, or managed.
template <class Memory>
concept memory_of_a_device = pointer_memory<Memory> && (Memory::dl_device == dl_device_type::cuda ||
                                                        Memory::dl_device == dl_device_type::cuda_managed);

/// Copies for `copy_tensor` where a device has one side or both. The stream outlives it, and both sides outlive the work
/// that copies between devices put into the stream.
class stream_copy {
public:
    explicit stream_copy(cudaStream_t stream = nullptr) noexcept : stream_{stream} {}

    template <pointer_memory From, pointer_memory To>
        requires(memory_of_a_device<From> && (memory_of_a_device<To> || host_memory<To>)) ||
                (host_memory<From> && memory_of_a_device<To>)
    [[nodiscard]] copied copy(const void* from, void* to, std::size_t bytes) const noexcept {
        copied path = !memory_of_a_device<From>  ? copy_path::to_device
                      : !memory_of_a_device<To> ? copy_path::from_device
                                                : between_devices(from, to);
        if (!path) return path;
        const cudaError_t error = ::cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_);
        return error == cudaSuccess ? path : refused(error);
    }
    /// The host's bytes are free to be used again; copies between devices are not waited for.
    [[nodiscard]] long finish(copy_path longest) const noexcept {
        if (longest != copy_path::to_device && longest != copy_path::from_device) return 0;
        const cudaError_t error = ::cudaStreamSynchronize(stream_);
        return error == cudaSuccess ? 0 : refused(error).error();
    }

private:
    [[nodiscard]] static copied refused(cudaError_t error) noexcept {
        static_cast<void>(::cudaGetLastError());
        return copied::failure(error);
    }
    [[nodiscard]] static copied between_devices(const void* from, const void* to) noexcept {
        cudaPointerAttributes source{}, target{};
        cudaError_t error = ::cudaPointerGetAttributes(&source, from);
        if (error == cudaSuccess) error = ::cudaPointerGetAttributes(&target, to);
        if (error != cudaSuccess) return refused(error);
        if (source.device == target.device) return copy_path::on_device;
        int reaches = 0;
        error = ::cudaDeviceCanAccessPeer(&reaches, target.device, source.device);
        if (error != cudaSuccess) return refused(error);
        return reaches != 0 ? copy_path::peer : copy_path::staged;
    }

    cudaStream_t stream_;
};

}  // namespace allot::inline v1::cuda
