// SPDX-License-Identifier: BSL-1.0
// The process that uses the frames of the camera process, as tensors and in an OpenCL kernel.
#pragma once

#include "buffer.hpp"
#include "copies.hpp"

#include <allot/compose/adopted.hpp>
#include <allot/opencl/imported.hpp>

#include <cstring>
#include <iostream>
#include <numeric>
#include <thread>

/// Thrown when this machine has no OpenCL.
struct unavailable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The step at which the program makes a deliberate copy, to check the counting.
enum class copying { nowhere, camera, tensor, kernel };

class runtime {
public:
    /// `mapped` is the address of the buffer in this process and in the camera process, its parent.
    runtime(line camera_line, pid_t camera, void* mapped, copying where)
        : camera_line_{std::move(camera_line)},
          camera_{camera},
          mapped_{static_cast<std::byte*>(mapped)},
          where_{where} {
        const cl::Program program{context_, source};
        const auto define = [](const char* name, std::int64_t value) { return name + ("=" + std::to_string(value)); };
        const std::string options = define("-Dcolour", colour) + define(" -Dkernel_runs", kernel_runs) +
                                    define(" -Dkernel_saw_host", kernel_saw_host) + define(" -Dcolumns", columns);
        if (program.build(options.c_str()) != CL_SUCCESS)
            throw std::runtime_error{"the kernel: " + program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device_)};
        kernel_ = cl::Kernel{program, "sum_rows"};
        if (where_ == copying::tensor)
            own_ = must(allot::alloc_storage(heap_, {.size = buffer_size, .align = 4096}), "a copy");
    }

    /// Processes all frames. Returns the number of copies.
    std::size_t run() {
        std::int64_t offset = 0, frames = 0;
        for (; camera_line_.hear(offset); ++frames) {
            into_buffer_ += static_cast<std::size_t>(answer());
            take(offset);
        }
        if (frames != frame_count) throw std::runtime_error{"the camera is gone"};
        std::cout << frames << " frames of " << sums_behind << " bytes\n";
        std::cout << "physical pages: ";
        if (pages_ == 0) std::cout << "hidden from this user\n";
        else std::cout << same_pages_ << " of " << pages_ << " are the camera's, in " << runs_ << " runs\n";
        std::cout << "copies, into the buffer: " << into_buffer_ << "\ncopies, camera to tensor: " << to_tensor_
                  << "\ncopies, tensor to kernel: " << to_kernel_ << "\ncopies, kernel to camera: " << back_ << '\n';
        return into_buffer_ + to_tensor_ + to_kernel_ + back_;
    }

