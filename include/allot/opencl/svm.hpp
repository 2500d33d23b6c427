// SPDX-License-Identifier: BSL-1.0
// opencl::svm: shared virtual memory of OpenCL. An address is valid on the host and on the device.
//
//     allot::arena<allot::opencl::fine_svm, allot::best_fit<>> shared{{context, device}, 64_MiB};
//     auto x = shared.allocate({.size = 4096, .align = 64});          // the host and kernels may write x
//     allot::opencl::set_arg(kernel, 0, x);                           // one argument: a pointer, offset included
//
//     allot::arena<allot::opencl::coarse_svm, allot::best_fit<>> memory{{context, device}, 64_MiB};
//     auto y = memory.allocate({.size = 4096, .align = 64});
//     if (auto mapped = allot::opencl::map(queue, y)) use(mapped->bytes());      // `mapped` unmaps in its destructor
//
//     fine      the host may access the bytes at any time; synchronization points order the writes of both sides
//     coarse    the host may access the bytes between map and unmap only: arenas keep their records in a side table
//
// When to use: for kernels that take pointers, and for data structures with pointers.
// When not to use: on drivers before OpenCL 2.0, which have no SVM: every `acquire` fails. Check `is_supported()`.
//
// The code relies on these rules of the OpenCL specification (clSVMAlloc, clEnqueueSVMMap, clEnqueueSVMUnmap). The size
// is at most CL_DEVICE_MAX_MEM_ALLOC_SIZE. Every driver supports alignments up to the size of its largest built-in
// type: 128 bytes for long16, or 64 for int16 on embedded devices. Greater alignments are optional: PoCL does not
// support them. clSVMAlloc returns a null pointer on failure, without a code. clSVMFree does not wait for kernels:
// release a region only when no enqueued work uses it.
//
// Complexity: one driver call for each `acquire` and `release`.
// Memory: no overhead.
// Thread safety: that of the driver. Any thread may call `acquire` and `release`.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/copy_path.hpp>
#include <allot/opencl/buffer.hpp>

#include <span>
#include <utility>

