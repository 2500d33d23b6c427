// SPDX-License-Identifier: BSL-1.0
// opencl: the same plan in one OpenCL buffer. The host accesses no byte: kernels get each tensor as the buffer's handle
// and a byte offset. The partial sums of a step are in the same storage as the tensors.
//
//     one cl_mem   │ sums │ final sums │ t4 │  t0   │      t2      │ … │
//
// All work goes through one in-order queue. The bytes of a tensor can therefore be reused as soon as the last kernel
// that reads them is enqueued.
#pragma once

#include "storages.hpp"

#include <allot/opencl/buffer.hpp>

#include <array>

namespace demo {

namespace opencl {

inline void check(cl_int status, const char* what) {
    if (status != CL_SUCCESS)
        throw std::runtime_error{std::string{"OpenCL: "} + what + " failed with " + std::to_string(status)};
}

/// A device, its queue and the kernels; created once for all networks.
struct system {
    cl::Device device;
    cl::Context context;
    cl::CommandQueue queue;
    cl::Program program;

    /// Selects the first device of the first platform with a device. Throws `unavailable` if there is no device.
    system() : device{first_device()}, context{device} {
        cl_int status = CL_SUCCESS;
        queue = cl::CommandQueue{context, device, cl::QueueProperties::None, &status};
        check(status, "creating a queue");
        program = cl::Program{context, std::string{mix::shared_source} + mix::kernel_source};
        if (program.build() != CL_SUCCESS)
            throw std::runtime_error{"OpenCL: cannot compile the kernels: " +
                                     program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device)};
    }

    [[nodiscard]] static cl::Device first_device() {
        std::vector<cl::Platform> platforms;
        const cl_int status = cl::Platform::get(&platforms);
        for (const cl::Platform& platform : platforms) {
            std::vector<cl::Device> devices;
            if (platform.getDevices(CL_DEVICE_TYPE_ALL, &devices) == CL_SUCCESS && !devices.empty()) return devices[0];
        }
        throw unavailable{platforms.empty() ? "no OpenCL platform is installed (error " + std::to_string(status) +
                                                  "; Debian's pocl-opencl-icd runs on any processor)"
                                            : "no OpenCL platform has a device"};
    }
};

}  // namespace opencl

class opencl_memory {
    static constexpr std::size_t items = 64, group = 8;  // work items of a kernel, each with a partial sum
    static constexpr std::size_t sums_bytes = items * sizeof(cl_ulong);

public:
    opencl_memory(const network& net, tally& counts, const opencl::system& system)
        : queue_{system.queue},
          absorb_{system.program, "absorb"},
          produce_{system.program, "produce"},
          step_sums_{net.tensors.size()},
          final_sums_{net.tensors.size() + 1},
          net_{with_sums(net)},
          device_{system.context, system.device},
          places_{net_, counts, device_, device_.base_align()},
          tensors_(net_.tensors.size()) {
        begin(step_sums_);
        begin(final_sums_);
    }
    opencl_memory(const opencl_memory&) = delete;
    opencl_memory& operator=(const opencl_memory&) = delete;
    ~opencl_memory() { queue_.finish(); }  // before the buffer is released

    void begin(std::size_t t) { tensors_[t] = places_.take(t); }
    void end(std::size_t t) { tensors_[t] = {}; }

    void start_step() { step_is_fresh_ = true; }
    void absorb(std::size_t t, std::size_t number) { add(t, number, step_sums_, step_is_fresh_); }
    void witness(std::size_t t) { add(t, t, final_sums_, final_is_fresh_); }
    void produce(std::size_t t, std::uint64_t salt) { write(t, salt, step_is_fresh_ ? 0 : items); }
    void fill(std::size_t t, std::uint64_t salt) { write(t, salt, 0); }

    [[nodiscard]] std::uint64_t digest() {
        std::array<cl_ulong, items> sums{};
        if (final_is_fresh_) return 0;
        const auto& from = tensors_[final_sums_];
        const cl::Buffer buffer{from.data(), true};  // the storage's handle, borrowed
        opencl::check(queue_.enqueueReadBuffer(buffer, CL_TRUE, from.byte_offset(), sums_bytes, sums.data()),
                      "reading the sums");
        std::uint64_t sum = 0;
        for (const cl_ulong partial : sums) sum += partial;
        return sum;
    }

    [[nodiscard]] std::size_t arena_bytes() const { return places_.arena_bytes(); }

private:
    /// The sums are two additional tensors that live from the first step to the last.
    [[nodiscard]] static network with_sums(network net) {
        tensor sums;
        sums.size = sums_bytes;
        sums.last = net.duration() - 1;
        net.tensors.insert(net.tensors.end(), 2, sums);
        return net;
    }

    void set(cl::Kernel& kernel, std::size_t t, std::size_t sums) {
        opencl::check(allot::opencl::set_arg(kernel, 0, tensors_[t]), "setting a tensor");
        opencl::check(allot::opencl::set_arg(kernel, 2, tensors_[sums]), "setting the sums");
        opencl::check(kernel.setArg(4, static_cast<cl_ulong>(tensors_[t].size_bytes())), "setting a size");
    }
    void enqueue(cl::Kernel& kernel) {
        opencl::check(queue_.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange{items}, cl::NDRange{group}),
                      "enqueueing a kernel");
    }
    void add(std::size_t t, std::size_t number, std::size_t sums, bool& fresh) {
        set(absorb_, t, sums);
        opencl::check(absorb_.setArg(5, static_cast<cl_uint>(number)), "setting a number");
        opencl::check(absorb_.setArg(6, static_cast<cl_uint>(std::exchange(fresh, false))), "setting a flag");
        enqueue(absorb_);
    }
    void write(std::size_t t, std::uint64_t salt, std::size_t partials) {
        set(produce_, t, step_sums_);
        opencl::check(produce_.setArg(5, static_cast<cl_ulong>(salt)), "setting a salt");
        opencl::check(produce_.setArg(6, static_cast<cl_uint>(partials)), "setting a count");
        enqueue(produce_);
    }

    cl::CommandQueue queue_;
    cl::Kernel absorb_, produce_;
    std::size_t step_sums_, final_sums_;
    network net_;
    allot::opencl::buffer device_;
    planned_places<allot::opencl::buffer> places_;
    std::vector<tensor_of<allot::opencl::buffer>> tensors_;
    bool step_is_fresh_ = true, final_is_fresh_ = true;
};

}  // namespace demo
