// SPDX-License-Identifier: BSL-1.0
// opencl::buffer: OpenCL buffers as memory. A block is named by a cl_mem and a byte offset, not by
// a pointer.
//
//     allot::arena<allot::opencl::buffer, allot::best_fit<>> memory{{context, device}, 64_MiB};
//     auto x = memory.allocate({.size = 4096, .align = 256});
//     allot::opencl::set_arg(kernel, 0, x);      // __kernel void f(__global uchar* base, ulong offset, …)
//
//     auto y = allot::opencl::make_buffer(memory, 4096);      // an owner: see opencl/unique_buffer.hpp
//
// Each region is one cl_mem, and blocks hold its handle without owning it. The caller owns the context and the queues
// and must keep them alive as long as the arena.
//
// When to use: for kernels that take a buffer and an offset. This works with every version of OpenCL.
// When not to use: for kernels that take pointers, use opencl/svm.hpp; for existing host bytes,
// opencl/imported.hpp; for images, opencl/image.hpp.
//
// The base alignment is the device's CL_DEVICE_MEM_BASE_ADDR_ALIGN, converted from bits to bytes. allot supports
// alignments up to it and rejects greater ones, also on drivers that would accept them. `acquire` checks
// CL_DEVICE_MAX_MEM_ALLOC_SIZE before it calls the driver, because some drivers return memory beyond it and abort when
// the memory is touched.
//
// Define CL_HPP_MINIMUM_OPENCL_VERSION and CL_HPP_TARGET_OPENCL_VERSION for your platform, or use the CMake target
// allot::opencl, which defines them.
//
// Complexity: one driver call for each `acquire` and `release`.
// Memory: no overhead.
// Thread safety: that of the driver. Any thread may call `acquire` and `release`.
#pragma once

#include <allot/address/handle_offset.hpp>
#include <allot/core/device.hpp>

#include <CL/opencl.hpp>

