// A file that is not migrated: it includes headers of allot.
#include "camera.hpp"

#include <allot/allot.hpp>

#include <cstring>

allot::block_of<frame_memory> capture(frame_memory& memory, int index) {
    const auto frame = memory.allocate({.size = frame_bytes, .align = 64});
    if (frame) std::memset(frame.address, index, frame.size);
    return frame;
}
