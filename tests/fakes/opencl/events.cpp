// Events as points of `ordered`, on a driver whose calls fail.
#include "driver.hpp"

#include <allot/allot.hpp>
#include <allot/opencl/buffer.hpp>
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

using memory_type = allot::ordered<allot::arena<allot::opencl::buffer, allot::best_fit<>>, events>;
constexpr std::size_t size = 4096;

/// A memory of which the second queue needs bytes of the first one.
struct contended : machine {
    memory_type memory{{}, allot::opencl::buffer{fake::context(), fake::device()}, size};
    allot::queue_id first = memory.attach(fake::queue()()), second = memory.attach(fake::queue()());

    contended() {
        fake::rule().status_of_markers = CL_RUNNING;
        const auto block = memory.allocate({size}, first);
        CHECK(block);
        memory.deallocate(block, first);
    }
};

}  // namespace

TEST_CASE_FIXTURE(contended,
                  "opencl ordered: each call that fails refuses the request with its code, and no bytes are lost") {
    cl_int fake::rules::*const calls[] = {&fake::rules::refuse_marker, &fake::rules::refuse_flush,
                                          &fake::rules::refuse_barrier};
    for (const auto call : calls) {
        fake::rule().*call = CL_OUT_OF_RESOURCES;
        CHECK_FALSE(memory.allocate({size}, second));
        CHECK(memory.diagnose({size}, second).reason == allot::refusal::device_refused);
        CHECK(memory.diagnose({size}, second).device_error == CL_OUT_OF_RESOURCES);
        fake::rule().*call = CL_SUCCESS;
    }
    const auto block = memory.allocate({size}, second);
    CHECK(block);
    CHECK(memory.diagnose({size}, second).reason != allot::refusal::device_refused);
    memory.deallocate(block, second);
    CHECK(memory.detach(second) == CL_SUCCESS);
}

TEST_CASE_FIXTURE(contended, "opencl ordered: after the loss of a device its memory is given back") {
    const auto block = memory.allocate({size}, second);
    CHECK(block);
    fake::rule().refuse_marker = fake::rule().refuse_flush = fake::rule().refuse_barrier = CL_DEVICE_NOT_AVAILABLE;
    fake::rule().refuse_event_info = CL_DEVICE_NOT_AVAILABLE;
    memory.deallocate(block, second);
    CHECK_FALSE(memory.allocate({size}, first));
    CHECK(memory.detach(first) == CL_DEVICE_NOT_AVAILABLE);
    memory.abandon();
    const auto all = memory.allocate({size}, first);
    CHECK(all);
    memory.deallocate(all, first);
}

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
