// SPDX-License-Identifier: BSL-1.0
// Host bytes as an OpenCL buffer, without copying them: CL_MEM_USE_HOST_PTR.
//
//     alignas(4096) static std::byte weights[1_MiB];
//     allot::arena<allot::opencl::imported, allot::best_fit<>> memory{{context, device, weights, sizeof weights}};
//     auto x = memory.allocate({.size = 4096, .align = 64});          // a cl_mem and an offset, as in any buffer
//
//     host    │ weights …                                  │
//                 ▲ the same bytes
//     cl_mem  │ … x at its offset …                        │
//
// The bytes are the caller's: they outlive the arena and everything that is enqueued, and only one buffer is made over
// them at a time, since OpenCL leaves overlapping ones undefined. While kernels use them, the host sees what is in them
// between clEnqueueMapBuffer and the unmap; the mapping is the pointer that was imported. (Whether the driver copied
// behind it is its own affair: the specification lets it. PoCL and drivers for shared memory do not.)
//
// What is relied on: the first byte is aligned to the device's CL_DEVICE_MEM_BASE_ADDR_ALIGN, as the base of any buffer
// is. The library refuses others, also on drivers that would let them pass, since kernels may load vectors from the
// base. Some drivers avoid the copy only for whole pages: give them those where you can.
//
// Complexity: one driver call. Memory: none. Thread safety: none.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/opencl/buffer.hpp>

namespace allot {
inline namespace v1 {
namespace opencl {

class imported {
public:
    using address_model = buffer::address_model;
    using error = cl_int;
    static constexpr bool host_accessible = false;  // not while kernels use it
    static constexpr offset_use offsets = offset_use::carried;
    static constexpr std::size_t min_align = buffer::min_align;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = dl_device_type::opencl;

    /// The `size` bytes from `first` on, for the kernels of `context`.
    imported(cl::Context context, const cl::Device& device, void* first, std::size_t size,
             cl_mem_flags flags = CL_MEM_READ_WRITE)
        : context_{std::move(context)},
          flags_{flags | CL_MEM_USE_HOST_PTR},
          first_{first},
          size_{size},
          base_align_{detail::base_align_of(device)},
          largest_{detail::device_info<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE)} {}

    [[nodiscard]] std::size_t capacity() const noexcept { return size_; }

    /// All of the bytes. Refused with CL_INVALID_DEVICE (-33) where there is no device; CL_INVALID_OPERATION (-59)
    /// while a buffer over them is out; CL_INVALID_HOST_PTR (-37) for bytes that are nowhere, or begin where no buffer
    /// may; CL_INVALID_BUFFER_SIZE (-61) for a size of 0, over theirs or over the device's limit;
    /// CL_MISALIGNED_SUB_BUFFER_OFFSET (-13) for an alignment that is no power of two or beyond the device's own; and
    /// with the driver's code.
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