private:
    // Row 0 signals that it runs, and then waits for the host to change a pixel. The wait is limited, because the
    // kernel may have a copy.
    static constexpr const char* source = R"(
        kernel void sum_rows(global uchar* in, ulong pixels_at, global uchar* out, ulong sums_at) {
            volatile global uint* pixels = (volatile global uint*)(in + pixels_at);
            const size_t row = get_global_id(0);
            if (row == 0) {
                const uint before = pixels[0];
                pixels[1] |= kernel_runs;
                for (uint patience = 1u << 31; patience != 0 && pixels[0] == before; --patience) {}
                if (pixels[0] != before) pixels[1] |= kernel_saw_host;
            }
            ulong sum = 0;
            for (uint i = 0; i != columns; ++i) sum += pixels[row * columns + i] & colour;
            ((global ulong*)(out + sums_at))[row] = sum;
        })";

    static cl::Device first_device() {
        std::vector<cl::Platform> platforms;
        const cl_int status = cl::Platform::get(&platforms);
        for (const cl::Platform& platform : platforms) {
            std::vector<cl::Device> devices;
            if (platform.getDevices(CL_DEVICE_TYPE_ALL, &devices) == CL_SUCCESS && !devices.empty()) return devices[0];
        }
        throw unavailable{"no OpenCL platform has a device (clGetPlatformIDs: " + std::to_string(status) + ")"};
    }
    static void check(cl_int status, const char* what) {
        if (status != CL_SUCCESS)
            throw std::runtime_error{std::string{"OpenCL: "} + what + " failed with " + std::to_string(status)};
    }

    std::int64_t answer() {
        std::int64_t number = 0;
        if (!camera_line_.hear(number)) throw std::runtime_error{"the camera is gone"};
        return number;
    }

    void take(std::int64_t offset) {
        const step to_tensor;
        std::byte* bytes = mapped_;
        if (where_ == copying::tensor) {
            bytes = static_cast<std::byte*>(own_.base());
            std::memcpy(bytes + offset, mapped_ + offset, slot);
        }
        allot::naive memory{allot::adopted{static_cast<void*>(bytes), buffer_size, [](void*) noexcept {}}};
        const auto buffer = buffer_in(memory);
        const frame_in frame{buffer, offset};
        camera_line_.tell(0);  // the tensor exists; the camera now changes a pixel
        answer();
        const auto* const pixels = static_cast<const std::uint32_t*>(frame.pixels.data());
        const std::int64_t sum =
            std::accumulate(pixels, pixels + frame.pixels.size(), std::int64_t{0},
                            [](std::int64_t so_far, std::uint32_t each) { return so_far + (each & colour); });
        const bool same_pages = compare_pages(mapped_ + offset, frame.pixels);
        to_tensor_ += to_tensor.copies((pixel(frame.pixels, 0) & from_camera) != 0 && same_pages);

        const step to_kernel;
        if (where_ == copying::kernel) {
            const cl::Buffer copy{context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, buffer_size, bytes};
            auto keep = [](auto) noexcept {};  // `copy` releases it
            using adopted = allot::adopted<allot::opencl::buffer, decltype(keep)>;
            sum_rows(adopted{{copy(), 0}, buffer_size, buffer_align, keep}, frame, offset, sum, to_kernel);
        } else {
            sum_rows(allot::opencl::imported{context_, device_, bytes, buffer_size}, frame, offset, sum, to_kernel);
        }
    }

    /// Counts the pages of the tensor that are the camera's physical pages, if the kernel reveals them.
    template <class Tensor>
    bool compare_pages(const void* in_camera, const Tensor& pixels) {
        const auto theirs = physical_pages(camera_, in_camera, pixels.size_bytes());
        const auto ours = physical_pages(::getpid(), pixels.data(), pixels.size_bytes());
        if (theirs.empty() || ours.empty()) return true;
        for (std::size_t i = 0; i != ours.size(); ++i) {
            same_pages_ += ours[i] == theirs[i] && ours[i] != 0;
            runs_ += i == 0 || ours[i] != ours[i - 1] + 1;
        }
        pages_ += ours.size();
        return ours == theirs;
    }

    /// Runs the kernel on the frame's bytes in `device`, and makes the sums visible to the camera.
    template <class Device, class Frame>
    void sum_rows(Device device, const Frame& frame, std::int64_t offset, std::int64_t sum, const step& to_kernel) {
        allot::naive memory{std::move(device)};
        const auto buffer = buffer_in(memory);
        const frame_in arguments{buffer, offset};  // the same offset, with a cl_mem
        check(allot::opencl::set_arg(kernel_, 0, arguments.pixels), "setting the pixels");
        check(allot::opencl::set_arg(kernel_, 2, arguments.sums), "setting the sums");
        std::jthread host{[&](std::stop_token done) {  // some drivers run kernels in the enqueuing thread
            while (!done.stop_requested() && (pixel(frame.pixels, 1) & kernel_runs) == 0) std::this_thread::yield();
            pixel(frame.pixels, 0) |= from_host;
        }};
        check(queue_.enqueueNDRangeKernel(kernel_, cl::NullRange, cl::NDRange{rows}), "enqueueing the kernel");
        check(queue_.finish(), "the kernel");
        host.request_stop();
        host.join();
        to_kernel_ += to_kernel.copies((pixel(frame.pixels, 1) & kernel_saw_host) != 0);

        // A portable program maps the buffer here; without a copy in the driver, mapping is free.
        const step to_camera;
        if (where_ == copying::kernel) {
            const auto at = arguments.sums.address();
            check(::clEnqueueReadBuffer(queue_(), at.handle, CL_TRUE, at.offset, frame.sums.size_bytes(),
                                        frame.sums.data(), 0, nullptr, nullptr),
                  "reading the sums");
        }
        if (where_ == copying::tensor)
            std::memcpy(mapped_ + offset + sums_behind, frame.sums.data(), frame.sums.size_bytes());
        camera_line_.tell(sum);
        back_ += to_camera.copies() + static_cast<std::size_t>(answer());
    }

    line camera_line_;
    pid_t camera_;
    std::byte* mapped_;
    copying where_;
    allot::naive<allot::host::heap> heap_;
    allot::storage<allot::naive<allot::host::heap>> own_;  // for deliberate copies
    cl::Device device_{first_device()};
    cl::Context context_{device_};
    cl::CommandQueue queue_{context_, device_};
    cl::Kernel kernel_;
    std::size_t into_buffer_ = 0, to_tensor_ = 0, to_kernel_ = 0, back_ = 0, pages_ = 0, same_pages_ = 0, runs_ = 0;
};
