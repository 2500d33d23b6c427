// Events as points of `ordered`, on the installed driver. A user event holds back the first kernel, so that a later
// kernel which does not wait overtakes it, on every run.
#include <allot/opencl/events.hpp>

#include "installed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace {

using allot::point_state;
using allot::opencl::events;
using tests::opencl;

constexpr cl_command_queue_properties out_of_order = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
constexpr std::size_t count = 3001;

cl::CommandQueue make_queue(cl_command_queue_properties properties) {
    cl_int status = CL_SUCCESS;
    cl::CommandQueue made{opencl().context, opencl().device, properties, &status};
    REQUIRE(status == CL_SUCCESS);
    return made;
}

/// The kinds of queues that the device supports.
std::vector<cl_command_queue_properties> kinds() {
    const auto supported = opencl().device.getInfo<CL_DEVICE_QUEUE_PROPERTIES>();
    if ((supported & out_of_order) != 0) return {0, out_of_order};
    MESSAGE("skipped: the device has no out-of-order queues");
    return {0};
}

cl::Kernel fill() {
    return tests::kernel("__kernel void fill(__global int* to, int value) { to[get_global_id(0)] = value; }", "fill");
}
/// Enqueues a kernel that writes `value` to the whole buffer.
void write(const cl::CommandQueue& queue, const cl::Buffer& to, int value, const cl_event after = nullptr) {
    cl::Kernel kernel = fill();
    const cl_mem buffer = to();
    constexpr std::size_t items = count;
    REQUIRE(::clSetKernelArg(kernel(), 0, sizeof buffer, &buffer) == CL_SUCCESS);
    REQUIRE(kernel.setArg(1, value) == CL_SUCCESS);
    REQUIRE(::clEnqueueNDRangeKernel(queue(), kernel(), 1, nullptr, &items, nullptr, after == nullptr ? 0 : 1,
                                     after == nullptr ? nullptr : &after, nullptr) == CL_SUCCESS);
}
/// Two kernels write to the same buffer. `order` must make `second` wait for `first`; the queues may be the same. If
/// `is_ordered` is false, it does not, and the second kernel is executed first. Returns the value that remains.
template <class Order>
int last_value(const cl::CommandQueue& first, const cl::CommandQueue& second, bool is_ordered, Order&& order) {
    const cl::Buffer shared{opencl().context, CL_MEM_READ_WRITE, count * sizeof(int)};
    cl::UserEvent gate{opencl().context};
    write(first, shared, 1, gate());
    order();
    write(second, shared, 2);
    cl::Event written;
    REQUIRE(second.enqueueMarkerWithWaitList(nullptr, &written) == CL_SUCCESS);
    REQUIRE(second.flush() == CL_SUCCESS);
    if (is_ordered) CHECK(written.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() != CL_COMPLETE);
    else if (first() != second()) REQUIRE(second.finish() == CL_SUCCESS);
    REQUIRE(gate.setStatus(CL_COMPLETE) == CL_SUCCESS);
    REQUIRE(first.finish() == CL_SUCCESS);
    REQUIRE(second.finish() == CL_SUCCESS);
    std::vector<int> seen(count);
    REQUIRE(first.enqueueReadBuffer(shared, CL_TRUE, 0, count * sizeof(int), seen.data()) == CL_SUCCESS);
    CHECK(std::all_of(seen.begin(), seen.end(), [&](int each) { return each == seen.front(); }));
    return seen.front();
}

}  // namespace

TEST_CASE("opencl events: a queue that waits for a point starts after all work before it") {
    events line;
    for (const auto kind_of_first : kinds()) {
        for (const auto kind_of_second : kinds()) {
            const cl::CommandQueue first = make_queue(kind_of_first), second = make_queue(kind_of_second);
            events::point_type point{};
            CHECK(last_value(first, second, true, [&] {
                      CHECK(line.record(first(), point) == CL_SUCCESS);
                      CHECK(line.state(point) == point_state::pending);
                      CHECK(line.wait(second(), point) == CL_SUCCESS);
                  }) == 2);
            CHECK(line.state(point) == point_state::passed);
            CHECK(line.wait_on_host(point) == CL_SUCCESS);
            // Without the wait, the kernel that runs late overwrites the other one's values.
            CHECK(last_value(first, second, false, [&] { CHECK(line.record(first(), point) == CL_SUCCESS); }) == 1);
            line.release(point);
            CHECK_FALSE(point);
        }
    }
}

