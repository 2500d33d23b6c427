// SPDX-License-Identifier: BSL-1.0
// OpenCL shared virtual memory: addresses that mean the same on the host and on the device.
//
//     allot::arena<allot::opencl::fine_svm, allot::best_fit<>> shared{{context, device}, 64_MiB};
//     auto x = shared.allocate({.size = 4096, .align = 64});          // the host may write x, and a kernel too
//     allot::opencl::set_arg(kernel, 0, x);                           // one argument: a pointer, already moved
//
//     allot::arena<allot::opencl::coarse_svm, allot::best_fit<>> memory{{context, device}, 64_MiB};
//     auto y = memory.allocate({.size = 4096, .align = 64});
//     if (auto mapped = allot::opencl::map(queue, y)) use(mapped->bytes());      // unmapped where `mapped` ends
//
//     fine      the host may touch the bytes at any time; writes of both sides meet at synchronisation points
//     coarse    the host may touch them between map and unmap only, so the library keeps its records beside them
//
// What is relied on of the driver, from the OpenCL specification (clSVMAlloc, clEnqueueSVMMap, clEnqueueSVMUnmap): the
// size is at most CL_DEVICE_MAX_MEM_ALLOC_SIZE; alignments up to the size of the largest built-in type are served, 128
// bytes for long16, 64 for int16 on embedded devices, and greater ones only where the driver likes: PoCL gives nothing
// beyond 128. clSVMAlloc answers with a null pointer and no code. clSVMFree does not wait for kernels: a region goes
// back when nothing that is enqueued uses it. Drivers before OpenCL 2.0 have no SVM: then every request is refused.
//
// Complexity: a driver call a region. Memory: none of its own. Thread safety: as the driver's, from any thread.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/copy_path.hpp>
#include <allot/opencl/buffer.hpp>

#include <span>
#include <utility>

