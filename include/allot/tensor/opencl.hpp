// Tensors in OpenCL memory: copies on a queue, and the same bytes as a buffer object of their own.
//
//     allot::opencl::set_arg(kernel, 0, tensor);                       // as for a block: device/opencl.hpp
//     auto copied = allot::copy_tensor(host, device, allot::opencl::queue_copy{queue});
//     auto alone = allot::opencl::as_buffer(tensor, queue);            // for a kernel that takes no offset
//     if (alone && !alone->aliases) …                                  // a copy: writes do not reach the tensor
//
// A sub-buffer begins where the device's CL_DEVICE_MEM_BASE_ADDR_ALIGN allows, inside a buffer that is no sub-buffer
// itself. Where it cannot, `as_buffer` makes a buffer of its own, copies the bytes, and says that it does not alias.
// Both hold the tensor.
//
// Complexity: one driver call each. Memory: the copy's, where one is made. Thread safety: the driver's.
#pragma once

#include <allot/device/opencl.hpp>
#include <allot/tensor/copy.hpp>

namespace allot::inline v1::opencl {

template <class Address>
concept buffer_address = std::same_as<Address, handle_offset<cl_mem>::address>;

/// Copies runs for `copy_tensor`: from the host, to the host, and between buffers. Copies to and from the host have
/// happened when it returns; those between buffers happen in the order of the queue.
class queue_copy {
    using address = handle_offset<cl_mem>::address;

public:
    explicit queue_copy(cl::CommandQueue queue) noexcept : queue_{std::move(queue)} {}

    long operator()(const void* from, address to, std::size_t bytes) const noexcept {
        return ::clEnqueueWriteBuffer(queue_(), to.handle, CL_TRUE, to.offset, bytes, from, 0, nullptr, nullptr);
    }
    long operator()(address from, void* to, std::size_t bytes) const noexcept {
        return ::clEnqueueReadBuffer(queue_(), from.handle, CL_TRUE, from.offset, bytes, to, 0, nullptr, nullptr);
    }
    long operator()(address from, address to, std::size_t bytes) const noexcept {
        return ::clEnqueueCopyBuffer(queue_(), from.handle, to.handle, from.offset, to.offset, bytes, 0, nullptr, nullptr);
    }

private:
    cl::CommandQueue queue_;
};

/// A buffer object that begins where its tensor does.
template <class Tensor>
struct tensor_buffer {
    cl::Buffer buffer;
    bool aliases = false;  // the same bytes; otherwise a copy that does not follow the tensor, nor it the copy
    Tensor of;             // which stays alive
};

/// The tensor's bytes as a sub-buffer. Refused with CL_MISALIGNED_SUB_BUFFER_OFFSET (-13) where `device` allows none to
/// begin, also on drivers that would let it pass; with CL_INVALID_MEM_OBJECT (-38) inside a sub-buffer, or for a killed
/// tensor; with CL_INVALID_BUFFER_SIZE (-61) without elements; and with the driver's own code. The tensor is compact.
template <class Claim>
    requires buffer_address<typename tensor<Claim>::address_type>
[[nodiscard]] cl_result<tensor_buffer<tensor<Claim>>> sub_buffer(const tensor<Claim>& of,
                                                                   const cl::Device& device) noexcept {
    using answer = cl_result<tensor_buffer<tensor<Claim>>>;
    if (!of) return answer::failure(CL_INVALID_MEM_OBJECT);
    if (of.size() == 0) return answer::failure(CL_INVALID_BUFFER_SIZE);
    if (!of.is_compact()) return answer::failure(CL_INVALID_VALUE);
    cl_mem parent = nullptr;
    cl_uint align_bits = 0;
    cl_int status = ::clGetMemObjectInfo(of.data(), CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, nullptr);
    if (status == CL_SUCCESS)
        status = ::clGetDeviceInfo(device(), CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof align_bits, &align_bits, nullptr);
    if (status != CL_SUCCESS) return answer::failure(status);
    if (parent != nullptr) return answer::failure(CL_INVALID_MEM_OBJECT);
    if (of.byte_offset() % (align_bits / 8) != 0) return answer::failure(CL_MISALIGNED_SUB_BUFFER_OFFSET);
    const cl_buffer_region where{of.byte_offset(), of.size_bytes()};
    const cl_mem made = ::clCreateSubBuffer(of.data(), 0, CL_BUFFER_CREATE_TYPE_REGION, &where, &status);
    if (status != CL_SUCCESS) return answer::failure(status);
    return tensor_buffer<tensor<Claim>>{cl::Buffer{made}, true, of};
}

/// The tensor's bytes as a buffer object: a sub-buffer where that is possible, otherwise a copy, which says so. The copy is
/// made in the order of the queue. Refused with the driver's code.
template <class Claim>
    requires buffer_address<typename tensor<Claim>::address_type>
[[nodiscard]] cl_result<tensor_buffer<tensor<Claim>>> as_buffer(const tensor<Claim>& of,
                                                                  const cl::CommandQueue& queue) noexcept {
    using answer = cl_result<tensor_buffer<tensor<Claim>>>;
    cl_device_id device = nullptr;
    cl_context context = nullptr;
    cl_int status = ::clGetCommandQueueInfo(queue(), CL_QUEUE_DEVICE, sizeof device, &device, nullptr);
    if (status == CL_SUCCESS)
        status = ::clGetCommandQueueInfo(queue(), CL_QUEUE_CONTEXT, sizeof context, &context, nullptr);
    if (status != CL_SUCCESS) return answer::failure(status);
    const auto shared = sub_buffer(of, cl::Device{device, true});
    const bool must_copy = shared.error() == CL_MISALIGNED_SUB_BUFFER_OFFSET ||
                           (shared.error() == CL_INVALID_MEM_OBJECT && static_cast<bool>(of));
    if (!must_copy) return shared;
    const cl::Buffer copy{::clCreateBuffer(context, CL_MEM_READ_WRITE, of.size_bytes(), nullptr, &status)};
    if (status != CL_SUCCESS) return answer::failure(status);
    status = ::clEnqueueCopyBuffer(queue(), of.data(), copy(), of.byte_offset(), 0, of.size_bytes(), 0, nullptr, nullptr);
    if (status != CL_SUCCESS) return answer::failure(status);
    return tensor_buffer<tensor<Claim>>{copy, false, of};
}

}  // namespace allot::inline v1::opencl
