// CUDA memory: on the device, pinned on the host, managed by both, and in the order of a stream.
//
//     allot::arena<allot::cuda::device_memory, allot::best_fit<>> memory{allot::cuda::device_memory{0}, 64_MiB};
//     auto x = memory.allocate({.size = 4096, .align = 256});
//     kernel<<<1, 32>>>(static_cast<float*>(x.address));       // an address: offsets are added to it
//
//     device               from                 the host may touch it    given back by
//     device_memory        cudaMalloc           no                       cudaFree, which waits for the device
//     pinned               cudaMallocHost       yes                      cudaFreeHost
//     managed              cudaMallocManaged    yes                      cudaFree
//     async_memory         cudaMallocAsync      no                       cudaFreeAsync, in the order of its stream
//
// Rules of CUDA's that this relies on (programming guide, "Device Memory Accesses", "Unified Memory", "Stream-Ordered
// Memory Allocator"; runtime API reference, "Error Handling", "Memory Management"):
//   - Every address that an allocation function returns is a multiple of 256. What comes back otherwise is refused.
//   - A greater alignment is not CUDA's to give: more is taken, and the base lies inside. How far inside is not kept
//     anywhere; a region's size says it.
//
//         CUDA's address ──►│ skipped │◄───────── size ─────────►│      skipped + size: the least multiple of `align`
//                                     └ base, a multiple of `align`    that is not below `size`
//
//   - cudaMalloc serves the thread's current device. A device_memory is of one device: it makes that one current, and
//     then the old one again. Where the old one is current already, nothing is switched and no context is made.
//   - A call that fails leaves its code for cudaGetLastError to find. `acquire` takes it away again, so that nobody
//     takes it for a kernel's; `diagnose` has it. (Errors that stay, as after a fault of a kernel, stay.) `release`
//     cannot answer: what it meets is left for cudaGetLastError.
//   - Managed memory may be touched by the host while the device works only where cudaDevAttrConcurrentManagedAccess
//     is 1. Elsewhere, and to keep its pages where the device has them, keep records out of it:
//     `.store = node_store::side_table`.
//   - Memory in the order of a stream may be used by work on that stream after `acquire` and before `release`, and
//     elsewhere once the stream was waited for. An arena over it gives freed bytes out again at once, so all work on
//     its blocks goes to the one stream. The stream outlives the arena.
//
// Needs <cuda_runtime_api.h> and libcudart: the CMake target allot::cuda brings them. No nvcc is needed. Without a
// driver everything is refused with the driver's code (35, cudaErrorInsufficientDriver, or 100, cudaErrorNoDevice).
//
// Complexity: one call of the runtime's each, for device_memory at most four. Memory: none, but up to the alignment
// where that is above 256. Thread safety: the runtime's: acquire and release may be called from any thread.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>

#include <cuda_runtime_api.h>

namespace allot::inline v1::cuda {

/// What every address that CUDA gives is a multiple of.
inline constexpr std::size_t base_align = 256;

/// One device is the thread's current one while this lives.
class current_device {
public:
    explicit current_device(int device) noexcept : error_{::cudaGetDevice(&before_)} {
        if (error_ != cudaSuccess || before_ == device) return;
        error_ = ::cudaSetDevice(device);
        switched_ = error_ == cudaSuccess;
    }
    current_device(const current_device&) = delete;
    current_device& operator=(const current_device&) = delete;
    ~current_device() {
        if (switched_) static_cast<void>(::cudaSetDevice(before_));
    }

