// The machine of a test of Metal's memory: a fake of Metal-cpp's calls, which enforces their rules.
#pragma once

#include "../../bytes.hpp"
#include "metal_cpp.hpp"

#include <allot/metal/memory.hpp>

#include <doctest/doctest.h>

namespace tests {

/// Begins with one device. At the end, checks that all other objects are released and no rule is broken.
struct metal_machine {
    explicit metal_machine(const stand_in::settings& like_that = {}) {
        stand_in::start(like_that);
        device = MTL::CreateSystemDefaultDevice();
    }
    ~metal_machine() {
        stand_in::drain();
        CHECK(stand_in::live() == (device != nullptr ? 1 : 0));
        CHECK(stand_in::here().used == 0);
        for (const std::string& each : stand_in::here().mistakes) FAIL_CHECK(each);
    }
    metal_machine(const metal_machine&) = delete;
    metal_machine& operator=(const metal_machine&) = delete;

    MTL::Device* device;
};

using buffer = allot::metal::buffer<MTL::Device>;
using heap = allot::metal::heap<MTL::Device>;

/// Accesses to a buffer by the laws: by the host where possible, and the GPU must see the same bytes; otherwise by the
/// GPU.
struct buffer_bytes {
    using region = allot::region<buffer::address>;
    static void fill(const region& all, unsigned char value) {
        if (void* const bytes = allot::metal::contents(all.base)) {
            std::memset(bytes, value, all.size);
            allot::metal::did_modify(all.base, all.size);
        } else {
            std::memset(all.base.handle->gpu_bytes(), value, all.size);
        }
    }
    [[nodiscard]] static bool hold(const region& all, unsigned char value) {
        return tests::have_value(all.base.handle->gpu_bytes(), all.size, value);
    }
};

/// A heap's bytes, through a buffer over all of them.
struct heap_bytes {
    using region = allot::region<heap::address>;
    template <class Use>
    static auto with_buffer(const region& all, Use&& use) {
        struct {
            heap::address address;
            std::size_t size;
        } const whole{all.base, all.size};
        const auto placed = allot::metal::place_buffer(whole, all.size);
        REQUIRE(placed);
        const auto answer = use(buffer_bytes::region{{*placed, 0}, all.size, all.align});
        (*placed)->release();
        return answer;
    }
    static void fill(const region& all, unsigned char value) {
        with_buffer(all, [=](const auto& bytes) { return buffer_bytes::fill(bytes, value), true; });
    }
    [[nodiscard]] static bool hold(const region& all, unsigned char value) {
        return with_buffer(all, [=](const auto& bytes) { return buffer_bytes::hold(bytes, value); });
    }
};

}  // namespace tests
