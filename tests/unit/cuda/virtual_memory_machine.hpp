// The machine of a test of cuda::virtual_memory: a fake driver (fake_libcuda.hpp) or the installed GPU. Without a GPU,
// the program is skipped. Tests for both are written once, with the driver's functions.
#pragma once

#include "../../bytes.hpp"

#include <allot/cuda/virtual_memory.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace tests {

/// Begins without resources. At the end, checks that all resources are freed.
struct virtual_memory_machine {
    virtual_memory_machine();
    ~virtual_memory_machine();
    virtual_memory_machine(const virtual_memory_machine&) = delete;
    virtual_memory_machine& operator=(const virtual_memory_machine&) = delete;

    /// Returns the number of devices.
    [[nodiscard]] int devices() const;
    /// Returns the free bytes of a device.
    [[nodiscard]] std::size_t left(int device) const;
    /// Prints a line for the README's table of devices.
    void seen(const char* device) const;

    allot::cuda::driver_functions driver;
};

/// Returns a function of the driver that only tests call.
template <class Function>
[[nodiscard]] Function find(const char* name) {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
    REQUIRE(library != nullptr);
    void* const found = ::dlsym(library, name);
    REQUIRE(found != nullptr);
    return reinterpret_cast<Function>(found);
}

/// Fills and checks bytes on the device. Returns an error for a device without access.
class bytes_of {
public:
    explicit bytes_of(const allot::cuda::driver_functions& driver, int device = 0) : context_{driver, device} {
        REQUIRE(context_.error() == CUDA_SUCCESS);
    }
    [[nodiscard]] CUresult fill(const void* at, std::size_t size, unsigned char value) const {
        return set_(allot::raw_pointer::position(const_cast<void*>(at)), value, size);
    }
    [[nodiscard]] bool are(const void* at, std::size_t size, unsigned char value) const {
        std::vector<unsigned char> seen(size, static_cast<unsigned char>(~value));
        return copy_(seen.data(), allot::raw_pointer::position(const_cast<void*>(at)), size) == CUDA_SUCCESS &&
               tests::have_value(seen.data(), seen.size(), value);
    }

private:
    allot::cuda::current_context context_;
    PFN_cuMemsetD8_v3020 set_ = find<PFN_cuMemsetD8_v3020>("cuMemsetD8_v2");
    PFN_cuMemcpyDtoH_v3020 copy_ = find<PFN_cuMemcpyDtoH_v3020>("cuMemcpyDtoH_v2");
};

}  // namespace tests
