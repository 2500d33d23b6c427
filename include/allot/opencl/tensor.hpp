// SPDX-License-Identifier: BSL-1.0
// Tensors in OpenCL memory: copies on a queue, and the same bytes as a buffer object of their own.
//
//     allot::opencl::set_arg(kernel, 0, tensor);                       // as for a block: opencl/buffer.hpp
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
#include <allot/opencl/buffer.hpp>
#include <allot/tensor/copy.hpp>

#include <cstring>
#include <utility>

namespace allot {
inline namespace v1 {
namespace opencl {

template <class Address>
concept buffer_address = std::same_as<Address, handle_offset<cl_mem>::address>;

namespace detail {

/// What a queue works for.
struct queue_target {
    cl_context context = nullptr;
    cl_device_id device = nullptr;
    std::size_t base_align = 1;  // of buffers and sub-buffers, in bytes
    bool unified = false;        // the device's memory is the host's

    [[nodiscard]] bool has(cl_mem object) const noexcept {
        cl_context of = nullptr;
        ::clGetMemObjectInfo(object, CL_MEM_CONTEXT, sizeof of, &of, nullptr);
        return of != nullptr && of == context;
    }
};
[[nodiscard]] inline cl_result<queue_target> target_of(const cl::CommandQueue& queue) noexcept {
    queue_target found;
    cl_uint bits = 0;
    cl_bool unified = CL_FALSE;
    cl_int status = ::clGetCommandQueueInfo(queue(), CL_QUEUE_CONTEXT, sizeof found.context, &found.context, nullptr);
    if (status == CL_SUCCESS)
        status = ::clGetCommandQueueInfo(queue(), CL_QUEUE_DEVICE, sizeof found.device, &found.device, nullptr);
    if (status == CL_SUCCESS)
        status = ::clGetDeviceInfo(found.device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, nullptr);
    if (status == CL_SUCCESS)
        status = ::clGetDeviceInfo(found.device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, nullptr);
    if (status != CL_SUCCESS) return cl_result<queue_target>::failure(status);
    found.base_align = bits / 8;
    found.unified = unified == CL_TRUE;
    return found;
}

}  // namespace detail

/// Memory whose bytes lie in buffers.
template <class Memory>
concept buffer_memory = buffer_address<typename Memory::address_model::address>;

/// Copies for `copy_tensor` between the host and buffers, and between buffers of the queue's context. Where a buffer lies
/// in memory that the host has anyway (made with CL_MEM_USE_HOST_PTR or CL_MEM_ALLOC_HOST_PTR, or of a device with
/// CL_DEVICE_HOST_UNIFIED_MEMORY) it is mapped, and the host copies; otherwise the driver transfers. Buffers of another
/// context are left to the next way.
class queue_copy {
    using address = handle_offset<cl_mem>::address;

public:
    explicit queue_copy(cl::CommandQueue queue) noexcept
        : queue_{std::move(queue)}, target_{*detail::target_of(queue_)} {}

    template <host_memory From, buffer_memory To>
    [[nodiscard]] copied copy(const void* from, address to, std::size_t bytes) const noexcept {
        if (!target_.has(to.handle)) return copy_path::none;
        if (host_has(to.handle))
            return copy_mapped(to, CL_MAP_WRITE_INVALIDATE_REGION, bytes,
                               [=](void* mapped) { std::memcpy(mapped, from, bytes); });
        return answer(copy_path::to_device, ::clEnqueueWriteBuffer(queue_(), to.handle, CL_FALSE, to.offset, bytes, from, 0,
                                                                   nullptr, nullptr));
    }
    template <buffer_memory From, host_memory To>
    [[nodiscard]] copied copy(address from, void* to, std::size_t bytes) const noexcept {
        if (!target_.has(from.handle)) return copy_path::none;
        if (host_has(from.handle))
            return copy_mapped(from, CL_MAP_READ, bytes, [=](const void* mapped) { std::memcpy(to, mapped, bytes); });
        return answer(copy_path::from_device, ::clEnqueueReadBuffer(queue_(), from.handle, CL_FALSE, from.offset, bytes, to,
                                                                    0, nullptr, nullptr));
    }
    template <buffer_memory From, buffer_memory To>
    [[nodiscard]] copied copy(address from, address to, std::size_t bytes) const noexcept {
        if (!target_.has(from.handle) || !target_.has(to.handle)) return copy_path::none;
        return answer(copy_path::on_device, ::clEnqueueCopyBuffer(queue_(), from.handle, to.handle, from.offset, to.offset,
                                                                  bytes, 0, nullptr, nullptr));
    }
    /// The host's bytes are free to be used again; copies between buffers are not waited for.
    [[nodiscard]] long finish(copy_path longest) const noexcept {
        return longest == copy_path::on_device ? CL_SUCCESS : ::clFinish(queue_());
    }
    [[nodiscard]] const cl::CommandQueue& queue() const noexcept { return queue_; }

private:
    [[nodiscard]] static copied answer(copy_path path, cl_int status) noexcept {
        return status == CL_SUCCESS ? copied{path} : copied::failure(status);
    }
    [[nodiscard]] bool host_has(cl_mem buffer) const noexcept {
        cl_mem_flags flags = 0;
        ::clGetMemObjectInfo(buffer, CL_MEM_FLAGS, sizeof flags, &flags, nullptr);
        if ((flags & (CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY)) != 0) return false;
        return target_.unified || (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR)) != 0;
    }
    template <class Use>
    [[nodiscard]] copied copy_mapped(address at, cl_map_flags flags, std::size_t bytes, Use&& use) const noexcept {
        cl_int status = CL_SUCCESS;
        void* const mapped = ::clEnqueueMapBuffer(queue_(), at.handle, CL_TRUE, flags, at.offset, bytes, 0, nullptr, nullptr,
                                                  &status);
        if (status != CL_SUCCESS) return copied::failure(status);
        use(mapped);
        return answer(copy_path::mapped, ::clEnqueueUnmapMemObject(queue_(), at.handle, mapped, 0, nullptr, nullptr));
    }

    cl::CommandQueue queue_;
    detail::queue_target target_;
};

/// Copies for `copy_tensor` between the host and buffers, by a device that works in the host's bytes where they lie
/// (CL_MEM_USE_HOST_PTR): for drivers that import without copying, as those of integrated GPUs do for whole pages. Bytes
/// that do not begin where the device lets a buffer begin are left to the next way, so give `queue_copy` after it.
class import_copy {
    using address = handle_offset<cl_mem>::address;

public:
    explicit import_copy(cl::CommandQueue queue) noexcept
        : queue_{std::move(queue)}, target_{*detail::target_of(queue_)} {}

    template <host_memory From, buffer_memory To>
    [[nodiscard]] copied copy(const void* from, address to, std::size_t bytes) const noexcept {
        if (!target_.has(to.handle) || !can_import(from)) return copy_path::none;
        cl_int status = CL_SUCCESS;
        const cl::Buffer source = buffer_over(const_cast<void*>(from), bytes, CL_MEM_READ_ONLY, status);
        if (status == CL_SUCCESS)
            status = ::clEnqueueCopyBuffer(queue_(), source(), to.handle, 0, to.offset, bytes, 0, nullptr, nullptr);
        return finish(status);
    }
    template <buffer_memory From, host_memory To>
    [[nodiscard]] copied copy(address from, void* to, std::size_t bytes) const noexcept {
        if (!target_.has(from.handle) || !can_import(to)) return copy_path::none;
        cl_int status = CL_SUCCESS;
        const cl::Buffer target = buffer_over(to, bytes, CL_MEM_READ_WRITE, status);
        if (status == CL_SUCCESS)
            status = ::clEnqueueCopyBuffer(queue_(), from.handle, target(), from.offset, 0, bytes, 0, nullptr, nullptr);
        if (status == CL_SUCCESS) status = ::clFinish(queue_());
        if (status != CL_SUCCESS) return copied::failure(status);
        // Only what was mapped is sure to be in the host's bytes (clCreateBuffer, CL_MEM_USE_HOST_PTR).
        void* const mapped =
            ::clEnqueueMapBuffer(queue_(), target(), CL_TRUE, CL_MAP_READ, 0, bytes, 0, nullptr, nullptr, &status);
        if (status == CL_SUCCESS) status = ::clEnqueueUnmapMemObject(queue_(), target(), mapped, 0, nullptr, nullptr);
        return finish(status);
    }

private:
    [[nodiscard]] bool can_import(const void* bytes) const noexcept {
        return raw_pointer::position(bytes) % target_.base_align == 0;
    }
    [[nodiscard]] cl::Buffer buffer_over(void* bytes, std::size_t size, cl_mem_flags use, cl_int& status) const noexcept {
        return cl::Buffer{::clCreateBuffer(target_.context, use | CL_MEM_USE_HOST_PTR, size, bytes, &status)};
    }
    [[nodiscard]] copied finish(cl_int status) const noexcept {
        if (status == CL_SUCCESS) status = ::clFinish(queue_());
        return status == CL_SUCCESS ? copied{copy_path::imported} : copied::failure(status);
    }

    cl::CommandQueue queue_;
    detail::queue_target target_;
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
template <class Lease>
    requires buffer_address<typename tensor<Lease>::address_type>
[[nodiscard]] cl_result<tensor_buffer<tensor<Lease>>> sub_buffer(const tensor<Lease>& of,
                                                                   const cl::Device& device) noexcept {
    using answer = cl_result<tensor_buffer<tensor<Lease>>>;
    if (const cl_int reason = detail::check_bytes(of); reason != CL_SUCCESS) return answer::failure(reason);
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
    return tensor_buffer<tensor<Lease>>{of, cl::Buffer{made}, true};
}

/// The tensor's bytes as a buffer object: a sub-buffer where that is possible, otherwise a copy, which says so. The copy is
/// made in the order of the queue. Refused with the driver's code.
template <class Lease>
    requires buffer_address<typename tensor<Lease>::address_type>
[[nodiscard]] cl_result<tensor_buffer<tensor<Lease>>> as_buffer(const tensor<Lease>& of,
                                                                  const cl::CommandQueue& queue) noexcept {
    using answer = cl_result<tensor_buffer<tensor<Lease>>>;
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
    return tensor_buffer<tensor<Lease>>{of, copy, false};
}

/// A host tensor's bytes as a buffer object: imported where the device allows a buffer to begin there, otherwise a
/// copy, which says so. While kernels use an imported one, the host sees its bytes between clEnqueueMapBuffer and the
/// unmap; keep it until they have. Refused as a sub-buffer is.
template <class Lease>
    requires(tensor<Lease>::host_accessible && std::same_as<typename tensor<Lease>::address_type, void*>)
[[nodiscard]] cl_result<tensor_buffer<tensor<Lease>>> as_buffer(const tensor<Lease>& of,
                                                                  const cl::CommandQueue& queue) noexcept {
    using answer = cl_result<tensor_buffer<tensor<Lease>>>;
    if (const cl_int reason = detail::check_bytes(of); reason != CL_SUCCESS) return answer::failure(reason);
    const auto target = detail::target_of(queue);
    if (!target) return answer::failure(target.error());
    const bool aligned = raw_pointer::position(of.data()) % target->base_align == 0;
    const cl_mem_flags how = aligned ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR;
    cl_int status = CL_SUCCESS;
    const cl_mem made =
        ::clCreateBuffer(target->context, CL_MEM_READ_WRITE | how, of.size_bytes(), of.data(), &status);
    if (status != CL_SUCCESS) return answer::failure(status);
    return tensor_buffer<tensor<Lease>>{of, cl::Buffer{made}, aligned};
}

}  // namespace opencl
}  // namespace v1
}  // namespace allot
