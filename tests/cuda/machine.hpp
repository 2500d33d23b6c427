// The machine that a test of CUDA memory runs on: a fake one (fake_machine.cpp), or the GPU that is installed
// (gpu_machine.cpp), without which the program ends as skipped. What is tested on both is written once.
#pragma once

#include <allot/device/cuda.hpp>

#include <doctest/doctest.h>

namespace tests {

/// Begins with nothing allocated. At the end, what was allocated has to be gone, and no call may have left an error.
struct machine {
    machine();
    ~machine();
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;

    /// For the README's table of devices.
    static void seen(const char* device);
};

template <class Device>
[[nodiscard]] Device make() {
    return Device{};
}
template <>
[[nodiscard]] inline allot::cuda::async_memory make() {
    return allot::cuda::async_memory{nullptr};
}

}  // namespace tests
