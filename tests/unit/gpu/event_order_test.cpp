// Events as points of `ordered`, on the fake runtime: the test selects which stream executes next.
#include "fake_gpu.hpp"
#include "machine.hpp"
#include "streams.hpp"

#include <cstring>
#include <utility>

namespace {

using allot::point_state;
using events = vendor::events;
using tests::two_streams;

/// Checks at the end that all events are destroyed.
struct machine : tests::machine {
    machine() = default;
    ~machine() { CHECK(fake_gpu::events() == 0); }
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;
};

/// Writes one value to device memory.
void write(gpu::stream stream, void* to, std::size_t size, int value) {
    fake_gpu::launch(stream, to, size, [=](std::byte* bytes) { std::memset(bytes, value, size); });
}

/// Two streams use the same bytes one after the other. Returns the number of interleavings in which the first stream
/// reads bytes of the second.
template <class Wait>
int overwritten(Wait&& wait) {
    int wrong = 0;
    for (unsigned schedule = 0; schedule != 1u << 8; ++schedule) {
        const machine machine;
        const two_streams streams;
        vendor::device_memory device;
        const auto held = device.acquire({100, 256});
        REQUIRE(held);
        events line;
        events::point_type point{};
        int seen = 0;
        write(streams.first, held->base, 100, 1);
        fake_gpu::launch(streams.first, held->base, 100, [&](std::byte* bytes) { seen = static_cast<int>(bytes[99]); });
        CHECK(line.record(streams.first, point) == gpu::success);
        wait(line, streams.second, point);
        write(streams.second, held->base, 100, 2);
        for (unsigned i = 0; i != 8; ++i) fake_gpu::step((schedule >> i & 1) != 0 ? streams.second : streams.first);
        CHECK(gpu::device_synchronize() == gpu::success);
        wrong += seen != 1;
        line.release(point);
        device.release(*held);
    }
    return wrong;
}

}  // namespace

TEST_CASE(VENDOR " events: no interleaving reuses memory before a point, and without the wait some do") {
    CHECK(overwritten([](events& line, gpu::stream stream, const events::point_type& point) {
              CHECK(line.wait(stream, point) == gpu::success);
          }) == 0);
    CHECK(overwritten([](events&, gpu::stream, const events::point_type&) {}) > 0);
}

TEST_CASE(VENDOR " events: a point is pending until the work before its record has executed") {
    const machine machine;
    const two_streams streams;
    events line;
    events::point_type point{};
    int ran = 0;
    vendor::device_memory device;
    const auto held = device.acquire({8, 256});
    REQUIRE(held);
    fake_gpu::launch(streams.first, held->base, 8, [&](std::byte*) { ++ran; });
    CHECK(line.record(streams.first, point) == gpu::success);
    fake_gpu::launch(streams.first, held->base, 8, [&](std::byte*) { ++ran; });
    CHECK(line.state(point) == point_state::pending);
    CHECK(gpu::peek_at_last_error() == gpu::success);  // "not ready" is not left for the program
    CHECK(fake_gpu::step(streams.first));
    CHECK(line.state(point) == point_state::pending);
    CHECK(fake_gpu::step(streams.first));
    CHECK(line.state(point) == point_state::passed);
    CHECK(ran == 1);  // later work does not matter
    CHECK(line.record(streams.first, point) == gpu::success);
    CHECK(line.state(point) == point_state::pending);
    CHECK(line.wait_on_host(point) == gpu::success);
    CHECK(ran == 2);
    CHECK(fake_gpu::calls().creations == 1);
    line.release(point);
    device.release(*held);
}

TEST_CASE(VENDOR " events: a wait keeps its point although the event is recorded again or destroyed") {
    for (const bool is_destroyed : {false, true}) {
        const machine machine;
        const two_streams streams;
        gpu::stream third{};
        REQUIRE(gpu::stream_create(&third) == gpu::success);
        vendor::device_memory device;
        const auto held = device.acquire({8, 256});
        REQUIRE(held);
        events line;
        events::point_type point{};
        int order = 0;
        fake_gpu::launch(third, held->base, 8, [&](std::byte*) { order = order * 10 + 1; });
        CHECK(line.record(third, point) == gpu::success);
        CHECK(line.wait(streams.second, point) == gpu::success);
        fake_gpu::launch(streams.second, held->base, 8, [&](std::byte*) { order = order * 10 + 2; });
        if (is_destroyed) line.release(point);
        else CHECK(line.record(streams.first, point) == gpu::success);
        CHECK(gpu::stream_destroy(third) == gpu::success);  // the point outlives its stream
        CHECK_FALSE(fake_gpu::step(streams.second));
        CHECK(gpu::stream_synchronize(streams.second) == gpu::success);
        CHECK(order == 12);
        line.release(point);
        device.release(*held);
    }
}

TEST_CASE(VENDOR " events: the events of released points are recorded again, at most 16 are kept") {
    const machine machine;
    const two_streams streams;
    {
        events line;
        for (int i = 0; i != 50; ++i) {
            events::point_type point{};
            CHECK(line.record(streams.first, point) == gpu::success);
            CHECK(line.wait(streams.second, point) == gpu::success);
            line.release(point);  // still pending
        }
        CHECK(fake_gpu::calls().creations == 1);
        CHECK(fake_gpu::events() == 1);
        events::point_type many[20]{};
        for (events::point_type& each : many) CHECK(line.record(streams.first, each) == gpu::success);
        CHECK(fake_gpu::events() == 20);
        for (events::point_type& each : many) line.release(each);
        CHECK(fake_gpu::events() == 16);
        events moved{std::move(line)};
        line = std::move(moved);
        CHECK(line.record(streams.first, many[0]) == gpu::success);
        CHECK(fake_gpu::calls().creations == 20);
        line.release(many[0]);
    }
    CHECK(fake_gpu::events() == 0);
}