namespace allot {
inline namespace v1 {
namespace opencl {

/// Kinds of shared virtual memory.
enum class svm_grain : unsigned char {
    coarse,  ///< The host may access the bytes between map and unmap only.
    fine,    ///< The host may access the bytes at any time.
};

/// The device whose regions are allocations of clSVMAlloc.
template <svm_grain Grain>
class svm {
    static constexpr bool fine = Grain == svm_grain::fine;
    static constexpr std::size_t largest_type = 128;  // long16

public:
    using address_model = raw_pointer;                             ///< An address is a pointer.
    using error = cl_int;                                          ///< OpenCL's error codes.
    static constexpr bool host_accessible = fine;                  ///< The host can access fine-grained memory.
    static constexpr offset_use offsets = offset_use::arithmetic;  ///< An offset is added to the address.
    static constexpr std::size_t min_align = 64;                   ///< Every base is a multiple of this.
    static constexpr std::size_t granularity = 1;                  ///< Every size is a multiple of this.
    // DLPack's OpenCL device means a cl_mem. Fine-grained memory is exported as memory of the host.
    static constexpr dl_device_type dl_device =
        fine ? dl_device_type::cpu : dl_device_type::ext_dev;  ///< DLPack's device type.

    /// Allocates memory that `context` shares with the host, within the limits of `device`. `flags` may contain
    /// CL_MEM_SVM_ATOMICS but not the grain, which the template argument selects.
    svm(cl::Context context, const cl::Device& device, cl_svm_mem_flags flags = CL_MEM_READ_WRITE)
        : context_{std::move(context)}, flags_{flags | (fine ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0)} {
        cl_device_svm_capabilities has = 0;
        cl_ulong most = 0;
        ::clGetDeviceInfo(device(), CL_DEVICE_SVM_CAPABILITIES, sizeof has, &has, nullptr);
        ::clGetDeviceInfo(device(), CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, nullptr);
        if ((has & (fine ? CL_DEVICE_SVM_FINE_GRAIN_BUFFER : CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) != 0) largest_ = most;
    }

    /// Returns true if the device has this kind of memory.
    [[nodiscard]] bool is_supported() const noexcept { return largest_ != 0; }

    /// Allocates shared memory. Fails with CL_INVALID_OPERATION (-59) if the device has no such memory;
    /// CL_INVALID_BUFFER_SIZE (-61) for a size of 0 or above the device's limit; CL_INVALID_VALUE (-30) for an
    /// alignment that is not a power of two, and for an alignment above 128 that the driver does not support;
    /// CL_MEM_OBJECT_ALLOCATION_FAILURE (-4) otherwise.
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
    /// Frees a region. No enqueued work may use it.
    void release(region<void*> held) noexcept { ::clSVMFree(context_(), held.base); }

private:
    cl::Context context_;
    cl_svm_mem_flags flags_;
    cl_ulong largest_ = 0;
};

/// Coarse-grained shared virtual memory.
using coarse_svm = svm<svm_grain::coarse>;
/// Fine-grained shared virtual memory.
using fine_svm = svm<svm_grain::fine>;

static_assert(device<coarse_svm> && device<fine_svm> && !bounded_device<fine_svm>);

/// Sets a kernel argument to a pointer to shared virtual memory. Returns OpenCL's code.
[[nodiscard]] inline cl_int set_arg(cl::Kernel& kernel, cl_uint index, const void* shared) noexcept {
    return ::clSetKernelArgSVMPointer(kernel(), index, shared);
}
/// Sets a kernel argument to a block's address.
template <class Block>
    requires std::same_as<decltype(Block::address), void*>
[[nodiscard]] cl_int set_arg(cl::Kernel& kernel, cl_uint index, const Block& block) noexcept {
    return set_arg(kernel, index, static_cast<const void*>(block.address));
}
/// Sets a kernel argument to a tensor's address.
template <class Tensor>
    requires std::same_as<typename Tensor::address_type, void*>
[[nodiscard]] cl_int set_arg(cl::Kernel& kernel, cl_uint index, const Tensor& tensor) noexcept {
    return set_arg(kernel, index, static_cast<const void*>(tensor.data()));
}

/// Shared bytes that are mapped for the host. Move-only. The destructor enqueues the unmap.
class svm_mapping {
public:
    /// Constructs an empty mapping.
    svm_mapping() noexcept = default;
    /// Takes over `size` bytes that are already mapped.
    svm_mapping(cl::CommandQueue queue, void* first, std::size_t size) noexcept
        : queue_{std::move(queue)}, bytes_{static_cast<std::byte*>(first), size} {}
    /// Moves the mapping. `other` becomes empty.
    svm_mapping(svm_mapping&& other) noexcept
        : queue_{std::move(other.queue_)}, bytes_{std::exchange(other.bytes_, {})} {}
    /// Swaps the mappings.
    svm_mapping& operator=(svm_mapping&& other) noexcept {
        std::swap(queue_, other.queue_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    /// Enqueues the unmap.
    ~svm_mapping() { static_cast<void>(unmap()); }

    /// Returns the mapped bytes, or an empty span after `unmap`.
    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
    /// Enqueues the unmap before the destructor does. Returns OpenCL's code.
    cl_int unmap() noexcept {
        if (bytes_.empty()) return CL_SUCCESS;
        return ::clEnqueueSVMUnmap(queue_(), std::exchange(bytes_, {}).data(), 0, nullptr, nullptr);
    }

private:
    cl::CommandQueue queue_;
    std::span<std::byte> bytes_;
};

/// Maps `size` bytes from `first` on and waits until the host may access them. Fails with the driver's code.
[[nodiscard]] inline cl_result<svm_mapping> map(const cl::CommandQueue& queue, void* first, std::size_t size,
                                                cl_map_flags flags = CL_MAP_READ | CL_MAP_WRITE) noexcept {
    if (size == 0) return cl_result<svm_mapping>::failure(CL_INVALID_VALUE);
    const cl_int status = ::clEnqueueSVMMap(queue(), CL_TRUE, flags, first, size, 0, nullptr, nullptr);
    if (status != CL_SUCCESS) return cl_result<svm_mapping>::failure(status);
    return svm_mapping{queue, first, size};
}
/// Maps a block and waits until the host may access it.
template <class Block>
    requires std::same_as<decltype(Block::address), void*>
[[nodiscard]] cl_result<svm_mapping> map(const cl::CommandQueue& queue, const Block& block,
                                         cl_map_flags flags = CL_MAP_READ | CL_MAP_WRITE) noexcept {
    return map(queue, block.address, block.size, flags);
}

/// A copier for `copy_tensor` between shared memory and shared memory or memory of the host. The calls wait for the
/// copy. If the host can access both sides, for example host memory and fine-grained memory, the path is `imported`:
/// the device copies the host's bytes in place. Types do not distinguish fine-grained memory from host memory.
class svm_copy {
public:
    /// Enqueues copies in this queue.
    explicit svm_copy(cl::CommandQueue queue) noexcept : queue_{std::move(queue)} {}

    /// Copies `bytes` bytes and waits. Returns the path of the copy, or OpenCL's code.
    template <pointer_memory From, pointer_memory To>
    [[nodiscard]] copied copy(const void* from, void* to, std::size_t bytes) const noexcept {
        const cl_int status = ::clEnqueueSVMMemcpy(queue_(), CL_TRUE, to, from, bytes, 0, nullptr, nullptr);
        if (status != CL_SUCCESS) return copied::failure(status);
        if constexpr (From::host_accessible && To::host_accessible) return copy_path::imported;
        else if constexpr (From::host_accessible) return copy_path::to_device;
        else return To::host_accessible ? copy_path::from_device : copy_path::on_device;
    }

private:
    cl::CommandQueue queue_;
};

}  // namespace opencl
}  // namespace v1
}  // namespace allot
