// SPDX-License-Identifier: BSL-1.0
// opencl::imported: host bytes as an OpenCL buffer, without a copy (CL_MEM_USE_HOST_PTR).
//
//     alignas(4096) static std::byte weights[1_MiB];
//     allot::arena<allot::opencl::imported, allot::best_fit<>> memory{{context, device, weights, sizeof weights}};
//     auto x = memory.allocate({.size = 4096, .align = 64});          // a cl_mem and an offset, as in any buffer
//
//     host    │ weights …                                  │
//                 ▲ the same bytes
//     cl_mem  │ … x at its offset …                        │
//
// When to use: for host memory that kernels read or write in place, for example the weights of a model.
// When not to use: for memory that only kernels use: opencl/buffer.hpp. A driver may copy imported bytes.
//
// The caller owns the bytes, which must outlive the arena and all enqueued work. Only one buffer over them exists at a
// time, because OpenCL leaves the behavior of overlapping buffers undefined. While kernels use the bytes, the host
// accesses them only between clEnqueueMapBuffer and the unmap; the mapped pointer is the imported one. (The
// specification allows the driver to copy the bytes internally. PoCL and drivers for shared memory do not.)
//
// Precondition: the first byte has the device's CL_DEVICE_MEM_BASE_ADDR_ALIGN, like the base of any buffer. `acquire`
// rejects other bytes, also on drivers that would accept them, because kernels may load vectors from the base. Some
// drivers avoid the copy for whole pages only: use page-aligned bytes where possible.
//
// Complexity: one driver call for each `acquire` and `release`.
// Memory: no overhead.
// Thread safety: none.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/opencl/buffer.hpp>

namespace allot {
inline namespace v1 {
namespace opencl {

/// The device whose only region is a buffer over bytes of the host.
class imported : public traits_of<buffer> {
public:
    using error = cl_int;  ///< OpenCL's error codes.

    /// Imports the `size` bytes from `first` on for the kernels of `context`.
    imported(cl::Context context, const cl::Device& device, void* first, std::size_t size,
             cl_mem_flags flags = CL_MEM_READ_WRITE)
        : context_{std::move(context)},
          flags_{flags | CL_MEM_USE_HOST_PTR},
          first_{first},
          size_{size},
          base_align_{detail::base_align_of(device)},
          largest_{detail::device_info<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE)} {}

    /// Returns the number of imported bytes.
    [[nodiscard]] std::size_t capacity() const noexcept { return size_; }
    /// Returns the alignment of every buffer's base on this device, in bytes.
    [[nodiscard]] std::size_t base_align() const noexcept { return base_align_; }

    /// Creates a buffer over all of the bytes. Fails with CL_INVALID_DEVICE (-33) without a device;
    /// CL_INVALID_OPERATION (-59) while a buffer over the bytes exists; CL_INVALID_HOST_PTR (-37) for a null or
    /// misaligned first byte; CL_INVALID_BUFFER_SIZE (-61) for a size of 0, above the number of bytes or above the
    /// device's limit; CL_MISALIGNED_SUB_BUFFER_OFFSET (-13) for an alignment that is not a power of two or exceeds the
    /// device's; otherwise with the driver's code.
    [[nodiscard]] acquired<imported> acquire(layout wanted) noexcept {
        if (base_align_ == 0) return acquired<imported>::failure(CL_INVALID_DEVICE);
        if (in_use_) return acquired<imported>::failure(CL_INVALID_OPERATION);
        if (first_ == nullptr || raw_pointer::position(first_) % base_align_ != 0)
            return acquired<imported>::failure(CL_INVALID_HOST_PTR);
        if (wanted.size == 0 || wanted.size > size_ || size_ > largest_)
            return acquired<imported>::failure(CL_INVALID_BUFFER_SIZE);
        if (!is_alignment(wanted.align) || wanted.align > base_align_)
            return acquired<imported>::failure(CL_MISALIGNED_SUB_BUFFER_OFFSET);
        cl_int status = CL_SUCCESS;
        const cl_mem handle = ::clCreateBuffer(context_(), flags_, size_, first_, &status);
        if (status != CL_SUCCESS) return acquired<imported>::failure(status);
        in_use_ = true;
        return region<address_model::address>{{handle, 0}, size_, base_align_};
    }
    /// Releases the buffer. The bytes stay with the caller.
    void release(region<address_model::address> held) noexcept {
        ::clReleaseMemObject(held.base.handle);
        in_use_ = false;
    }

private:
    cl::Context context_;
    cl_mem_flags flags_;
    void* first_;
    std::size_t size_, base_align_;
    cl_ulong largest_;
    bool in_use_ = false;
};

static_assert(bounded_device<imported>);

}  // namespace opencl
}  // namespace v1
}  // namespace allot
