// A vendor's runtime without a device or without a driver: all requests fail, without further harm.
#include "vendor.hpp"

#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include <cstdio>

namespace {

bool there_is_a_device() {
    int devices = 0;
    if (gpu::get_device_count(&devices) != gpu::success || devices == 0) return false;
    std::printf("skipped: there is a %s device here\n", gpu::name);
    return true;
}

}  // namespace

TEST_CASE(VENDOR ": without a device, diagnose reports the runtime's code") {
    if (there_is_a_device()) return;
    void* never = nullptr;
    const gpu::error status = gpu::malloc_device(&never, 256);
    REQUIRE(status != gpu::success);
    const auto is_refused = [status](auto device) {
        allot::arena<decltype(device), allot::best_fit<>> arena{device, 4096};
        CHECK_FALSE(arena.allocate({1, 1}));
        CHECK(arena.diagnose({1, 1}) == allot::diagnosis{allot::refusal::device_refused, 0, status});
        allot::naive<decltype(device)> naive{device};
        CHECK_FALSE(naive.allocate({1, 4096}));
        CHECK(naive.diagnose({1, 4096}) == allot::diagnosis{allot::refusal::device_refused, 0, status});
    };
    is_refused(vendor::device_memory{0});
    CHECK(vendor::device_memory{0}.budget().error() == status);
    is_refused(vendor::pinned{});
    is_refused(vendor::managed{});
    is_refused(vendor::async_memory{nullptr});
}

TEST_CASE(VENDOR ": without a device, a storage fails with the runtime's code") {
    if (there_is_a_device()) return;
    void* never = nullptr;
    const gpu::error status = gpu::malloc_device(&never, 256);
    allot::arena<vendor::device_memory, allot::best_fit<>> arena{vendor::device_memory{0}, 4096};
    const auto refused = allot::alloc_storage(arena, 1024);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().memory.device_error == status);
}

TEST_CASE(VENDOR " events: without a device, no point is recorded") {
    if (there_is_a_device()) return;
    vendor::events line;
    vendor::events::point_type point{};
    CHECK(line.record(gpu::stream{}, point) != gpu::success);
    CHECK_FALSE(point);
    CHECK(line.wait(gpu::stream{}, point) == gpu::success);  // an empty point has passed
    CHECK(line.state(point) == allot::point_state::passed);
    line.release(point);
    CHECK(line.capturing(gpu::stream{}));  // the runtime cannot tell
}
