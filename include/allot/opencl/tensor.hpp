// SPDX-License-Identifier: BSL-1.0
// opencl: copies of tensors in OpenCL memory, on a queue, and tensors as separate buffer objects.
//
//     allot::opencl::set_arg(kernel, 0, tensor);                       // as for a block: opencl/buffer.hpp
//     auto copied = allot::copy_tensor(host, device, allot::opencl::queue_copy{queue});
//     auto alone = allot::opencl::as_buffer(tensor, queue);            // for a kernel without an offset parameter
//     if (alone && !alone->aliases) …                                  // a copy: writes do not reach the tensor
//
// When to use: queue_copy for copies; import_copy before it for drivers that import host bytes without a copy;
// as_buffer for kernels that take a buffer without an offset.
// When not to use: as_buffer for kernels that take an offset: set_arg needs no buffer object.
//
// A sub-buffer must begin at a multiple of the device's CL_DEVICE_MEM_BASE_ADDR_ALIGN, inside a buffer that is not a
// sub-buffer. A tensor in host memory is imported (CL_MEM_USE_HOST_PTR) if its address has this alignment. In all other
// cases `as_buffer` creates a new buffer, copies the bytes, and sets `aliases` to false. The result holds the tensor.
//
// Complexity: a few driver calls for each function.
// Memory: the new buffer, if as_buffer copies.
// Thread safety: that of the driver.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/opencl/buffer.hpp>
#include <allot/tensor/copy.hpp>

#include <cstring>
#include <utility>

