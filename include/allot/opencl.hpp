// SPDX-License-Identifier: BSL-1.0
// Includes every header of allot/opencl. Needs OpenCL's headers with C++ bindings (CL/opencl.hpp).
#pragma once

#include <allot/version.hpp>

#include <allot/opencl/buffer.hpp>
#include <allot/opencl/events.hpp>
#include <allot/opencl/image.hpp>
#include <allot/opencl/image_view.hpp>
#include <allot/opencl/imported.hpp>
#if defined(CL_VERSION_3_0) && defined(cl_khr_external_memory)  // from <CL/opencl.hpp>
#include <allot/opencl/imported_memory.hpp>
#endif
#include <allot/opencl/svm.hpp>
#include <allot/opencl/tensor.hpp>
#include <allot/opencl/texture_pool.hpp>
#include <allot/opencl/unique_buffer.hpp>
