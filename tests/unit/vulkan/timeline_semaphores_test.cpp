// Timeline semaphores as points of `ordered`, on the installed driver with the validation layer. Software drivers have
// one queue; tests/fakes/vulkan has several, whose work overlaps.
#include <allot/allot.hpp>
#include <allot/vulkan/bound_buffer.hpp>
#include <allot/vulkan/memory.hpp>
#include <allot/vulkan/timeline_semaphores.hpp>

#include "submissions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace {

using allot::point_state;
using line_type = allot::vulkan::timeline_semaphores<>;

using memory_type = allot::arena<allot::vulkan::device_memory, allot::bump<>>;

/// Two buffers of words, and commands that fill or copy them.
class work {
public:
    static constexpr VkDeviceSize size = 4096;

    explicit work(tests::validated& on)
        : memory_{{*on.gpu, on.type()}, 2 * size},
          buffer_{allot::vulkan::buffer_over(memory_.device(), memory_.regions()[0].base, 2 * size, tests::every_use)
                      .value()},
          commands_{on.vulkan} {}

    /// Submits a command that fills the first half of the buffer.
    void fill(std::uint32_t value) {
        commands_.submit(
            [&](VkCommandBuffer commands) { ::vkCmdFillBuffer(commands, buffer_.handle(), 0, size, value); });
    }
    /// Submits a copy of the first half of the buffer to the second.
    void copy() {
        commands_.submit([&](VkCommandBuffer commands) {
            const VkBufferCopy all{0, size, size};
            ::vkCmdCopyBuffer(commands, buffer_.handle(), buffer_.handle(), 1, &all);
        });
    }
    /// Returns true if all copied words have this value.
    [[nodiscard]] bool copied(std::uint32_t value) {
        const auto block = memory_.allocate({2 * size, 256});
        const auto* const words = static_cast<const std::uint32_t*>(memory_.device().host_pointer(block));
        CHECK(memory_.device().invalidate(block) == VK_SUCCESS);
        memory_.reset();
        return std::all_of(words + size / 4, words + size / 2, [=](std::uint32_t each) { return each == value; });
    }

private:
    memory_type memory_;
    allot::vulkan::bound_buffer buffer_;
    tests::submissions commands_;
};

line_type make(const tests::vulkan_installation& on) { return {&::vkGetInstanceProcAddr, on.instance, on.device}; }

}  // namespace

TEST_CASE_FIXTURE(tests::with_timelines, "vulkan timeline_semaphores: a barrier orders the work of one queue") {
    if (!vulkan.has_timelines) return;
    line_type order = make(vulkan);
    REQUIRE(order);
    CHECK_FALSE(order.in_order(vulkan.queue));
    work commands{*this};
    for (const std::uint32_t value : {7u, 8u, 9u}) {
        commands.fill(value);
        CHECK(order.barrier(vulkan.queue) == VK_SUCCESS);
        commands.copy();
        line_type::point_type point{};
        CHECK(order.record(vulkan.queue, point) == VK_SUCCESS);
        CHECK(order.wait_on_host(point) == VK_SUCCESS);
        CHECK(order.state(point) == point_state::passed);
        CHECK(commands.copied(value));
        // The layer of Debian 12 knows binary semaphores, but not that the host has waited for a timeline semaphore.
        CHECK(::vkQueueWaitIdle(vulkan.queue) == VK_SUCCESS);
    }
}

TEST_CASE_FIXTURE(tests::with_timelines, "vulkan timeline_semaphores: the validation layer notices a missing barrier") {
    if (!vulkan.has_timelines || !vulkan.listens) return;
    {
        work commands{*this};
        commands.fill(7);
        commands.copy();
    }
    CHECK(std::any_of(vulkan.messages.begin(), vulkan.messages.end(), [](const std::string& each) {
        return each.find("SYNC-HAZARD-READ-AFTER-WRITE") != std::string::npos;
    }));
    vulkan.messages.clear();
}

TEST_CASE_FIXTURE(tests::with_timelines,
                  "vulkan timeline_semaphores: a point of the program is adopted, and stays its own") {
    if (!vulkan.has_timelines) return;
    VkSemaphoreTypeCreateInfo kind{};
    kind.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    kind.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    wanted.pNext = &kind;
    VkSemaphore theirs = VK_NULL_HANDLE;
    REQUIRE(::vkCreateSemaphore(vulkan.device, &wanted, nullptr, &theirs) == VK_SUCCESS);
    const auto signal =
        reinterpret_cast<PFN_vkSignalSemaphore>(::vkGetDeviceProcAddr(vulkan.device, "vkSignalSemaphoreKHR"));
    REQUIRE(static_cast<bool>(signal));
    {
        line_type order = make(vulkan);
        line_type::point_type point = line_type::adopt(theirs, 5), after{};
        CHECK(order.state(point) == point_state::pending);
        CHECK(order.wait(vulkan.queue, point) == VK_SUCCESS);
        CHECK(order.record(vulkan.queue, after) == VK_SUCCESS);
        CHECK(order.state(after) == point_state::pending);
        VkSemaphoreSignalInfo reached{};
        reached.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
        reached.semaphore = theirs;
        reached.value = 6;
        CHECK(signal(vulkan.device, &reached) == VK_SUCCESS);
        CHECK(order.wait_on_host(after) == VK_SUCCESS);
        CHECK(order.state(point) == point_state::passed);
        order.release(point);
        CHECK_FALSE(point);
        CHECK(order.state(point) == point_state::passed);
    }
    ::vkDestroySemaphore(vulkan.device, theirs, nullptr);
}

TEST_CASE_FIXTURE(tests::with_timelines, "vulkan timeline_semaphores: the program's function submits, under its lock") {
    if (!vulkan.has_timelines) return;
    std::mutex mutex;
    int submissions = 0;
    allot::vulkan::timeline_semaphores order{
        &::vkGetInstanceProcAddr, vulkan.instance, vulkan.device,
        [&](VkQueue queue, std::uint32_t count, const VkSubmitInfo* batches) noexcept {
            const std::scoped_lock lock{mutex};
            ++submissions;
            return ::vkQueueSubmit(queue, count, batches, VK_NULL_HANDLE);
        }};
    decltype(order)::point_type point{};
    CHECK(order.record(vulkan.queue, point) == VK_SUCCESS);
    decltype(order) moved = std::move(order);
    CHECK(moved.wait(vulkan.queue, point) == VK_SUCCESS);
    CHECK(submissions == 2);
    order = std::move(moved);
    CHECK(order.wait_on_host(point) == VK_SUCCESS);
    CHECK(order.state(point) == point_state::passed);
}
