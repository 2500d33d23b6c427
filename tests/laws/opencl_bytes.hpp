// How the laws of a device write and read OpenCL buffers: all of one, by a queue.
#pragma once

#include "../bytes.hpp"

#include <allot/opencl/buffer.hpp>

#include <doctest/doctest.h>

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
        return tests::have_value(bytes.data(), bytes.size(), value);
    }
};

}  // namespace laws