namespace allot {
inline namespace v1 {
namespace opencl {

enum class svm_grain : unsigned char { coarse, fine };

template <svm_grain Grain>
class svm {
    static constexpr bool fine = Grain == svm_grain::fine;
    static constexpr std::size_t largest_type = 128;  // long16

public:
    using address_model = raw_pointer;
    using error = cl_int;
    static constexpr bool host_accessible = fine;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    // DLPack's OpenCL means a cl_mem. What the host may touch at any time is its memory as well.
    static constexpr dl_device_type dl_device = fine ? dl_device_type::cpu : dl_device_type::ext_dev;

    /// Memory that `context` shares with the host, within the limits of `device`. The grain is not among the flags;
    /// CL_MEM_SVM_ATOMICS may be.
    svm(cl::Context context, const cl::Device& device, cl_svm_mem_flags flags = CL_MEM_READ_WRITE)
        : context_{std::move(context)}, flags_{flags | (fine ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0)} {
        cl_device_svm_capabilities has = 0;
        cl_ulong most = 0;
        ::clGetDeviceInfo(device(), CL_DEVICE_SVM_CAPABILITIES, sizeof has, &has, nullptr);
        ::clGetDeviceInfo(device(), CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, nullptr);
        if ((has & (fine ? CL_DEVICE_SVM_FINE_GRAIN_BUFFER : CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) != 0) largest_ = most;
    }

    /// Whether the device has this kind of memory.
    [[nodiscard]] bool is_supported() const noexcept { return largest_ != 0; }

    /// Refused with CL_INVALID_OPERATION (-59) where the device has no such memory; CL_INVALID_BUFFER_SIZE (-61) for a
    /// size of 0 or over the device's limit; CL_INVALID_VALUE (-30) for an alignment that is no power of two, or is
    /// beyond 128 and not served; CL_MEM_OBJECT_ALLOCATION_FAILURE (-4) otherwise.
    [[nodiscard]] acquired<svm> acquire(layout wanted) noexcept {
        if (!is_supported()) return acquired<svm>::failure(CL_INVALID_OPERATION);
        if (wanted.size == 0 || wanted.size > largest_) return acquired<svm>::failure(CL_INVALID_BUFFER_SIZE);
        if (!is_alignment(wanted.align) || wanted.align > std::numeric_limits<cl_uint>::max())
            return acquired<svm>::failure(CL_INVALID_VALUE);
        const std::size_t align = wanted.align < min_align ? min_align : wanted.align;
        void* const base = ::clSVMAlloc(context_(), flags_, wanted.size, static_cast<cl_uint>(align));
        if (base == nullptr)
            return acquired<svm>::failure(align > largest_type ? CL_INVALID_VALUE : CL_MEM_OBJECT_ALLOCATION_FAILURE);
        return region<void*>{base, wanted.size, align};
    }
    void release(region<void*> held) noexcept { ::clSVMFree(context_(), held.base); }

private:
    cl::Context context_;
    cl_svm_mem_flags flags_;
    cl_ulong largest_ = 0;
};

using coarse_svm = svm<svm_grain::coarse>;
using fine_svm = svm<svm_grain::fine>;

static_assert(device<coarse_svm> && device<fine_svm> && !bounded_device<fine_svm>);

/// Sets one kernel argument, a pointer to shared virtual memory. Returns OpenCL's code.
[[nodiscard]] inline cl_int set_arg(cl::Kernel& kernel, cl_uint index, const void* shared) noexcept {
    return ::clSetKernelArgSVMPointer(kernel(), index, shared);
}
template <class Block>
    requires std::same_as<decltype(Block::address), void*>
[[nodiscard]] cl_int set_arg(cl::Kernel& kernel, cl_uint index, const Block& block) noexcept {
    return set_arg(kernel, index, static_cast<const void*>(block.address));
}
template <class Tensor>
    requires std::same_as<typename Tensor::address_type, void*>
[[nodiscard]] cl_int set_arg(cl::Kernel& kernel, cl_uint index, const Tensor& tensor) noexcept {
    return set_arg(kernel, index, static_cast<const void*>(tensor.data()));
}

/// Shared bytes while the host may touch them. Move-only; unmapped at its end, in the order of the queue.
class svm_mapping {
public:
    svm_mapping() noexcept = default;
    svm_mapping(cl::CommandQueue queue, void* first, std::size_t size) noexcept
        : queue_{std::move(queue)}, bytes_{static_cast<std::byte*>(first), size} {}
    svm_mapping(svm_mapping&& other) noexcept
        : queue_{std::move(other.queue_)}, bytes_{std::exchange(other.bytes_, {})} {}
    svm_mapping& operator=(svm_mapping&& other) noexcept {
        std::swap(queue_, other.queue_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~svm_mapping() { static_cast<void>(unmap()); }

    /// Empty when it was unmapped.
    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
    /// Ends it early. Returns OpenCL's code.
    cl_int unmap() noexcept {
        if (bytes_.empty()) return CL_SUCCESS;
        return ::clEnqueueSVMUnmap(queue_(), std::exchange(bytes_, {}).data(), 0, nullptr, nullptr);
    }

private:
    cl::CommandQueue queue_;
    std::span<std::byte> bytes_;
};

/// Waits until the host may touch `size` bytes from `first` on. Refused with the driver's code.
[[nodiscard]] inline cl_result<svm_mapping> map(const cl::CommandQueue& queue, void* first, std::size_t size,
                                                cl_map_flags flags = CL_MAP_READ | CL_MAP_WRITE) noexcept {
    if (size == 0) return cl_result<svm_mapping>::failure(CL_INVALID_VALUE);
    const cl_int status = ::clEnqueueSVMMap(queue(), CL_TRUE, flags, first, size, 0, nullptr, nullptr);
    if (status != CL_SUCCESS) return cl_result<svm_mapping>::failure(status);
    return svm_mapping{queue, first, size};
}
template <class Block>
    requires std::same_as<decltype(Block::address), void*>
[[nodiscard]] cl_result<svm_mapping> map(const cl::CommandQueue& queue, const Block& block,
                                         cl_map_flags flags = CL_MAP_READ | CL_MAP_WRITE) noexcept {
    return map(queue, block.address, block.size, flags);
}

/// Copies for `copy_tensor` between shared memory and shared memory or the host's. The bytes are there when it returns.
class svm_copy {
public:
    explicit svm_copy(cl::CommandQueue queue) noexcept : queue_{std::move(queue)} {}

    template <pointer_memory From, pointer_memory To>
    [[nodiscard]] copied copy(const void* from, void* to, std::size_t bytes) const noexcept {
        const cl_int status = ::clEnqueueSVMMemcpy(queue_(), CL_TRUE, to, from, bytes, 0, nullptr, nullptr);
        if (status != CL_SUCCESS) return copied::failure(status);
        if (From::host_accessible == To::host_accessible) return copy_path::on_device;
        return From::host_accessible ? copy_path::to_device : copy_path::from_device;
    }

private:
    cl::CommandQueue queue_;
};

}  // namespace opencl
}  // namespace v1
}  // namespace allot
