// Timeline semaphores as points of `ordered`, on a driver with several queues whose batches overlap.
#include "queues.hpp"

#include <allot/vulkan/timeline_semaphores.hpp>

#include <doctest/doctest.h>

#include <utility>

namespace {

using allot::point_state;
using fake::queue_of;
using line_type = allot::vulkan::timeline_semaphores<>;
using point_type = line_type::point_type;

line_type make() { return {&fake::get_with_queues, fake::instance, fake::device}; }

/// A batch writes 1, and the next one reads. Then a batch of `second` writes 2 to the same bytes. Returns the number of
/// schedules in which the reader sees another value than 1, or in which 2 does not remain. `order` makes `second` wait.
template <class Order>
int overwritten(VkQueue first, VkQueue second, Order&& order) {
    int wrong = 0;
    for (unsigned schedule = 0; schedule != 1u << 9; ++schedule) {
        fake::work = {};
        {
            line_type line = make();
            int value = 0, seen = 0;
            fake::launch(first, [&] { value = 1; });
            CHECK(line.barrier(first) == VK_SUCCESS);
            fake::launch(first, [&] { seen = value; });
            order(line);
            fake::launch(second, [&] { value = 2; });
            for (unsigned i = 0; i != 3; ++i) {
                const unsigned choice = schedule >> (3 * i) & 7;
                fake::step((choice & 1) != 0 ? second : first, choice >> 1);
            }
            fake::run_all();
            wrong += seen != 1 || value != 2;
        }
        CHECK(fake::work.semaphores.empty());
    }
    return wrong;
}

}  // namespace

TEST_CASE_FIXTURE(fake::driven_queues,
                  "vulkan timeline_semaphores: no schedule of two queues reuses memory too early") {
    const VkQueue first = queue_of(0), second = queue_of(1);
    CHECK(overwritten(first, second, [&](line_type& line) {
              point_type point{};
              CHECK(line.record(first, point) == VK_SUCCESS);
              CHECK(line.wait(second, point) == VK_SUCCESS);
          }) == 0);
    // Without the wait, some schedules do.
    CHECK(overwritten(first, second, [&](line_type& line) {
              point_type point{};
              CHECK(line.record(first, point) == VK_SUCCESS);
          }) > 0);
}

TEST_CASE_FIXTURE(fake::driven_queues, "vulkan timeline_semaphores: a barrier orders the batches of one queue") {
    const VkQueue queue = queue_of(0);
    CHECK(overwritten(queue, queue, [&](line_type& line) { CHECK(line.barrier(queue) == VK_SUCCESS); }) == 0);
    CHECK(overwritten(queue, queue, [](line_type&) {}) > 0);
}

TEST_CASE_FIXTURE(fake::driven_queues, "vulkan timeline_semaphores: points have states, and the host waits for them") {
    line_type line = make();
    const VkQueue queue = queue_of(0);
    CHECK(line);
    CHECK_FALSE(line.in_order(queue));
    point_type first{}, second{};
    int done = 0;
    CHECK(line.state(first) == point_state::passed);
    CHECK(line.wait(queue, first) == VK_SUCCESS);
    CHECK(line.wait_on_host(first) == VK_SUCCESS);
    CHECK(fake::work.submissions == 0);
    fake::launch(queue, [&] { ++done; });
    CHECK(line.record(queue, first) == VK_SUCCESS);
    fake::launch(queue, [&] { ++done; });
    CHECK(line.record(queue, second) == VK_SUCCESS);
    CHECK(fake::step(queue, 2));  // the later batch, first
    CHECK(line.state(first) == point_state::pending);
    CHECK(line.state(second) == point_state::pending);
    CHECK(line.wait_on_host(first) == VK_SUCCESS);
    CHECK(line.state(first) == point_state::passed);
    CHECK(line.state(second) == point_state::passed);
    CHECK(done == 2);
    line.release(first);
    CHECK_FALSE(first);
}

TEST_CASE_FIXTURE(fake::driven_queues,
                  "vulkan timeline_semaphores: the destructor waits for the batches of all queues") {
    int done = 0;
    {
        line_type line = make();
        point_type point{};
        fake::launch(queue_of(0), [&] { ++done; });
        CHECK(line.record(queue_of(0), point) == VK_SUCCESS);
        CHECK(line.wait(queue_of(1), point) == VK_SUCCESS);  // refers to the semaphore of queue 0
        line_type moved = std::move(line);
        line = std::move(moved);
        CHECK(done == 0);
    }
    CHECK(done == 1);
}

