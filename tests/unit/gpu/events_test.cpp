// Events as points of `ordered`, on the fake runtime and on a GPU.
#include "machine.hpp"
#include "streams.hpp"

#include <vector>

namespace {

using allot::point_state;
using events = vendor::events;
using tests::two_streams;

}  // namespace

TEST_CASE(VENDOR " events: a stream that waits for a point sees all work before it") {
    const tests::machine machine;
    const two_streams streams;
    events line;
    vendor::device_memory device;
    constexpr std::size_t size = 1 << 20;
    const auto held = device.acquire({size, 256});
    REQUIRE(held);
    for (unsigned char value = 1; value != 4; ++value) {
        const std::vector<unsigned char> written(size, value);
        std::vector<unsigned char> read(size);
        events::point_type point{};
        CHECK(gpu::memcpy_async(held->base, written.data(), size, streams.first) == gpu::success);
        CHECK(line.record(streams.first, point) == gpu::success);
        CHECK(point);
        CHECK(line.wait(streams.second, point) == gpu::success);
        CHECK(gpu::memcpy_async(read.data(), held->base, size, streams.second) == gpu::success);
        CHECK(gpu::stream_synchronize(streams.second) == gpu::success);
        CHECK(line.state(point) == point_state::passed);
        CHECK(read == written);
        line.release(point);
        CHECK_FALSE(point);
    }
    device.release(*held);
}

TEST_CASE(VENDOR " events: a point passes at the latest when the host has waited for it") {
    const tests::machine machine;
    const two_streams streams;
    events line;
    events::point_type point{};
    CHECK(line.state(point) == point_state::passed);  // an empty point
    CHECK(line.wait(streams.first, point) == gpu::success);
    CHECK(line.wait_on_host(point) == gpu::success);
    for (const gpu::stream stream : {streams.first, streams.second, gpu::stream{}}) {
        CHECK(line.record(stream, point) == gpu::success);  // the same event, again
        CHECK(line.wait_on_host(point) == gpu::success);
        CHECK(line.state(point) == point_state::passed);
        CHECK(line.in_order(stream));
    }
    line.release(point);
    line.release(point);  // has no effect
}

TEST_CASE(VENDOR " events: an adopted event stays with its owner") {
    const tests::machine machine;
    const two_streams streams;
    events line;
    gpu::event theirs{};
    REQUIRE(gpu::create_event(&theirs) == gpu::success);
    CHECK(gpu::record_event(theirs, streams.first) == gpu::success);
    events::point_type point = events::adopt(theirs);
    CHECK(line.wait(streams.second, point) == gpu::success);
    CHECK(line.wait_on_host(point) == gpu::success);
    CHECK(line.state(point) == point_state::passed);
    CHECK(line.record(streams.second, point) == gpu::success);  // needs an event of its own
    CHECK(point.event != theirs);
    line.release(point);
    point = events::adopt(theirs);
    line.release(point);
    CHECK(gpu::destroy_event(theirs) == gpu::success);
}

TEST_CASE(VENDOR " events: a stream that captures a graph has no points, and its capture continues") {
    const tests::machine machine;
    const two_streams streams;
    events line;
    events::point_type before{}, during{};
    CHECK(line.record(streams.second, before) == gpu::success);
    REQUIRE(gpu::stream_begin_capture(streams.first) == gpu::success);
    CHECK(line.capturing(streams.first));
    CHECK_FALSE(line.capturing(streams.second));
    CHECK(line.record(streams.first, during) == gpu::capture_unsupported);
    CHECK_FALSE(during);
    CHECK(line.wait(streams.first, before) == gpu::capture_unsupported);
    CHECK(line.wait_on_host(before) == gpu::success);
    CHECK(line.state(before) == point_state::passed);
    CHECK(gpu::stream_end_capture(streams.first) == gpu::success);
    CHECK_FALSE(line.capturing(streams.first));
    CHECK(line.record(streams.first, during) == gpu::success);
    line.release(before);
    line.release(during);
}

TEST_CASE(VENDOR " events: the default stream of each thread cannot be a queue") {
    const tests::machine machine;
    events line;
    events::point_type point{};
    CHECK_FALSE(line.in_order(gpu::per_thread()));
    CHECK(line.record(gpu::per_thread(), point) == gpu::invalid_handle);
    CHECK(line.wait(gpu::per_thread(), events::adopt(gpu::event{})) == gpu::success);  // nothing to wait for
    CHECK(line.barrier(gpu::per_thread()) == gpu::invalid_handle);
    CHECK_FALSE(point);
}
