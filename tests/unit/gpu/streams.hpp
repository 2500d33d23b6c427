// Two streams of the current device, destroyed at the end.
#pragma once

#include "machine.hpp"

namespace tests {

struct two_streams {
    two_streams() {
        REQUIRE(gpu::stream_create(&first) == gpu::success);
        REQUIRE(gpu::stream_create(&second) == gpu::success);
    }
    ~two_streams() {
        CHECK(gpu::stream_destroy(first) == gpu::success);
        CHECK(gpu::stream_destroy(second) == gpu::success);
    }
    two_streams(const two_streams&) = delete;
    two_streams& operator=(const two_streams&) = delete;
    gpu::stream first = nullptr, second = nullptr;
};

}  // namespace tests
