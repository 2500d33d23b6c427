// Events as points of `ordered`, on a driver whose calls fail.
#include "driver.hpp"

#include <allot/opencl/events.hpp>

#include <doctest/doctest.h>

using allot::point_state;
using allot::opencl::events;

namespace {

/// Starts the driver. At the end, checks that all events are released and no call was invalid.
struct machine {
    machine() { fake::start(); }
    ~machine() {
        CHECK(fake::book().events == 0);
        CHECK(fake::book().violations.empty());
    }
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;
};

}  // namespace

TEST_CASE("opencl events: a call that fails returns the error and changes no point") {
    const machine machine;
    events line;
    events::point_type empty{}, point{};
    const cl::CommandQueue queue = fake::queue();
    CHECK(line.record(queue(), point) == CL_SUCCESS);
    const cl_event before = point.event;
    fake::rule().refuse_marker = CL_OUT_OF_HOST_MEMORY;
    CHECK(line.record(queue(), empty) == CL_OUT_OF_HOST_MEMORY);
    CHECK(line.record(queue(), point) == CL_OUT_OF_HOST_MEMORY);
    fake::rule().refuse_marker = CL_SUCCESS;
    fake::rule().refuse_flush = CL_OUT_OF_RESOURCES;
    CHECK(line.record(queue(), empty) == CL_OUT_OF_RESOURCES);
    CHECK(line.record(queue(), point) == CL_OUT_OF_RESOURCES);
    fake::rule().refuse_barrier = CL_OUT_OF_RESOURCES;
    CHECK(line.wait(queue(), point) == CL_OUT_OF_RESOURCES);
    CHECK(line.barrier(queue()) == CL_OUT_OF_RESOURCES);
    fake::rule().queue_properties = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    CHECK(line.wait(queue(), point) == CL_OUT_OF_RESOURCES);
    fake::rule().refuse_marker = CL_OUT_OF_HOST_MEMORY;
    CHECK(line.wait(queue(), point) == CL_OUT_OF_HOST_MEMORY);
    fake::rule().refuse_event_info = CL_OUT_OF_HOST_MEMORY;
    CHECK(line.wait(queue(), point) == CL_OUT_OF_HOST_MEMORY);
    CHECK(line.state(point) == point_state::failed);
    CHECK_FALSE(empty);
    CHECK(point.event == before);
    CHECK(fake::book().events == 1);
    line.release(point);
}

TEST_CASE("opencl events: a complete event is also waited for, because a query is no synchronization point") {
    const machine machine;
    events line;
    events::point_type point{};
    const cl::CommandQueue queue = fake::queue();
    CHECK(line.record(queue(), point) == CL_SUCCESS);
    CHECK(line.state(point) == point_state::passed);
    CHECK(fake::book().waits == 1);
    fake::rule().status_of_markers = CL_RUNNING;
    CHECK(line.record(queue(), point) == CL_SUCCESS);
    CHECK(line.state(point) == point_state::pending);
    CHECK(fake::book().waits == 1);
    line.release(point);
}

TEST_CASE("opencl events: after the loss of a device all points fail, and their events are released") {
    const machine machine;
    events line;
    events::point_type point{};
    const cl::CommandQueue queue = fake::queue();
    fake::rule().status_of_markers = CL_OUT_OF_RESOURCES;
    CHECK(line.record(queue(), point) == CL_SUCCESS);
    CHECK(line.state(point) == point_state::failed);
    CHECK(line.wait(queue(), point) == CL_OUT_OF_RESOURCES);
    CHECK(fake::book().barriers == 0);
    CHECK(line.wait_on_host(point) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    line.release(point);
}
