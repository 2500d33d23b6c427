// Tensors in OpenCL memory: copies on a queue, and the same bytes as a buffer object of their own.
//
//     allot::opencl::set_arg(kernel, 0, tensor);                       // as for a block: device/opencl.hpp
//     auto copied = allot::copy_tensor(host, device, allot::opencl::queue_copy{queue});
//     auto alone = allot::opencl::as_buffer(tensor, queue);            // for a kernel that takes no offset
//     if (alone && !alone->aliases) …                                  // a copy: writes do not reach the tensor
//
// A sub-buffer begins where the device's CL_DEVICE_MEM_BASE_ADDR_ALIGN allows, inside a buffer that is no sub-buffer
// itself; a tensor in host memory is imported (CL_MEM_USE_HOST_PTR), where its address is as aligned. Where that cannot
// be, `as_buffer` makes a buffer of its own, copies the bytes, and says that it does not alias. All hold the tensor.
//
// Complexity: a few driver calls each. Memory: the copy's, where one is made. Thread safety: the driver's.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/device/opencl.hpp>
#include <allot/tensor/copy.hpp>

#include <utility>

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

/// A buffer object that begins where its tensor does. What lies over the tensor's bytes goes before the tensor, also when
/// another is assigned: member by member it would be the other way about.
template <class Tensor>
struct tensor_buffer {
    Tensor of{};  // which stays alive
    cl::Buffer buffer{};
    bool aliases = false;  // the same bytes; otherwise a copy that does not follow the tensor, nor it the copy

    tensor_buffer() noexcept = default;
    tensor_buffer(Tensor tensor, cl::Buffer made, bool same) noexcept
        : of{std::move(tensor)}, buffer{std::move(made)}, aliases{same} {}
    tensor_buffer(const tensor_buffer&) noexcept = default;
    tensor_buffer(tensor_buffer&&) noexcept = default;
    tensor_buffer& operator=(tensor_buffer other) noexcept {
        std::swap(of, other.of);
        std::swap(buffer, other.buffer);
        std::swap(aliases, other.aliases);
        return *this;
    }
    ~tensor_buffer() = default;
};

namespace detail {

/// What a queue works for.
struct queue_target {
    cl_context context = nullptr;
    cl_device_id device = nullptr;
    std::size_t base_align = 1;  // of buffers and sub-buffers, in bytes
};
[[nodiscard]] inline cl_result<queue_target> target_of(const cl::CommandQueue& queue) noexcept {
    queue_target found;
    cl_uint bits = 0;
    cl_int status = ::clGetCommandQueueInfo(queue(), CL_QUEUE_CONTEXT, sizeof found.context, &found.context, nullptr);
    if (status == CL_SUCCESS)
        status = ::clGetCommandQueueInfo(queue(), CL_QUEUE_DEVICE, sizeof found.device, &found.device, nullptr);
    if (status == CL_SUCCESS)
        status = ::clGetDeviceInfo(found.device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, nullptr);
    if (status != CL_SUCCESS) return cl_result<queue_target>::failure(status);
    found.base_align = bits / 8;
    return found;
}

/// Why a tensor's bytes cannot be a buffer, wherever they are.
template <class Tensor>
[[nodiscard]] cl_int check_bytes(const Tensor& of) noexcept {
    if (!of) return CL_INVALID_MEM_OBJECT;
    if (of.size() == 0) return CL_INVALID_BUFFER_SIZE;
    return of.is_compact() ? CL_SUCCESS : CL_INVALID_VALUE;
}

}  // namespace detail

/// The tensor's bytes as a sub-buffer. Refused with CL_MISALIGNED_SUB_BUFFER_OFFSET (-13) where `device` allows none to
/// begin, also on drivers that would let it pass; with CL_INVALID_MEM_OBJECT (-38) inside a sub-buffer, or for a killed
/// tensor; with CL_INVALID_BUFFER_SIZE (-61) without elements; and with the driver's own code. The tensor is compact.
template <class Claim>
    requires buffer_address<typename tensor<Claim>::address_type>
[[nodiscard]] cl_result<tensor_buffer<tensor<Claim>>> sub_buffer(const tensor<Claim>& of,
                                                                   const cl::Device& device) noexcept {
    using answer = cl_result<tensor_buffer<tensor<Claim>>>;
    if (const cl_int why = detail::check_bytes(of); why != CL_SUCCESS) return answer::failure(why);
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
    return tensor_buffer<tensor<Claim>>{of, cl::Buffer{made}, true};
}

/// The tensor's bytes as a buffer object: a sub-buffer where that is possible, otherwise a copy, which says so. The copy is
/// made in the order of the queue. Refused with the driver's code.
template <class Claim>
    requires buffer_address<typename tensor<Claim>::address_type>
[[nodiscard]] cl_result<tensor_buffer<tensor<Claim>>> as_buffer(const tensor<Claim>& of,
                                                                  const cl::CommandQueue& queue) noexcept {
    using answer = cl_result<tensor_buffer<tensor<Claim>>>;
    const auto target = detail::target_of(queue);
    if (!target) return answer::failure(target.error());
    const auto shared = sub_buffer(of, cl::Device{target->device, true});
    const bool must_copy = shared.error() == CL_MISALIGNED_SUB_BUFFER_OFFSET ||
                           (shared.error() == CL_INVALID_MEM_OBJECT && static_cast<bool>(of));
    if (!must_copy) return shared;
    cl_int status = CL_SUCCESS;
    const cl::Buffer copy{::clCreateBuffer(target->context, CL_MEM_READ_WRITE, of.size_bytes(), nullptr, &status)};
    if (status != CL_SUCCESS) return answer::failure(status);
    status = ::clEnqueueCopyBuffer(queue(), of.data(), copy(), of.byte_offset(), 0, of.size_bytes(), 0, nullptr, nullptr);
    if (status != CL_SUCCESS) return answer::failure(status);
    return tensor_buffer<tensor<Claim>>{of, copy, false};
}

/// A host tensor's bytes as a buffer object: imported where the device allows a buffer to begin there, otherwise a
/// copy, which says so. While kernels use an imported one, the host sees its bytes between clEnqueueMapBuffer and the
/// unmap; keep it until they have. Refused as a sub-buffer is.
template <class Claim>
    requires(tensor<Claim>::host_accessible && std::same_as<typename tensor<Claim>::address_type, void*>)
[[nodiscard]] cl_result<tensor_buffer<tensor<Claim>>> as_buffer(const tensor<Claim>& of,
                                                                  const cl::CommandQueue& queue) noexcept {
    using answer = cl_result<tensor_buffer<tensor<Claim>>>;
    if (const cl_int why = detail::check_bytes(of); why != CL_SUCCESS) return answer::failure(why);
    const auto target = detail::target_of(queue);
    if (!target) return answer::failure(target.error());
    const bool aligned = raw_pointer::position(of.data()) % target->base_align == 0;
    const cl_mem_flags how = aligned ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR;
    cl_int status = CL_SUCCESS;
    const cl_mem made =
        ::clCreateBuffer(target->context, CL_MEM_READ_WRITE | how, of.size_bytes(), of.data(), &status);
    if (status != CL_SUCCESS) return answer::failure(status);
    return tensor_buffer<tensor<Claim>>{of, cl::Buffer{made}, aligned};
}

}  // namespace allot::inline v1::opencl