TEST_CASE_FIXTURE(fake::driven_queues, "vulkan timeline_semaphores: a call that fails changes no point") {
    line_type line = make();
    point_type empty{}, point{};
    fake::work.refuse_semaphore = VK_ERROR_OUT_OF_HOST_MEMORY;
    CHECK(line.record(queue_of(0), empty) == VK_ERROR_OUT_OF_HOST_MEMORY);
    CHECK_FALSE(empty);
    CHECK(line.record(queue_of(0), point) == VK_SUCCESS);
    const point_type before = point;
    const auto refuse = [] { fake::work.refuse_submit = VK_ERROR_OUT_OF_DEVICE_MEMORY; };
    refuse();
    CHECK(line.record(queue_of(0), point) == VK_ERROR_OUT_OF_DEVICE_MEMORY);
    CHECK(point.value == before.value);
    refuse();
    CHECK(line.wait(queue_of(1), point) == VK_ERROR_OUT_OF_DEVICE_MEMORY);
    refuse();
    CHECK(line.barrier(queue_of(1)) == VK_ERROR_OUT_OF_DEVICE_MEMORY);
    fake::work.refuse_semaphore = VK_ERROR_OUT_OF_HOST_MEMORY;
    CHECK(line.barrier(queue_of(0)) == VK_ERROR_OUT_OF_HOST_MEMORY);
    for (int i = 0; i != 3; ++i) CHECK(line.barrier(queue_of(1)) == VK_SUCCESS);
    CHECK(line.record(queue_of(0), point) == VK_SUCCESS);  // values continue without a gap that nobody signals
    CHECK(point.value == before.value + 1);
    CHECK(line.wait_on_host(point) == VK_SUCCESS);
}

TEST_CASE_FIXTURE(fake::driven_queues, "vulkan timeline_semaphores: a queue more than the limit is refused") {
    constexpr allot::vulkan::timeline_semaphores_options two{.queues = 2};
    allot::vulkan::timeline_semaphores<allot::vulkan::unlocked_submit, two> line{&fake::get_with_queues, fake::instance,
                                                                                 fake::device};
    decltype(line)::point_type point{};
    for (std::uint64_t i = 0; i != 2; ++i) CHECK(line.record(queue_of(i), point) == VK_SUCCESS);
    CHECK(line.wait(queue_of(2), point) == VK_ERROR_TOO_MANY_OBJECTS);
    CHECK(line.wait(queue_of(0), point) == VK_SUCCESS);
}

TEST_CASE_FIXTURE(fake::driven_queues, "vulkan timeline_semaphores: after the loss of a device all points fail") {
    line_type line = make();
    point_type point{};
    fake::launch(queue_of(0), [] { FAIL("it ran"); });
    CHECK(line.record(queue_of(0), point) == VK_SUCCESS);
    fake::work.is_lost = true;
    CHECK(line.state(point) == point_state::failed);
    CHECK(line.wait_on_host(point) == VK_ERROR_DEVICE_LOST);
    CHECK(line.wait(queue_of(1), point) == VK_ERROR_DEVICE_LOST);
    CHECK(line.record(queue_of(0), point) == VK_ERROR_DEVICE_LOST);
    CHECK(line.barrier(queue_of(0)) == VK_ERROR_DEVICE_LOST);
}

TEST_CASE_FIXTURE(fake::driven_queues, "vulkan timeline_semaphores: without a function of Vulkan every call fails") {
    for (const char* const name : {"vkGetDeviceProcAddr", "vkCreateSemaphore", "vkDestroySemaphore", "vkQueueSubmit",
                                   "vkGetSemaphoreCounterValue", "vkWaitSemaphores"}) {
        fake::now.lacks = name;
        line_type line = make();
        point_type point{};
        CHECK_FALSE(line);
        CHECK(line.record(queue_of(0), point) == VK_ERROR_INITIALIZATION_FAILED);
        CHECK(line.barrier(queue_of(0)) == VK_ERROR_INITIALIZATION_FAILED);
        point = line_type::adopt(fake::handle_of<VkSemaphore>(9), 1);
        CHECK(line.wait(queue_of(0), point) == VK_ERROR_INITIALIZATION_FAILED);
        CHECK(line.wait_on_host(point) == VK_ERROR_INITIALIZATION_FAILED);
        CHECK(line.state(point) == point_state::failed);
    }
}
