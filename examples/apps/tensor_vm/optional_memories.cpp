// SPDX-License-Identifier: BSL-1.0
#include "optional_memories.hpp"

namespace vm {

// Each function is defined in the file of its name. CMake defines a macro for each function that exists.
run_in_memory run_in_opencl, run_in_vulkan, run_in_cuda, run_in_hip, run_in_metal, run_in_mpi, run_in_shmem;

namespace {

constexpr optional_memory table[] = {
#ifdef ALLOT_RUNTIME_OPENCL
    {"opencl", run_in_opencl, ""},
#else
    {"opencl", nullptr, "OpenCL and its C++ header"},
#endif
#ifdef ALLOT_RUNTIME_VULKAN
    {"vulkan", run_in_vulkan, ""},
#else
    {"vulkan", nullptr, "Vulkan and glslangValidator"},
#endif
#ifdef ALLOT_RUNTIME_CUDA
    {"cuda", run_in_cuda, ""},
#else
    {"cuda", nullptr, "the CUDA toolkit"},
#endif
#ifdef ALLOT_RUNTIME_HIP
    {"hip", run_in_hip, ""},
#else
    {"hip", nullptr, "HIP"},
#endif
#ifdef ALLOT_RUNTIME_METAL
    {"metal", run_in_metal, ""},
#else
    {"metal", nullptr, "Metal-cpp, on a Mac"},
#endif
#ifdef ALLOT_RUNTIME_MPI
    {"mpi", run_in_mpi, ""},
#else
    {"mpi", nullptr, "MPI"},
#endif
#ifdef ALLOT_RUNTIME_SHMEM
    {"shmem", run_in_shmem, ""},
#else
    {"shmem", nullptr, "OpenSHMEM"},
#endif
};

}  // namespace

std::span<const optional_memory> optional_memories() noexcept { return table; }

}  // namespace vm
