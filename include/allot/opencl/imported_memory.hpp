// SPDX-License-Identifier: BSL-1.0
// opencl::imported_memory: memory of another driver as an OpenCL buffer (cl_khr_external_memory).
//
//     auto shared = frames.device().export_memory(frames.regions()[0]);     // dma::heap, vulkan::exported_memory, …
//     allot::arena<allot::opencl::imported_memory, allot::best_fit<>> memory{{context, device, std::move(*shared)}};
//     auto x = memory.allocate({.size = 4096, .align = 64});                // a cl_mem and an offset
//     memory.device().enqueue_acquire(queue);                               // before kernels use the bytes
//     …
//     memory.device().enqueue_release(queue);                               // before the other driver uses them
//
//     other driver │ region …              │
//                      ▲ the same bytes
//     cl_mem       │ … x at the same offset │
//
// When to use: for kernels that read or write buffers of a camera, a codec, Vulkan or another process in place.
// When not to use: for bytes of the host: `imported` (opencl/imported.hpp).
//
// The code relies on these rules of OpenCL (specification 3.0, cl_khr_external_memory):
//   - The device lists the kinds of handles that it imports (CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR).
//   - A successful import transfers the descriptor to the implementation; a failed one does not. Therefore each
//     `acquire` passes a duplicate and closes it only if clCreateBufferWithProperties fails.
//   - An opaque descriptor is of the same device: its identifier is that of cl_khr_device_uuid, if the driver has it.
//   - The flags contain none of CL_MEM_USE_HOST_PTR, CL_MEM_ALLOC_HOST_PTR and CL_MEM_COPY_HOST_PTR.
//   - A command uses the buffer only between clEnqueueAcquireExternalMemObjectsKHR and
//     clEnqueueReleaseExternalMemObjectsKHR. While it is acquired, all access, also of the host, goes through OpenCL.
// OpenCL exports no memory: use `dma::heap`, `dma::udmabuf` or Vulkan on the other side.
//
// Complexity: one driver call and one system call for the region.
// Memory: the descriptor and 80 bytes.
// Thread safety: none.
#pragma once

#include <allot/external/crossing.hpp>
#include <allot/opencl/buffer.hpp>

#include <algorithm>

#if !defined(CL_VERSION_3_0) || !defined(cl_khr_external_memory)
#error \
    "allot: opencl/imported_memory.hpp requires OpenCL headers of 2021 or later, and CL_HPP_TARGET_OPENCL_VERSION=300"
#endif

