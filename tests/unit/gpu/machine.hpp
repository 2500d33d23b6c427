// The machine of a test of GPU memory: a fake one (fake_machine.cpp) or the installed GPU (gpu_machine.cpp). Without a
// GPU, the second program is skipped. Tests for both are written once.
#pragma once

#include "vendor.hpp"  // CUDA's or HIP's: ../cuda, ../hip

#include <doctest/doctest.h>

namespace tests {

/// Begins without allocations. At the end, checks that all allocations are freed and no call has left an error.
struct machine {
    machine();
    ~machine();
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;

    /// Prints a line for the README's table of devices.
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
