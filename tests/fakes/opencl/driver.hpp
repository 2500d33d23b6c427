// A fake OpenCL driver that is linked in place of the real one: the functions that allot uses for memory, over bytes of
// the host. It creates 2-D images over buffers, which PoCL and oclgrind do not, and is as strict as the specification
// allows: pitches in pixels, origins at the base alignment, copies that do not overlap, and buffers that are destroyed
// with their last reference, even with objects over them.
#pragma once

#include <CL/opencl.hpp>

#include <string>
#include <vector>

namespace fake {

/// The driver's limits and failures.
struct rules {
    cl_uint base_align = 128;               // bytes; 0: the device reports 4 bits
    cl_uint pitch_align = 64;               // pixels; 0: no images over buffers
    cl_uint image_base_align = 64;          // pixels, for imported bytes
    bool any_origin = false;                // sub-buffers begin anywhere, as on some drivers
    bool unified = false;                   // the device shares the host's memory
    std::size_t largest = 4096;             // pixels, width or height
    std::size_t most_bytes = 1 << 24;       // of one buffer
    cl_int refuse_image_over = CL_SUCCESS;  // the error for an image over a buffer
    cl_int refuse_sub_buffer = CL_SUCCESS;  // the error for a sub-buffer
    cl_command_queue_properties queue_properties = 0;
    cl_int refuse_marker = CL_SUCCESS;  // the errors of calls about events
    cl_int refuse_flush = CL_SUCCESS;
    cl_int refuse_barrier = CL_SUCCESS;
    cl_int refuse_event_info = CL_SUCCESS;
    cl_int status_of_markers = CL_COMPLETE;  // the status of the events of markers
    std::size_t buffers_left = ~std::size_t{0};
    bool imports_dma_buffers = true, imports_opaque = false;  // cl_khr_external_memory
    bool has_external_commands = true;
    unsigned char device_uuid = 0;  // the first byte; 0: no cl_khr_device_uuid
    cl_int refuse_import = CL_SUCCESS;
};

/// A record of calls.
struct journal {
    std::vector<std::string> violations;  // invalid calls
    std::size_t buffers = 0, images = 0;  // live objects; buffers include sub-buffers
    std::size_t made_over = 0;            // images over buffers in total
    std::size_t refused_over = 0;         // rejected for their pitch, size or base
    std::size_t transfers = 0;            // of buffers, to and from the host
    std::size_t maps = 0, waits = 0;
    std::size_t events = 0;  // live ones
    std::size_t barriers = 0;
    std::size_t acquires = 0, releases = 0;  // of external memory
};

/// The current limits and record; `start` resets them.
rules& rule();
journal& book();
void start();

cl::Context context();
cl::Device device();
cl::CommandQueue queue();

}  // namespace fake
