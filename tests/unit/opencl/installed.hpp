// The installed OpenCL: the first device of the first working platform.
#pragma once

#include <allot/opencl/buffer.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace tests {

/// The objects that every test here needs.
struct installation {
    cl::Device device;
    cl::Context context;
    cl::CommandQueue queue;

    /// The platform and the driver's version, for example "Portable Computing Language 3.1".
    [[nodiscard]] std::string name() const {
        const cl::Platform platform{device.getInfo<CL_DEVICE_PLATFORM>()};
        const std::string maker = platform.getInfo<CL_PLATFORM_NAME>(), version = device.getInfo<CL_DRIVER_VERSION>();
        return version.starts_with(maker) ? version : maker + " " + version;
    }
};

/// Returns the first device of the first working platform, or sets the reason for its absence.
inline std::optional<installation> find_device(std::string& reason) {
    std::vector<cl::Platform> platforms;
    const cl_int status = cl::Platform::get(&platforms);
    if (status != CL_SUCCESS || platforms.empty()) {
        reason = "no OpenCL platform (clGetPlatformIDs: " + std::to_string(status) + ")";
        return std::nullopt;
    }
    reason = "no platform has a device";
    for (const cl::Platform& platform : platforms) {
        std::vector<cl::Device> devices;
        if (platform.getDevices(CL_DEVICE_TYPE_ALL, &devices) != CL_SUCCESS || devices.empty()) continue;
        cl_int error = CL_SUCCESS;
        installation found{devices.front(), cl::Context{devices.front(), nullptr, nullptr, nullptr, &error}, {}};
        if (error == CL_SUCCESS)
            found.queue = cl::CommandQueue{found.context, found.device, cl::QueueProperties{}, &error};
        if (error == CL_SUCCESS) return found;
        reason = "no context or queue on the first device (" + std::to_string(error) + ")";
    }
    return std::nullopt;
}

/// Returns the device. Without a device, the program is skipped. The device is never released, because some drivers are
/// unloaded before a program's static objects are destroyed.
inline installation& opencl() {
    static std::string reason;
    static std::optional<installation>& found = *new std::optional<installation>{find_device(reason)};
    if (!found) {
        std::printf("skipped: %s\n", reason.c_str());
        std::fflush(stdout);
        std::_Exit(77);
    }
    return *found;
}

/// Builds a kernel from source. If the build fails, the test fails with the compiler's log.
inline cl::Kernel kernel(const char* source, const char* name) {
    const cl::Program program{opencl().context, source};
    const cl_int built = program.build("");
    INFO(program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(opencl().device));
    REQUIRE(built == CL_SUCCESS);
    cl_int status = CL_SUCCESS;
    cl::Kernel made{program, name, &status};
    REQUIRE(status == CL_SUCCESS);
    return made;
}

/// Runs a kernel whose arguments are set, and waits for it.
inline void run(const cl::Kernel& with_arguments, const cl::NDRange& items) {
    REQUIRE(opencl().queue.enqueueNDRangeKernel(with_arguments, cl::NullRange, items) == CL_SUCCESS);
    REQUIRE(opencl().queue.finish() == CL_SUCCESS);
}

}  // namespace tests