namespace allot {
inline namespace v1 {
namespace opencl {

/// An address in an OpenCL buffer.
template <class Address>
concept buffer_address = std::same_as<Address, handle_offset<cl_mem>::address>;

namespace detail {

// The context and the device of a queue.
struct queue_target {
    cl_context context = nullptr;
    cl_device_id device = nullptr;
    std::size_t base_align = 1;  // of buffers and sub-buffers, in bytes
    bool unified = false;        // the device shares the host's memory

    [[nodiscard]] bool has(cl_mem object) const noexcept {
        cl_context of = nullptr;
        ::clGetMemObjectInfo(object, CL_MEM_CONTEXT, sizeof of, &of, nullptr);
        return of != nullptr && of == context;
    }
};
[[nodiscard]] inline cl_result<queue_target> target_of(const cl::CommandQueue& queue) noexcept {
    queue_target found;
    cl_bool unified = CL_FALSE;
    cl_int status = ::clGetCommandQueueInfo(queue(), CL_QUEUE_CONTEXT, sizeof found.context, &found.context, nullptr);
    if (status == CL_SUCCESS)
        status = ::clGetCommandQueueInfo(queue(), CL_QUEUE_DEVICE, sizeof found.device, &found.device, nullptr);
    if (status == CL_SUCCESS)
        status = ::clGetDeviceInfo(found.device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, nullptr);
    if (status != CL_SUCCESS) return cl_result<queue_target>::failure(status);
    found.base_align = base_align_of(cl::Device{found.device, true});
    if (found.base_align == 0) return cl_result<queue_target>::failure(CL_INVALID_DEVICE);
    found.unified = unified == CL_TRUE;
    return found;
}
// Without a valid queue, a target that has no buffers, so that every copy falls back or fails.
[[nodiscard]] inline queue_target target_or_none(const cl::CommandQueue& queue) noexcept {
    const auto found = target_of(queue);
    return found ? *found : queue_target{};
}

}  // namespace detail

/// Memory whose bytes are in OpenCL buffers.
template <class Memory>
concept buffer_memory = buffer_address<typename Memory::address_model::address>;

/// Whether a copy may map a buffer. A map waits for the earlier work of an in-order queue, and no kernel may run on a
/// buffer that is mapped for writing.
enum class mapping : unsigned char {
    allowed,  ///< The host copies where it has the buffer's memory.
    never,    ///< The driver transfers, after the earlier work of the queue and without a wait of the host.
};

/// A copy method for `copy_tensor` between the host and buffers, and between buffers of the queue's context. If a
/// buffer is in host memory (created with CL_MEM_USE_HOST_PTR or CL_MEM_ALLOC_HOST_PTR, or on a device with
/// CL_DEVICE_HOST_UNIFIED_MEMORY), the object maps it and the host copies, unless `mapping::never` forbids it.
/// Otherwise the driver transfers. Leaves buffers of another context to the next method.
class queue_copy {
    using address = handle_offset<cl_mem>::address;

public:
    /// Enqueues copies in this queue.
    explicit queue_copy(cl::CommandQueue queue, mapping maps = mapping::allowed) noexcept
        : queue_{std::move(queue)}, target_{detail::target_or_none(queue_)}, maps_{maps} {}

    /// Copies host bytes to a buffer. A transfer is complete after `finish`.
    template <host_memory From, buffer_memory To>
    [[nodiscard]] copied copy(const void* from, address to, std::size_t bytes) const noexcept {
        if (!target_.has(to.handle)) return copy_path::none;
        if (host_has(to.handle))
            return copy_mapped(to, CL_MAP_WRITE_INVALIDATE_REGION, bytes,
                               [=](void* mapped) { std::memcpy(mapped, from, bytes); });
        return answer(copy_path::to_device, ::clEnqueueWriteBuffer(queue_(), to.handle, CL_FALSE, to.offset, bytes,
                                                                   from, 0, nullptr, nullptr));
    }
    /// Copies bytes of a buffer to the host. A transfer is complete after `finish`.
    template <buffer_memory From, host_memory To>
    [[nodiscard]] copied copy(address from, void* to, std::size_t bytes) const noexcept {
        if (!target_.has(from.handle)) return copy_path::none;
        if (host_has(from.handle))
            return copy_mapped(from, CL_MAP_READ, bytes, [=](const void* mapped) { std::memcpy(to, mapped, bytes); });
        return answer(copy_path::from_device, ::clEnqueueReadBuffer(queue_(), from.handle, CL_FALSE, from.offset, bytes,
                                                                    to, 0, nullptr, nullptr));
    }
    /// Enqueues a copy between buffers.
    template <buffer_memory From, buffer_memory To>
    [[nodiscard]] copied copy(address from, address to, std::size_t bytes) const noexcept {
        if (!target_.has(from.handle) || !target_.has(to.handle)) return copy_path::none;
        return answer(copy_path::on_device, ::clEnqueueCopyBuffer(queue_(), from.handle, to.handle, from.offset,
                                                                  to.offset, bytes, 0, nullptr, nullptr));
    }
    /// Waits for the queue if host memory takes part in the copy; does not wait for copies between buffers. Returns
    /// OpenCL's code.
    [[nodiscard]] long finish(copy_path longest) const noexcept {
        return longest == copy_path::on_device ? CL_SUCCESS : ::clFinish(queue_());
    }
    /// Returns the queue.
    [[nodiscard]] const cl::CommandQueue& queue() const noexcept { return queue_; }

private:
    [[nodiscard]] static copied answer(copy_path path, cl_int status) noexcept {
        return status == CL_SUCCESS ? copied{path} : copied::failure(status);
    }
    [[nodiscard]] bool host_has(cl_mem buffer) const noexcept {
        if (maps_ == mapping::never) return false;
        cl_mem_flags flags = 0;
        ::clGetMemObjectInfo(buffer, CL_MEM_FLAGS, sizeof flags, &flags, nullptr);
        if ((flags & (CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY)) != 0) return false;
        return target_.unified || (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR)) != 0;
    }
    template <class Use>
    [[nodiscard]] copied copy_mapped(address at, cl_map_flags flags, std::size_t bytes, Use&& use) const noexcept {
        cl_int status = CL_SUCCESS;
        void* const mapped =
            ::clEnqueueMapBuffer(queue_(), at.handle, CL_TRUE, flags, at.offset, bytes, 0, nullptr, nullptr, &status);
        if (status != CL_SUCCESS) return copied::failure(status);
        use(mapped);
        return answer(copy_path::mapped, ::clEnqueueUnmapMemObject(queue_(), at.handle, mapped, 0, nullptr, nullptr));
    }

    cl::CommandQueue queue_;
    detail::queue_target target_;
    mapping maps_;
};

/// A copy method for `copy_tensor` between the host and buffers. The device reads or writes the host's bytes in place
/// (CL_MEM_USE_HOST_PTR). Use it for drivers that import without a copy, for example those of integrated GPUs for whole
/// pages. Leaves bytes at an unsuitable alignment to the next method: pass `queue_copy` after it.
class import_copy {
    using address = handle_offset<cl_mem>::address;

public:
    /// Enqueues copies in this queue.
    explicit import_copy(cl::CommandQueue queue) noexcept
        : queue_{std::move(queue)}, target_{detail::target_or_none(queue_)} {}

    /// Copies host bytes to a buffer, and waits.
    template <host_memory From, buffer_memory To>
    [[nodiscard]] copied copy(const void* from, address to, std::size_t bytes) const noexcept {
        if (!target_.has(to.handle) || !can_import(from)) return copy_path::none;
        cl_int status = CL_SUCCESS;
        const cl::Buffer source = buffer_over(const_cast<void*>(from), bytes, CL_MEM_READ_ONLY, status);
        if (status == CL_SUCCESS)
            status = ::clEnqueueCopyBuffer(queue_(), source(), to.handle, 0, to.offset, bytes, 0, nullptr, nullptr);
        return finish(status);
    }
    /// Copies bytes of a buffer to the host, and waits.
    template <buffer_memory From, host_memory To>
    [[nodiscard]] copied copy(address from, void* to, std::size_t bytes) const noexcept {
        if (!target_.has(from.handle) || !can_import(to)) return copy_path::none;
        cl_int status = CL_SUCCESS;
        const cl::Buffer target = buffer_over(to, bytes, CL_MEM_READ_WRITE, status);
        if (status == CL_SUCCESS)
            status = ::clEnqueueCopyBuffer(queue_(), from.handle, target(), from.offset, 0, bytes, 0, nullptr, nullptr);
        if (status == CL_SUCCESS) status = ::clFinish(queue_());
        if (status != CL_SUCCESS) return copied::failure(status);
        // Only mapping guarantees that the host's bytes are current (clCreateBuffer, CL_MEM_USE_HOST_PTR).
        void* const mapped =
            ::clEnqueueMapBuffer(queue_(), target(), CL_TRUE, CL_MAP_READ, 0, bytes, 0, nullptr, nullptr, &status);
        if (status == CL_SUCCESS) status = ::clEnqueueUnmapMemObject(queue_(), target(), mapped, 0, nullptr, nullptr);
        return finish(status);
    }

private:
    [[nodiscard]] bool can_import(const void* bytes) const noexcept {
        return raw_pointer::position(bytes) % target_.base_align == 0;
    }
    [[nodiscard]] cl::Buffer buffer_over(void* bytes, std::size_t size, cl_mem_flags use,
                                         cl_int& status) const noexcept {
        return cl::Buffer{::clCreateBuffer(target_.context, use | CL_MEM_USE_HOST_PTR, size, bytes, &status)};
    }
    [[nodiscard]] copied finish(cl_int status) const noexcept {
        if (status == CL_SUCCESS) status = ::clFinish(queue_());
        return status == CL_SUCCESS ? copied{copy_path::imported} : copied::failure(status);
    }

    cl::CommandQueue queue_;
    detail::queue_target target_;
};

/// A buffer object that begins at its tensor's first byte. Destruction and assignment release the buffer before the
/// tensor, whose bytes it may use; a memberwise assignment would release the tensor first.
template <class Tensor>
struct tensor_buffer {
    Tensor of{};           ///< The tensor, which stays alive.
    cl::Buffer buffer{};   ///< The buffer object.
    bool aliases = false;  ///< True if the buffer has the tensor's bytes; false for an independent copy.

    /// Constructs an empty object.
    tensor_buffer() noexcept = default;
    /// Constructs the object from its members.
    tensor_buffer(Tensor tensor, cl::Buffer made, bool same) noexcept
        : of{std::move(tensor)}, buffer{std::move(made)}, aliases{same} {}
    /// Copies the references to the tensor and the buffer.
    tensor_buffer(const tensor_buffer&) noexcept = default;
    /// Moves the references to the tensor and the buffer.
    tensor_buffer(tensor_buffer&&) noexcept = default;
    /// Assigns by swapping.
    tensor_buffer& operator=(tensor_buffer other) noexcept {
        std::swap(of, other.of);
        std::swap(buffer, other.buffer);
        std::swap(aliases, other.aliases);
        return *this;
    }
    /// Releases the buffer and then the tensor.
    ~tensor_buffer() = default;
};

namespace detail {

// Returns the reason why a tensor cannot become a buffer, in any memory, or CL_SUCCESS.
template <class Tensor>
[[nodiscard]] cl_int check_bytes(const Tensor& of) noexcept {
    if (!of) return CL_INVALID_MEM_OBJECT;
    if (of.size() == 0) return CL_INVALID_BUFFER_SIZE;
    return of.is_compact() ? CL_SUCCESS : CL_INVALID_VALUE;
}

}  // namespace detail

/// Returns a sub-buffer over the bytes of a compact tensor. Fails with CL_MISALIGNED_SUB_BUFFER_OFFSET (-13) if the
/// offset does not have the alignment of `device`, also on drivers that would accept it; CL_INVALID_MEM_OBJECT (-38)
/// inside a sub-buffer and for a killed tensor; CL_INVALID_BUFFER_SIZE (-61) for a tensor without elements;
/// CL_INVALID_VALUE (-30) for a tensor that is not compact; otherwise with the driver's code.
template <class Lease>
    requires buffer_address<typename tensor<Lease>::address_type>
[[nodiscard]] cl_result<tensor_buffer<tensor<Lease>>> sub_buffer(const tensor<Lease>& of,
                                                                 const cl::Device& device) noexcept {
    using answer = cl_result<tensor_buffer<tensor<Lease>>>;
    if (const cl_int reason = detail::check_bytes(of); reason != CL_SUCCESS) return answer::failure(reason);
    const auto made = detail::sub_buffer_of({of.data(), of.byte_offset()}, of.size_bytes(), device);
    if (!made) return answer::failure(made.error());
    return tensor_buffer<tensor<Lease>>{of, *made, true};
}

/// Returns a buffer object with the tensor's bytes: a sub-buffer if possible, otherwise a copy in the order of the
/// queue (`aliases` is false). Fails like `sub_buffer` for an empty, killed or non-compact tensor, and with the
/// driver's code.
template <class Lease>
    requires buffer_address<typename tensor<Lease>::address_type>
[[nodiscard]] cl_result<tensor_buffer<tensor<Lease>>> as_buffer(const tensor<Lease>& of,
                                                                const cl::CommandQueue& queue) noexcept {
    using answer = cl_result<tensor_buffer<tensor<Lease>>>;
    const auto target = detail::target_of(queue);
    if (!target) return answer::failure(target.error());
    const auto shared = sub_buffer(of, cl::Device{target->device, true});
    if (shared) return shared;
    const bool must_copy = shared.error() == CL_MISALIGNED_SUB_BUFFER_OFFSET ||
                           (shared.error() == CL_INVALID_MEM_OBJECT && static_cast<bool>(of));
    if (!must_copy) return shared;
    cl_int status = CL_SUCCESS;
    const cl::Buffer copy{::clCreateBuffer(target->context, CL_MEM_READ_WRITE, of.size_bytes(), nullptr, &status)};
    if (status != CL_SUCCESS) return answer::failure(status);
    status =
        ::clEnqueueCopyBuffer(queue(), of.data(), copy(), of.byte_offset(), 0, of.size_bytes(), 0, nullptr, nullptr);
    if (status != CL_SUCCESS) return answer::failure(status);
    return tensor_buffer<tensor<Lease>>{of, copy, false};
}

/// Returns a buffer object with a host tensor's bytes: imported if the address has the device's alignment, otherwise a
/// copy (`aliases` is false). While kernels use an imported buffer, the host accesses its bytes only between
/// clEnqueueMapBuffer and the unmap. Keep the object until the kernels have finished. Fails like `sub_buffer`.
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
    const cl_mem made = ::clCreateBuffer(target->context, CL_MEM_READ_WRITE | how, of.size_bytes(), of.data(), &status);
    if (status != CL_SUCCESS) return answer::failure(status);
    return tensor_buffer<tensor<Lease>>{of, cl::Buffer{made}, aligned};
}

}  // namespace opencl
}  // namespace v1
}  // namespace allot
