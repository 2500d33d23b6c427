// A program that imports allot: frames of a camera in an arena, and a plan that the compiler makes.
#include "camera.hpp"

#include <cstdio>
#include <vector>

import allot;

using namespace allot::literals;

static constexpr allot::plan_buffer buffers[] = {
    {.size = 600, .live = {0, 3}, .align = 4},  // samples
    {.size = 300, .live = {2, 5}, .align = 8},  // spectrum
    {.size = 600, .live = {4, 6}, .align = 4},  // features
};
static constexpr auto layout = allot::plan<buffers>();
static_assert(layout.peak <= 1024);

int main() {
    frame_memory memory{{}, 64_KiB};
    std::vector<int, allot::std_allocator<int, frame_memory>> sizes(memory);

    // camera.cpp includes <allot/allot.hpp>. Its frame_memory and its blocks are the same types.
    for (int index = 0; index != 3; ++index) {
        const allot::block_of<frame_memory> frame = capture(memory, index);
        if (!frame) {
            std::printf("no frame: %s\n", to_string(memory.diagnose({.size = frame_bytes}).reason));
            return 1;
        }
        sizes.push_back(static_cast<int>(frame.size));
        memory.deallocate(frame);
    }
    std::printf("%zu frames of %d bytes, and a plan of %llu bytes\n", sizes.size(), sizes.front(),
                static_cast<unsigned long long>(layout.peak));
}
