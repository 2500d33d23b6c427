// An OpenCL driver of ours, linked in place of the real one: just the entry points that allot uses for memory, over host
// bytes. It makes 2-D images over buffers, as PoCL and oclgrind do not, and is as strict as a driver may be: pitches in
// pixels, origins at the base alignment, and buffers that end with their last reference, whatever lies over them.
#pragma once

#include <CL/opencl.hpp>

#include <string>
#include <vector>

namespace fake {

/// What the driver allows, and what it is to do wrong.
struct rules {
    cl_uint base_align = 128;           // bytes
    cl_uint pitch_align = 64;           // pixels; 0: no images over buffers
    cl_uint image_base_align = 64;      // pixels, of imported bytes
    bool any_origin = false;            // sub-buffers begin anywhere, as some drivers let them
    bool unified = false;               // the device's memory is the host's
    std::size_t largest = 4096;         // pixels, wide or high
    std::size_t most_bytes = 1 << 24;   // of one buffer
    cl_int refuse_image_over = CL_SUCCESS;  // what it answers instead of making an image over a buffer
    std::size_t buffers_left = ~std::size_t{0};
};

/// What happened.
struct journal {
    std::vector<std::string> violations;   // what no program may do
    std::size_t buffers = 0, images = 0;   // that live, sub-buffers among the buffers
    std::size_t made_over = 0;             // images over buffers, so far
    std::size_t refused_over = 0;          // refused for their pitch, size or base
    std::size_t transfers = 0;             // of buffers, to the host and from it
    std::size_t maps = 0, waits = 0;
};

/// As they are now; `start` puts them back to the beginning.
rules& rule();
journal& book();
void start();

cl::Context context();
cl::Device device();
cl::CommandQueue queue();

}  // namespace fake