namespace allot {
inline namespace v1 {
namespace opencl {

/// The result of a call to OpenCL: a value or an error code.
template <class Value>
using cl_result = result<Value, cl_int>;

namespace detail {

// Returns a device's answer to a query, or zero on failure. (cl::Device::getInfo would leave the value uninitialized.)
template <class Value>
[[nodiscard]] Value device_info(const cl::Device& device, cl_device_info what) noexcept {
    Value value{};
    return ::clGetDeviceInfo(device(), what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : Value{};
}

// The alignment of every buffer's base in bytes. Zero without a device, and for one that reports fewer than 8 bits.
[[nodiscard]] inline std::size_t base_align_of(const cl::Device& device) noexcept {
    return std::bit_floor(std::size_t{device_info<cl_uint>(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN)} / 8);
}

// Creates a sub-buffer over bytes of a buffer. The alignment is checked, because some drivers accept any.
[[nodiscard]] inline cl_result<cl::Buffer> sub_buffer_of(handle_offset<cl_mem>::address first, std::size_t size,
                                                         const cl::Device& device) noexcept {
    using answer = cl_result<cl::Buffer>;
    const std::size_t align = base_align_of(device);
    if (align == 0) return answer::failure(CL_INVALID_DEVICE);
    cl_mem parent = nullptr;
    cl_int status = ::clGetMemObjectInfo(first.handle, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, nullptr);
    if (status != CL_SUCCESS) return answer::failure(status);
    if (parent != nullptr) return answer::failure(CL_INVALID_MEM_OBJECT);
    if (first.offset % align != 0) return answer::failure(CL_MISALIGNED_SUB_BUFFER_OFFSET);
    const cl_buffer_region where{first.offset, size};
    const cl_mem made = ::clCreateSubBuffer(first.handle, 0, CL_BUFFER_CREATE_TYPE_REGION, &where, &status);
    if (status != CL_SUCCESS) return answer::failure(status);
    return cl::Buffer{made};
}

}  // namespace detail

/// The device whose regions are OpenCL buffers.
class buffer {
public:
    using address_model = handle_offset<cl_mem>;                ///< An address is a handle and a byte offset.
    using error = cl_int;                                       ///< OpenCL's error codes.
    static constexpr bool host_accessible = false;              ///< The host cannot access the bytes.
    static constexpr offset_use offsets = offset_use::carried;  ///< An offset is passed next to the handle.
    // The smallest value that the standard allows: the size of the largest built-in type, which is long16, or int16 on
    // embedded devices.
    static constexpr std::size_t min_align = 64;                         ///< Every base is a multiple of this.
    static constexpr std::size_t granularity = 1;                        ///< Every size is a multiple of this.
    static constexpr dl_device_type dl_device = dl_device_type::opencl;  ///< DLPack's device type.

    /// Allocates buffers of `context`, with the alignment and the limits of `device`.
    buffer(cl::Context context, const cl::Device& device, cl_mem_flags flags = CL_MEM_READ_WRITE)
        : context_{std::move(context)},
          flags_{flags},
          base_align_{detail::base_align_of(device)},
          largest_{detail::device_info<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE)} {}

    /// Creates a buffer. Fails with CL_INVALID_DEVICE (-33) without a device; CL_INVALID_BUFFER_SIZE (-61) for a size
    /// of 0 or above the device's limit; CL_MISALIGNED_SUB_BUFFER_OFFSET (-13) for an alignment that is not a power of
    /// two or exceeds `base_align()`; otherwise with the driver's code.
    [[nodiscard]] acquired<buffer> acquire(layout wanted) noexcept {
        if (base_align_ == 0) return acquired<buffer>::failure(CL_INVALID_DEVICE);
        if (wanted.size == 0 || wanted.size > largest_) return acquired<buffer>::failure(CL_INVALID_BUFFER_SIZE);
        if (!is_alignment(wanted.align) || wanted.align > base_align_)
            return acquired<buffer>::failure(CL_MISALIGNED_SUB_BUFFER_OFFSET);
        cl_int status = CL_SUCCESS;
        const cl_mem handle = ::clCreateBuffer(context_(), flags_, wanted.size, nullptr, &status);
        if (status != CL_SUCCESS) return acquired<buffer>::failure(status);
        return region<address_model::address>{{handle, 0}, wanted.size, base_align_};
    }
    /// Releases the buffer.
    void release(region<address_model::address> held) noexcept { ::clReleaseMemObject(held.base.handle); }

    /// Returns the alignment of every buffer's base on this device, in bytes.
    [[nodiscard]] std::size_t base_align() const noexcept { return base_align_; }

private:
    cl::Context context_;
    cl_mem_flags flags_;
    std::size_t base_align_;
    cl_ulong largest_;
};

static_assert(device<buffer> && !bounded_device<buffer>);

/// Sets two kernel arguments: `index` to the cl_mem, and `index + 1` to the byte offset, a `ulong`. Returns the first
/// OpenCL error, or CL_SUCCESS.
/// (`cl::Kernel::setArg(index, cl_mem)` compiles too. From OpenCL 2.0 on it selects an overload for pointers to shared
/// virtual memory and reports success, and the kernel's writes are lost. This function passes the handle's size and
/// address.)
[[nodiscard]] inline cl_int set_arg(cl::Kernel& kernel, cl_uint index,
                                    handle_offset<cl_mem>::address address) noexcept {
    const auto offset = static_cast<cl_ulong>(address.offset);
    const cl_int status = ::clSetKernelArg(kernel(), index, sizeof address.handle, &address.handle);
    return status != CL_SUCCESS ? status : ::clSetKernelArg(kernel(), index + 1, sizeof offset, &offset);
}
/// Sets two kernel arguments to a block's cl_mem and byte offset.
template <class Block>
    requires std::same_as<decltype(Block::address), handle_offset<cl_mem>::address>
[[nodiscard]] cl_int set_arg(cl::Kernel& kernel, cl_uint index, const Block& block) noexcept {
    return set_arg(kernel, index, block.address);
}
/// Sets two kernel arguments to a tensor's cl_mem and byte offset.
template <class Tensor>
    requires std::same_as<typename Tensor::address_type, handle_offset<cl_mem>::address>
[[nodiscard]] cl_int set_arg(cl::Kernel& kernel, cl_uint index, const Tensor& tensor) noexcept {
    return set_arg(kernel, index, tensor.address());
}

}  // namespace opencl
}  // namespace v1
}  // namespace allot
