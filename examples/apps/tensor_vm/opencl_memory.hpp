// SPDX-License-Identifier: BSL-1.0
// opencl: scope global.vtcm is a buffer of an OpenCL device. A tensor is the buffer's handle and a byte offset. Kernels
// take both, and for a discontiguous tensor the table, whose entries are offsets. The host never accesses the buffer.
//
//     argument   cl_mem, offset, entries, elements of a row      three times: a, b and c
//
// All commands use one in-order queue.
#pragma once

#include "host_memory.hpp"

#include <allot/opencl/buffer.hpp>

namespace vm {

inline constexpr const char* opencl_source = R"(
#define ELEMENT(T, NAME) \
    ((global T*)(NAME + NAME##_offset + NAME##_rows[i / NAME##_row_elements]))[i % NAME##_row_elements]
#define OPERAND(NAME) \
    global uchar* NAME, ulong NAME##_offset, global const uint* NAME##_rows, ulong NAME##_row_elements
#define KERNEL(NAME, T, SIGN) \
    kernel void NAME(OPERAND(a), OPERAND(b), OPERAND(c)) { \
        const ulong i = get_global_id(0); \
        ELEMENT(T, c) = ELEMENT(T, a) SIGN ELEMENT(T, b); \
    }
#define KERNELS(NAME, SIGN) \
    KERNEL(NAME##_int32, uint, SIGN) KERNEL(NAME##_int64, ulong, SIGN) KERNEL(NAME##_float32, float, SIGN)
KERNELS(add, +)
KERNELS(subtract, -)
KERNELS(multiply, *)
)";

class opencl_memory : public host_access {
    using address = allot::handle_offset<cl_mem>::address;
    using buffer_operand = operand<address>;

    static void check(cl_int status, const char* what) {
        if (status != CL_SUCCESS)
            throw unavailable{std::string{"OpenCL: "} + what + " failed with " + std::to_string(status)};
    }
    /// Returns the first device of the first platform that has a device.
    [[nodiscard]] static cl::Device first_device() {
        std::vector<cl::Platform> platforms;
        static_cast<void>(cl::Platform::get(&platforms));
        for (const cl::Platform& platform : platforms) {
            std::vector<cl::Device> devices;
            if (platform.getDevices(CL_DEVICE_TYPE_ALL, &devices) == CL_SUCCESS && !devices.empty()) return devices[0];
        }
        throw unavailable{"no OpenCL platform has a device (Debian's pocl-opencl-icd provides one)"};
    }

    [[nodiscard]] static cl::CommandQueue queue_of(const cl::Context& context, const cl::Device& device) {
        cl_int status = CL_SUCCESS;
        cl::CommandQueue made{context, device, cl::QueueProperties::None, &status};
        check(status, "creating a queue");
        return made;
    }
    [[nodiscard]] static cl::Program kernels_of(const cl::Context& context, const cl::Device& device) {
        cl::Program made{context, opencl_source};
        if (made.build() != CL_SUCCESS)
            throw std::runtime_error{"OpenCL: the kernels failed to compile: " +
                                     made.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device)};
        return made;
    }

    cl::Device device_;
    cl::Context context_;
    cl::CommandQueue queue_;
    cl::Program kernels_;

public:
    using vtcm_allocator = allot::arena<allot::opencl::buffer, placement>;

    explicit opencl_memory(const memory_sizes& sizes)
        : device_{first_device()},
          context_{device_},
          queue_{queue_of(context_, device_)},
          kernels_{kernels_of(context_, device_)},
          global{arena_of<heap_arena>({}, sizes.global)},
          vtcm{arena_of<vtcm_allocator>({context_, device_}, sizes.vtcm),
               arena_of<vtcm_allocator>({context_, device_}, sizes.vtcm)} {}
    opencl_memory(const opencl_memory&) = delete;
    opencl_memory& operator=(const opencl_memory&) = delete;
    ~opencl_memory() { queue_.finish(); }  // before the buffers are released

    using host_access::copy;
    [[nodiscard]] long copy(const void* from, address to, std::size_t bytes) const noexcept {
        return ::clEnqueueWriteBuffer(queue_(), to.handle, CL_TRUE, to.offset, bytes, from, 0, nullptr, nullptr);
    }
    [[nodiscard]] long copy(address from, void* to, std::size_t bytes) const noexcept {
        return ::clEnqueueReadBuffer(queue_(), from.handle, CL_TRUE, from.offset, bytes, to, 0, nullptr, nullptr);
    }
    [[nodiscard]] long copy(address from, address to, std::size_t bytes) const noexcept {
        return ::clEnqueueCopyBuffer(queue_(), from.handle, to.handle, from.offset, to.offset, bytes, 0, nullptr,
                                     nullptr);
    }

    using host_access::run;
    [[nodiscard]] long run(operation what, allot::dtype type, std::size_t count, const buffer_operand& a,
                           const buffer_operand& b, const buffer_operand& c) const {
        std::string name{operation_names[static_cast<std::size_t>(what)]};
        if (!with_element(type, [&](auto element) { name += std::string{"_"} + name_of(element); })) return -1;
        cl_int status = CL_SUCCESS;
        cl::Kernel kernel{kernels_, name.c_str(), &status};
        if (status != CL_SUCCESS) return status;
        cl_uint index = 0;
        cl::Buffer entries[3];  // an enqueued kernel holds a reference to these buffers, a kernel argument does not
        for (const buffer_operand* const each : {&a, &b, &c}) {
            if (status = set_operand(kernel, index, *each, entries[index / 4]); status != CL_SUCCESS) return status;
            index += 4;
        }
        return queue_.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange{count});
    }

private:
    static constexpr std::uint32_t no_rows[] = {0};  // one row, at the operand's own offset

    [[nodiscard]] cl_int set_operand(cl::Kernel& kernel, cl_uint index, const buffer_operand& of,
                                     cl::Buffer& entries) const {
        const std::span<const std::uint32_t> rows = of.rows.empty() ? std::span{no_rows} : of.rows;
        cl_int status = allot::opencl::set_arg(kernel, index, of);
        if (status != CL_SUCCESS) return status;
        entries = cl::Buffer{context_, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, rows.size_bytes(),
                             const_cast<std::uint32_t*>(rows.data()), &status};
        if (status != CL_SUCCESS) return status;
        if (status = kernel.setArg(index + 2, entries); status != CL_SUCCESS) return status;
        return kernel.setArg(index + 3, static_cast<cl_ulong>(of.row_elements));
    }

public:
    heap_arena global;
    vtcm_allocator vtcm[2];
};

}  // namespace vm