    [[nodiscard]] cudaError_t error() const noexcept { return error_; }

private:
    int before_ = 0;
    bool switched_ = false;
    cudaError_t error_;
};

/// The failure that an error of the runtime's is, taken from where cudaGetLastError would find it.
template <class Device>
[[nodiscard]] acquired<Device> refused(cudaError_t error) noexcept {
    static_cast<void>(::cudaGetLastError());
    return acquired<Device>::failure(error);
}

/// A region of what `take(&address, size)` gives, aligned as asked. What is no multiple of 256 goes to `give_back`.
template <class Device, class Take, class GiveBack>
[[nodiscard]] acquired<Device> acquire_by(layout wanted, Take&& take, GiveBack&& give_back) noexcept {
    if (!wanted.is_valid()) return acquired<Device>::failure(cudaErrorInvalidValue);
    const std::size_t align = wanted.align < base_align ? base_align : wanted.align;
    std::size_t whole = wanted.size;
    if (align > base_align && !(checked_add(whole, align - base_align, whole) && checked_align_up(whole, align, whole)))
        return acquired<Device>::failure(cudaErrorMemoryAllocation);
    void* address = nullptr;
    if (const cudaError_t error = take(&address, whole); error != cudaSuccess) return refused<Device>(error);
    const std::size_t from = raw_pointer::position(address);
    if (from % base_align != 0) {
        give_back(address);
        return acquired<Device>::failure(cudaErrorMisalignedAddress);
    }
    const std::size_t skipped = (std::size_t{0} - from) & (align - 1);
    return region<void*>{raw_pointer::locate(address, skipped), whole - skipped, align};
}

/// The address that CUDA gave for a region of `acquire_by`.
[[nodiscard]] inline void* given_address(region<void*> held) noexcept {
    if (held.align == base_align) return held.base;
    return static_cast<std::byte*>(held.base) - (align_up(held.size, held.align) - held.size);
}

/// Memory of one device, by its ordinal.
class device_memory {
public:
    using address_model = raw_pointer;
    using error = cudaError_t;
    static constexpr bool host_accessible = false;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = base_align;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = dl_device_type::cuda;

    explicit device_memory(int device = 0) noexcept : device_{device} {}

    [[nodiscard]] acquired<device_memory> acquire(layout wanted) noexcept {
        const current_device there{device_};
        if (there.error() != cudaSuccess) return refused<device_memory>(there.error());
        return acquire_by<device_memory>(
            wanted, [](void** address, std::size_t size) { return ::cudaMalloc(address, size); },
            [](void* address) { static_cast<void>(::cudaFree(address)); });
    }
    void release(region<void*> held) noexcept {
        const current_device there{device_};
        static_cast<void>(::cudaFree(given_address(held)));
    }

    /// The device's ordinal, as cudaSetDevice counts.
    [[nodiscard]] int device() const noexcept { return device_; }

private:
    int device_;
};

/// Memory of the host that is locked in place, so that devices copy from it and to it by themselves. Every device may
/// use it by the same address.
class pinned {
public:
    using address_model = raw_pointer;
    using error = cudaError_t;
    static constexpr bool host_accessible = true;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = base_align;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = dl_device_type::cuda_host;

    [[nodiscard]] acquired<pinned> acquire(layout wanted) noexcept {
        return acquire_by<pinned>(
            wanted, [](void** address, std::size_t size) { return ::cudaMallocHost(address, size); },
            [](void* address) { static_cast<void>(::cudaFreeHost(address)); });
    }
    void release(region<void*> held) noexcept { static_cast<void>(::cudaFreeHost(given_address(held))); }
};

/// Memory whose pages go to whoever touches them, the host or a device.
class managed {
public:
    using address_model = raw_pointer;
    using error = cudaError_t;
    static constexpr bool host_accessible = true;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = base_align;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = dl_device_type::cuda_managed;

    [[nodiscard]] acquired<managed> acquire(layout wanted) noexcept {
        return acquire_by<managed>(
            wanted,
            [](void** address, std::size_t size) { return ::cudaMallocManaged(address, size, cudaMemAttachGlobal); },
            [](void* address) { static_cast<void>(::cudaFree(address)); });
    }
    void release(region<void*> held) noexcept { static_cast<void>(::cudaFree(given_address(held))); }
};

/// Memory of a stream's device, acquired and released in the order of that stream.
class async_memory {
public:
    using address_model = raw_pointer;
    using error = cudaError_t;
    static constexpr bool host_accessible = false;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = base_align;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = dl_device_type::cuda;

    explicit async_memory(cudaStream_t stream) noexcept : stream_{stream} {}

    [[nodiscard]] acquired<async_memory> acquire(layout wanted) noexcept {
        return acquire_by<async_memory>(
            wanted, [this](void** address, std::size_t size) { return ::cudaMallocAsync(address, size, stream_); },
            [this](void* address) { static_cast<void>(::cudaFreeAsync(address, stream_)); });
    }
    void release(region<void*> held) noexcept { static_cast<void>(::cudaFreeAsync(given_address(held), stream_)); }

    [[nodiscard]] cudaStream_t stream() const noexcept { return stream_; }

private:
    cudaStream_t stream_;
};

static_assert(device<device_memory> && device<pinned> && device<managed> && device<async_memory>);

}  // namespace allot::inline v1::cuda