TEST_CASE("opencl events: an out-of-order queue orders its own work by a barrier or by a point") {
    events line;
    CHECK(line.in_order(make_queue(0)()));
    if (kinds().size() == 1) return;
    const cl::CommandQueue queue = make_queue(out_of_order);
    CHECK_FALSE(line.in_order(queue()));
    CHECK(last_value(queue, queue, true, [&] { CHECK(line.barrier(queue()) == CL_SUCCESS); }) == 2);
    events::point_type point{};
    CHECK(last_value(queue, queue, true, [&] {
              CHECK(line.record(queue(), point) == CL_SUCCESS);
              CHECK(line.wait(queue(), point) == CL_SUCCESS);
          }) == 2);
    line.release(point);
}

TEST_CASE("opencl events: a wait of an out-of-order queue keeps an earlier barrier") {
    if (kinds().size() == 1) return;
    events line;
    const cl::CommandQueue queue = make_queue(out_of_order), other = make_queue(0);
    events::point_type point{};
    CHECK(last_value(queue, queue, true, [&] {
              CHECK(line.barrier(queue()) == CL_SUCCESS);
              CHECK(line.record(other(), point) == CL_SUCCESS);
              CHECK(line.wait(queue(), point) == CL_SUCCESS);
          }) == 2);
    line.release(point);
}

TEST_CASE("opencl events: an in-order queue needs no barrier") {
    const cl::CommandQueue queue = make_queue(0);
    CHECK(last_value(queue, queue, true, [] {}) == 2);
}

TEST_CASE("opencl events: a recorded point is replaced, and outlives its queue") {
    events line;
    events::point_type point{};
    CHECK(line.state(point) == point_state::passed);
    CHECK(line.wait_on_host(point) == CL_SUCCESS);
    cl::UserEvent gate{opencl().context};
    const cl::CommandQueue second = make_queue(0);
    {
        const cl::CommandQueue first = make_queue(0);
        CHECK(line.record(first(), point) == CL_SUCCESS);
        const cl_event before = point.event;
        REQUIRE(first.enqueueMarkerWithWaitList(nullptr, nullptr) == CL_SUCCESS);
        const cl::Buffer shared{opencl().context, CL_MEM_READ_WRITE, count * sizeof(int)};
        write(first, shared, 1, gate());
        CHECK(line.record(first(), point) == CL_SUCCESS);
        CHECK(point.event != before);
        CHECK(line.wait(second(), point) == CL_SUCCESS);
    }
    CHECK(line.state(point) == point_state::pending);
    REQUIRE(gate.setStatus(CL_COMPLETE) == CL_SUCCESS);
    CHECK(line.wait_on_host(point) == CL_SUCCESS);
    CHECK(line.state(point) == point_state::passed);
    REQUIRE(second.finish() == CL_SUCCESS);
    line.release(point);
    line.release(point);  // has no effect
}

TEST_CASE("opencl events: an adopted user event is a point of the host's work") {
    events line;
    cl::UserEvent work{opencl().context};
    events::point_type point = events::adopt(work());
    REQUIRE(point);
    CHECK(work.getInfo<CL_EVENT_REFERENCE_COUNT>() == 2);
    const cl::CommandQueue queue = make_queue(0);
    CHECK(line.state(point) == point_state::pending);
    CHECK(line.wait(queue(), point) == CL_SUCCESS);
    REQUIRE(work.setStatus(CL_COMPLETE) == CL_SUCCESS);
    REQUIRE(queue.finish() == CL_SUCCESS);
    CHECK(line.state(point) == point_state::passed);
    line.release(point);
    CHECK(work.getInfo<CL_EVENT_REFERENCE_COUNT>() == 1);
    CHECK_FALSE(events::adopt(nullptr));
}

TEST_CASE("opencl events: a point that fails is reported, and nothing waits for it") {
    events line;
    cl::UserEvent work{opencl().context};
    events::point_type point = events::adopt(work());
    REQUIRE(work.setStatus(-5) == CL_SUCCESS);
    const cl::CommandQueue queue = make_queue(0);
    CHECK(line.state(point) == point_state::failed);
    CHECK(line.wait(queue(), point) == -5);
    CHECK(line.wait_on_host(point) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    line.release(point);
    CHECK(line.record(nullptr, point) == CL_INVALID_COMMAND_QUEUE);
    CHECK_FALSE(point);
    CHECK(line.barrier(nullptr) == CL_INVALID_COMMAND_QUEUE);
    CHECK_FALSE(line.in_order(nullptr));
    // Another context: OpenCL has no events between contexts.
    const cl::Context other{opencl().device};
    const cl::CommandQueue theirs{other, opencl().device};
    CHECK(line.record(queue(), point) == CL_SUCCESS);
    CHECK(line.wait(theirs(), point) == CL_INVALID_CONTEXT);
    line.release(point);
}
