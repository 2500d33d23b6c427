// SPDX-License-Identifier: BSL-1.0
// OpenCL buffers: memory with no address, only a cl_mem and a byte offset beside it.
//
//     allot::arena<allot::opencl::buffer, allot::best_fit<>> memory{{context, device}, 64_MiB};
//     auto x = memory.allocate({.size = 4096, .align = 256});
//     allot::opencl::set_arg(kernel, 0, x);      // __kernel void f(__global uchar* base, ulong offset, …)
//
// Context and queues are the user's, who keeps them alive as long as the arena. Regions are `cl_mem` objects; blocks
// hold the handle without owning it. The base alignment is the device's CL_DEVICE_MEM_BASE_ADDR_ALIGN, which counts
// bits, turned into bytes: allot honours alignments up to it and refuses others, also on drivers that would let them
// pass. CL_DEVICE_MAX_MEM_ALLOC_SIZE is respected before the driver is asked, since some drivers promise memory that
// they abort on when it is touched.
//
// Define CL_HPP_MINIMUM_OPENCL_VERSION and CL_HPP_TARGET_OPENCL_VERSION as your platform needs them; the CMake target
// allot::opencl does. Thread safety: as the driver's, acquire and release may be called from any thread.
#pragma once

#include <allot/address/handle_offset.hpp>
#include <allot/core/device.hpp>

#include <CL/opencl.hpp>

namespace allot {
inline namespace v1 {
namespace opencl {

/// What OpenCL answers: a value, or its code.
template <class Value>
using cl_result = result<Value, cl_int>;

namespace detail {

/// What a device says of itself; zero where there is none to ask. (cl::Device::getInfo would leave it unset.)
template <class Value>
[[nodiscard]] Value device_info(const cl::Device& device, cl_device_info what) noexcept {
    Value value{};
    return ::clGetDeviceInfo(device(), what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : Value{};
}

/// Bytes that every buffer's base is aligned to; zero without a device.
[[nodiscard]] inline std::size_t base_align_of(const cl::Device& device) noexcept {
    return std::bit_floor(std::size_t{device_info<cl_uint>(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN)} / 8);
}

}  // namespace detail

class buffer {
public:
    using address_model = handle_offset<cl_mem>;
    using error = cl_int;
    static constexpr bool host_accessible = false;
    static constexpr offset_use offsets = offset_use::carried;
    // The least that the standard allows: the size of the largest built-in type, long16, or int16 on embedded devices.
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = dl_device_type::opencl;

    /// Buffers of `context`, at the alignment and within the limits of `device`.
    buffer(cl::Context context, const cl::Device& device, cl_mem_flags flags = CL_MEM_READ_WRITE)
        : context_{std::move(context)},
          flags_{flags},
          base_align_{detail::base_align_of(device)},
          largest_{detail::device_info<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE)} {}

    /// A buffer object. Refused with the driver's code; CL_INVALID_DEVICE (-33) where there is no device;
    /// CL_INVALID_BUFFER_SIZE (-61) for a size of 0 or over the device's limit; CL_MISALIGNED_SUB_BUFFER_OFFSET (-13)
    /// for an alignment that is no power of two or beyond the device's own.
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
    void release(region<address_model::address> held) noexcept { ::clReleaseMemObject(held.base.handle); }

    /// Bytes that every buffer's base is aligned to on this device.
    [[nodiscard]] std::size_t base_align() const noexcept { return base_align_; }

private:
    cl::Context context_;
    cl_mem_flags flags_;
    std::size_t base_align_;
    cl_ulong largest_;
};

static_assert(device<buffer> && !bounded_device<buffer>);

/// Sets two kernel arguments: the block's or tensor's cl_mem at `index` and its byte offset, a `ulong`, at `index + 1`.
/// Returns the first OpenCL error, or CL_SUCCESS.
/// (`cl::Kernel::setArg(index, cl_mem)` compiles too, but takes a pointer overload for shared virtual memory from
/// OpenCL 2.0 on, reports success, and the kernel's writes are lost. This one passes the handle by size and address.)
[[nodiscard]] inline cl_int set_arg(cl::Kernel& kernel, cl_uint index,
                                    handle_offset<cl_mem>::address address) noexcept {
    const auto offset = static_cast<cl_ulong>(address.offset);
    const cl_int status = ::clSetKernelArg(kernel(), index, sizeof address.handle, &address.handle);
    return status != CL_SUCCESS ? status : ::clSetKernelArg(kernel(), index + 1, sizeof offset, &offset);
}
template <class Block>
    requires std::same_as<decltype(Block::address), handle_offset<cl_mem>::address>
[[nodiscard]] cl_int set_arg(cl::Kernel& kernel, cl_uint index, const Block& block) noexcept {
    return set_arg(kernel, index, block.address);
}
template <class Tensor>
    requires std::same_as<typename Tensor::address_type, handle_offset<cl_mem>::address>
[[nodiscard]] cl_int set_arg(cl::Kernel& kernel, cl_uint index, const Tensor& tensor) noexcept {
    return set_arg(kernel, index, tensor.address());
}

}  // namespace opencl
}  // namespace v1
}  // namespace allot
