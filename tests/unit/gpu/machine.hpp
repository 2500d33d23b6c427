// The machine that a test of a GPU's memory runs on: a fake one (fake_machine.cpp), or the GPU that is installed
// (gpu_machine.cpp), without which the program ends as skipped. What is tested on both is written once.
#pragma once

#include "vendor.hpp"  // CUDA's or HIP's: ../cuda, ../hip

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
[[nodiscard]] inline vendor::async_memory make() {
    return vendor::async_memory{nullptr};
}

}  // namespace tests