namespace allot {
inline namespace v1 {
namespace opencl {

/// The device whose only region is a buffer over memory of another driver.
class imported_memory : public traits_of<buffer> {
public:
    using error = cl_int;  ///< OpenCL's error codes.
    /// The kinds of handles that some drivers accept. `acquire` asks this driver.
    static constexpr external::handle_kinds imports{.dma_buf = true, .opaque_fd = true};

    /// Keeps the memory for the kernels of `context` on `device`. `acquire` imports it.
    imported_memory(cl::Context context, const cl::Device& device, external::memory from,
                    cl_mem_flags flags = CL_MEM_READ_WRITE)
        : context_{std::move(context)},
          device_{device},
          from_{std::move(from)},
          flags_{flags},
          base_align_{detail::base_align_of(device)},
          largest_{detail::device_info<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE)} {}

    /// Returns the imported memory.
    [[nodiscard]] const external::memory& source() const noexcept { return from_; }
    /// Returns the size of the memory in bytes.
    [[nodiscard]] std::size_t capacity() const noexcept { return from_.about().size; }
    /// Returns the alignment of every buffer's base on this device, in bytes.
    [[nodiscard]] std::size_t base_align() const noexcept { return base_align_; }

    /// Imports all of the memory. Fails with CL_INVALID_DEVICE (-33) without a device, if it does not import this kind
    /// of handle, or if the opaque descriptor is of another device; CL_INVALID_OPERATION (-59) while the region is
    /// held; CL_INVALID_PROPERTY (-64) if there is no memory; CL_INVALID_BUFFER_SIZE (-61) for a size of 0, above the
    /// capacity or above the device's limit; CL_MISALIGNED_SUB_BUFFER_OFFSET (-13) for an alignment that is not a power
    /// of two or exceeds `base_align()`; CL_OUT_OF_HOST_MEMORY (-6) without free descriptors; otherwise with the
    /// driver's code.
    [[nodiscard]] acquired<imported_memory> acquire(layout wanted) noexcept {
        using answer = acquired<imported_memory>;
        if (!from_) return answer::failure(CL_INVALID_PROPERTY);
        if (base_align_ == 0 || !is_importable() || is_of_another_device()) return answer::failure(CL_INVALID_DEVICE);
        if (handle_ != nullptr) return answer::failure(CL_INVALID_OPERATION);
        if (wanted.size == 0 || wanted.size > capacity() || capacity() > largest_)
            return answer::failure(CL_INVALID_BUFFER_SIZE);
        if (!is_alignment(wanted.align) || wanted.align > base_align_)
            return answer::failure(CL_MISALIGNED_SUB_BUFFER_OFFSET);
        auto copy = from_.duplicate();
        if (!copy) return answer::failure(CL_OUT_OF_HOST_MEMORY);
        const cl_mem_properties wished[] = {type(),      static_cast<cl_mem_properties>(copy->descriptor()),
                                            device_list, reinterpret_cast<cl_mem_properties>(device_()),
                                            0,           0};
        cl_int status = CL_SUCCESS;
        const cl_mem made = ::clCreateBufferWithProperties(context_(), wished, flags_, capacity(), nullptr, &status);
        if (status != CL_SUCCESS) return answer::failure(status);
        static_cast<void>(copy->release());  // the implementation owns the descriptor
        handle_ = made;
        return region<address_model::address>{{made, 0}, capacity(), base_align_};
    }
    /// Releases the buffer. The memory stays with the other driver and with this device.
    void release(region<address_model::address> held) noexcept {
        ::clReleaseMemObject(held.base.handle);
        handle_ = nullptr;
    }

    /// Enqueues the command after which commands may use the buffer. `after` are the events to wait for; `done`
    /// receives the command's event. Fails with CL_INVALID_OPERATION (-59) without a region or without the driver's
    /// function, otherwise with the driver's code.
    [[nodiscard]] cl_int enqueue_acquire(const cl::CommandQueue& queue, const std::vector<cl::Event>* after = nullptr,
                                         cl::Event* done = nullptr) const noexcept {
        return enqueue("clEnqueueAcquireExternalMemObjectsKHR", queue, after, done);
    }
    /// Enqueues the command after which the other driver may use the memory. Otherwise like `enqueue_acquire`.
    [[nodiscard]] cl_int enqueue_release(const cl::CommandQueue& queue, const std::vector<cl::Event>* after = nullptr,
                                         cl::Event* done = nullptr) const noexcept {
        return enqueue("clEnqueueReleaseExternalMemObjectsKHR", queue, after, done);
    }

private:
    // CL_DEVICE_HANDLE_LIST_KHR, or CL_MEM_DEVICE_HANDLE_LIST_KHR in newer headers. The list ends with 0.
    static constexpr cl_mem_properties device_list = 0x2051;
    static constexpr cl_device_info device_uuid = 0x106A;  // CL_DEVICE_UUID_KHR

    [[nodiscard]] cl_external_memory_handle_type_khr type() const noexcept {
        return from_.about().kind == external::handle_kind::dma_buf ? CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR
                                                                    : CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR;
    }
    [[nodiscard]] bool is_importable() const noexcept {
        cl_external_memory_handle_type_khr types[16];
        std::size_t size = 0;
        if (::clGetDeviceInfo(device_(), CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR, sizeof types, types,
                              &size) != CL_SUCCESS)
            return false;
        auto* const end = types + size / sizeof *types;
        return std::find(types, end, type()) != end;
    }
    // An opaque descriptor belongs to one device. Devices with cl_khr_device_uuid report the identifier.
    [[nodiscard]] bool is_of_another_device() const noexcept {
        const external::properties& about = from_.about();
        const auto here = detail::device_info<external::uuid>(device_, device_uuid);
        return about.kind == external::handle_kind::opaque_fd && about.device != external::uuid{} &&
               here != external::uuid{} && here != about.device;
    }
    [[nodiscard]] cl_int enqueue(const char* name, const cl::CommandQueue& queue, const std::vector<cl::Event>* after,
                                 cl::Event* done) const noexcept {
        const auto platform = detail::device_info<cl_platform_id>(device_, CL_DEVICE_PLATFORM);
        const auto function = reinterpret_cast<clEnqueueAcquireExternalMemObjectsKHR_fn>(
            ::clGetExtensionFunctionAddressForPlatform(platform, name));
        if (handle_ == nullptr || function == nullptr) return CL_INVALID_OPERATION;
        const bool waits = after != nullptr && !after->empty();
        cl_event made = nullptr;
        const cl_int status =
            function(queue(), 1, &handle_, waits ? static_cast<cl_uint>(after->size()) : 0,
                     waits ? reinterpret_cast<const cl_event*>(after->data()) : nullptr, done ? &made : nullptr);
        if (status == CL_SUCCESS && done != nullptr) *done = cl::Event{made};
        return status;
    }

    cl::Context context_;
    cl::Device device_;
    external::memory from_;
    cl_mem_flags flags_;
    std::size_t base_align_;
    cl_ulong largest_;
    cl_mem handle_ = nullptr;
};

static_assert(external::importable<imported_memory>);

}  // namespace opencl
}  // namespace v1
}  // namespace allot
