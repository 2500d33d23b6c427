// How the laws of a device write and read OpenCL buffers: all of one, by a queue.
#pragma once

#include <allot/opencl/buffer.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace laws {

struct buffer_bytes {
    using region = allot::region<allot::handle_offset<cl_mem>::address>;
    cl_command_queue queue;

    void fill(const region& all, unsigned char value) const {
        const std::vector<unsigned char> bytes(all.size, value);
        REQUIRE(::clEnqueueWriteBuffer(queue, all.base.handle, CL_TRUE, 0, all.size, bytes.data(), 0, nullptr,
                                       nullptr) == CL_SUCCESS);
    }
    [[nodiscard]] bool hold(const region& all, unsigned char value) const {
        std::vector<unsigned char> bytes(all.size);
        REQUIRE(::clEnqueueReadBuffer(queue, all.base.handle, CL_TRUE, 0, all.size, bytes.data(), 0, nullptr,
                                      nullptr) == CL_SUCCESS);
        return std::all_of(bytes.begin(), bytes.end(), [=](unsigned char byte) { return byte == value; });
    }
};

}  // namespace laws
