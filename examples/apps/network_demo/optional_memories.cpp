// SPDX-License-Identifier: BSL-1.0
#include "optional_memories.hpp"

namespace demo {

// Each function is defined in the file of its name. CMake defines a macro for each available one.
run_in_memory run_in_opencl, run_in_vulkan, run_in_cuda, run_in_hip, run_in_metal, run_in_mpi, run_in_shmem;

namespace {

constexpr optional_memory table[] = {
#ifdef ALLOT_DEMO_OPENCL
    {"opencl", run_in_opencl, "", true},
#else
    {"opencl", nullptr, "OpenCL and its C++ header", true},
#endif
#ifdef ALLOT_DEMO_VULKAN
    {"vulkan", run_in_vulkan, "", true},
#else
    {"vulkan", nullptr, "Vulkan and glslangValidator", true},
#endif
#ifdef ALLOT_DEMO_CUDA
    {"cuda", run_in_cuda, "", false},
#else
    {"cuda", nullptr, "the CUDA toolkit", false},
#endif
#ifdef ALLOT_DEMO_HIP
    {"hip", run_in_hip, "", false},
#else
    {"hip", nullptr, "HIP", false},
#endif
#ifdef ALLOT_DEMO_METAL
    {"metal", run_in_metal, "", false},
#else
    {"metal", nullptr, "Metal-cpp, on a Mac", false},
#endif
#ifdef ALLOT_DEMO_MPI
    {"mpi", run_in_mpi, "", false},
#else
    {"mpi", nullptr, "MPI", false},
#endif
#ifdef ALLOT_DEMO_SHMEM
    {"shmem", run_in_shmem, "", false},
#else
    {"shmem", nullptr, "OpenSHMEM", false},
#endif
};

}  // namespace

std::span<const optional_memory> optional_memories() noexcept { return table; }

}  // namespace demo