TEST_CASE(VENDOR " events: the object serves the streams of its device, whichever device is current") {
    const machine machine;
    const two_streams streams;
    CHECK(gpu::set_device(1) == gpu::success);
    gpu::stream other{};
    REQUIRE(gpu::stream_create(&other) == gpu::success);
    events line_of_0, line_of_1{1};
    CHECK(line_of_1.device() == 1);
    events::point_type point{}, other_point{}, default_point{};
    CHECK(line_of_0.record(streams.first, point) == gpu::success);
    CHECK(line_of_0.record(other, other_point) == gpu::invalid_handle);
    CHECK_FALSE(other_point);
    CHECK(line_of_1.record(other, other_point) == gpu::success);
    CHECK(line_of_0.wait(streams.first, other_point) == gpu::success);
    CHECK(line_of_1.wait(other, point) == gpu::success);
    CHECK(line_of_0.record(gpu::stream{}, default_point) == gpu::success);  // that of device 0
    int current = 0;
    CHECK(gpu::get_device(&current) == gpu::success);
    CHECK(current == 1);
    line_of_0.release(point);
    line_of_0.release(default_point);
    line_of_1.release(other_point);
    CHECK(gpu::stream_destroy(other) == gpu::success);
    CHECK(gpu::set_device(0) == gpu::success);
}

TEST_CASE(VENDOR " events: an event of a capture is not a point outside of it") {
    const machine machine;
    const two_streams streams;
    events line;
    gpu::event theirs{};
    REQUIRE(gpu::create_event(&theirs) == gpu::success);
    REQUIRE(gpu::stream_begin_capture(streams.first) == gpu::success);
    CHECK(gpu::record_event(theirs, streams.first) == gpu::success);
    const events::point_type point = events::adopt(theirs);
    CHECK(line.state(point) == point_state::failed);
    CHECK(line.wait_on_host(point) == gpu::captured_event);
    CHECK(gpu::stream_end_capture(streams.first) == gpu::success);
    CHECK(gpu::destroy_event(theirs) == gpu::success);
}

TEST_CASE(VENDOR " events: the capture checks of this file notice a query and a wait that end a capture") {
    const machine machine;
    const two_streams streams;
    events line;
    events::point_type point{};
    CHECK(line.record(streams.second, point) == gpu::success);
    REQUIRE(gpu::stream_begin_capture(streams.first) == gpu::success);
    CHECK(gpu::query_event(point.event) == gpu::capture_unsupported);  // without allot's precaution
    CHECK(gpu::stream_end_capture(streams.first) == gpu::capture_invalidated);
    REQUIRE(gpu::stream_begin_capture(streams.first) == gpu::success);
    CHECK(gpu::wait_event(streams.first, point.event) == gpu::capture_isolation);
    CHECK(gpu::stream_end_capture(streams.first) == gpu::capture_invalidated);
    CHECK(gpu::get_last_error() != gpu::success);
    line.release(point);
}

TEST_CASE(VENDOR " events: a call that fails returns the error, changes no point and leaves no error") {
    const machine machine;
    const two_streams streams;
    events line;
    events::point_type empty{}, point{};
    CHECK(line.record(streams.first, point) == gpu::success);
    const gpu::event before = point.event;
    const auto refuse = [] { fake_gpu::refuse_next_event_call(gpu::out_of_memory); };
    refuse();
    CHECK(line.record(streams.first, empty) == gpu::out_of_memory);
    refuse();
    CHECK(line.record(streams.first, point) == gpu::out_of_memory);
    refuse();
    CHECK(line.wait(streams.second, point) == gpu::out_of_memory);
    refuse();
    CHECK(line.wait_on_host(point) == gpu::out_of_memory);
    refuse();
    CHECK(line.state(point) == point_state::failed);
    CHECK_FALSE(empty);
    CHECK(point.event == before);
    CHECK(gpu::peek_at_last_error() == gpu::success);
    CHECK(line.wait_on_host(point) == gpu::success);
    line.release(point);
    gpu::stream gone{};
    REQUIRE(gpu::stream_create(&gone) == gpu::success);
    CHECK(gpu::stream_destroy(gone) == gpu::success);
    CHECK(line.record(gone, empty) == gpu::invalid_handle);
    CHECK_FALSE(empty);
    CHECK(gpu::peek_at_last_error() == gpu::success);
}

TEST_CASE(VENDOR " events: after the loss of a device all points fail, and their events are destroyed") {
    fake_gpu::start();
    gpu::stream stream{};
    REQUIRE(gpu::stream_create(&stream) == gpu::success);
    events line;
    events::point_type point{}, other{};
    CHECK(line.record(stream, point) == gpu::success);
    fake_gpu::lose_devices(gpu::illegal_address);
    CHECK(line.state(point) == point_state::failed);
    CHECK(line.wait_on_host(point) == gpu::illegal_address);
    CHECK(line.wait(stream, point) == gpu::illegal_address);
    CHECK(line.record(stream, point) == gpu::illegal_address);
    CHECK(line.record(stream, other) == gpu::illegal_address);
    CHECK(line.capturing(stream));  // the runtime cannot tell
    line.release(point);
    { const events last{std::move(line)}; }
    CHECK(fake_gpu::events() == 0);
    fake_gpu::start();
    CHECK(gpu::stream_destroy(stream) == gpu::success);
}
