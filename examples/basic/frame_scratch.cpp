// Scratch memory of a frame: objects are made in a bump arena, and all of them are freed at the end of the frame.
#include <allot/allot.hpp>
#include <allot/object.hpp>

#include <cstdio>

using namespace allot::literals;

struct particle {
    float x, y, speed;
};

int main() {
    allot::arena<allot::host::static_storage<16_KiB>, allot::bump<>> scratch;
    const std::size_t free_before = static_cast<std::size_t>(scratch.diagnose({.size = 1}).largest_hole);

    std::size_t total = 0;
    for (int frame = 0; frame != 60; ++frame) {
        const allot::scoped_mark frame_memory{scratch};  // rolls back at the end of this iteration

        auto* const camera = allot::make<particle>(scratch, 0.0f, 1.0f, 2.0f);  // no destroy: the rollback frees it
        const auto particles = allot::make_array<particle>(scratch, 500);
        if (camera == nullptr || !particles) {
            std::printf("frame %d: %s\n", frame, scratch.diagnose(allot::layout_of<particle>).what());
            return 1;
        }
        for (particle& each : particles) each.y += camera->speed;
        total += particles.size();
    }

    std::printf("%zu particles in 60 frames, %zu bytes of memory\n", total, scratch.size());
    return scratch.diagnose({.size = 1}).largest_hole == free_before ? 0 : 1;
}
