// Timeline semaphores as points of `ordered`, on the installed driver with the validation layer. Software drivers have
// one queue; tests/fakes/vulkan has several, whose work overlaps.
#include <allot/vulkan/timeline_semaphores.hpp>

#include "installed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace {

using allot::point_state;
using line_type = allot::vulkan::timeline_semaphores<>;

/// Buffers of words, and command buffers that fill or copy them. Everything is destroyed at the end.
class work {
public:
    static constexpr VkDeviceSize size = 4096;

    explicit work(tests::validated& on) : on_{on}, device_{on.vulkan.device} {
        VkCommandPoolCreateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
        wanted.queueFamilyIndex = on.vulkan.family;
        REQUIRE(::vkCreateCommandPool(device_, &wanted, nullptr, &pool_) == VK_SUCCESS);
        for (auto& [buffer, memory, words] : buffers_) make(buffer, memory, words);
    }
    work(const work&) = delete;
    work& operator=(const work&) = delete;
    ~work() {
        CHECK(::vkDeviceWaitIdle(device_) == VK_SUCCESS);
        ::vkDestroyCommandPool(device_, pool_, nullptr);
        for (const auto& [buffer, memory, words] : buffers_) {
            ::vkDestroyBuffer(device_, buffer, nullptr);
            ::vkFreeMemory(device_, memory, nullptr);
        }
    }
    /// Submits a command that fills the first buffer.
    void fill(std::uint32_t value) {
        submit([&](VkCommandBuffer commands) { ::vkCmdFillBuffer(commands, buffers_[0].buffer, 0, size, value); });
    }
    /// Submits a copy of the first buffer to the second.
    void copy() {
        submit([&](VkCommandBuffer commands) {
            const VkBufferCopy all{0, 0, size};
            ::vkCmdCopyBuffer(commands, buffers_[0].buffer, buffers_[1].buffer, 1, &all);
        });
    }
    /// Returns true if all words of the second buffer have this value, after its work is done.
    [[nodiscard]] bool copied(std::uint32_t value) const {
        const std::uint32_t* const words = buffers_[1].words;
        return std::all_of(words, words + size / 4, [=](std::uint32_t each) { return each == value; });
    }

private:
    struct bound {
        VkBuffer buffer = VK_NULL_HANDLE;
        VkDeviceMemory memory = VK_NULL_HANDLE;
        const std::uint32_t* words = nullptr;
    };
    void make(VkBuffer& buffer, VkDeviceMemory& memory, const std::uint32_t*& words) const {
        VkBufferCreateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
        wanted.size = size;
        wanted.usage = tests::every_use;
        REQUIRE(::vkCreateBuffer(device_, &wanted, nullptr, &buffer) == VK_SUCCESS);
        VkMemoryRequirements needs{};
        ::vkGetBufferMemoryRequirements(device_, buffer, &needs);
        VkMemoryAllocateInfo memory_wanted{};
        memory_wanted.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
        memory_wanted.allocationSize = needs.size;
        memory_wanted.memoryTypeIndex =
            allot::vulkan::memory_type(on_.gpu->memory(), needs.memoryTypeBits,
                                       VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
        REQUIRE(::vkAllocateMemory(device_, &memory_wanted, nullptr, &memory) == VK_SUCCESS);
        REQUIRE(::vkBindBufferMemory(device_, buffer, memory, 0) == VK_SUCCESS);
        void* mapped = nullptr;
        REQUIRE(::vkMapMemory(device_, memory, 0, VK_WHOLE_SIZE, 0, &mapped) == VK_SUCCESS);
        words = static_cast<const std::uint32_t*>(mapped);
    }
    template <class Record>
    void submit(Record&& record) {
        VkCommandBufferAllocateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
        wanted.commandPool = pool_;
        wanted.commandBufferCount = 1;
        VkCommandBuffer commands = VK_NULL_HANDLE;
        REQUIRE(::vkAllocateCommandBuffers(device_, &wanted, &commands) == VK_SUCCESS);
        VkCommandBufferBeginInfo begin{};
        begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
        REQUIRE(::vkBeginCommandBuffer(commands, &begin) == VK_SUCCESS);
        record(commands);
        REQUIRE(::vkEndCommandBuffer(commands) == VK_SUCCESS);
        VkSubmitInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
        info.commandBufferCount = 1;
        info.pCommandBuffers = &commands;
        REQUIRE(::vkQueueSubmit(on_.vulkan.queue, 1, &info, VK_NULL_HANDLE) == VK_SUCCESS);
    }

    tests::validated& on_;
    VkDevice device_;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    bound buffers_[2];
};

/// A device with timeline semaphores. Otherwise the test prints a line and does nothing.
struct with_timelines : tests::validated {
    with_timelines() {
        if (!vulkan.has_timelines) MESSAGE("skipped: the driver has no timeline semaphores");
    }
    [[nodiscard]] line_type line() const { return {&::vkGetInstanceProcAddr, vulkan.instance, vulkan.device}; }
};

}  // namespace

TEST_CASE_FIXTURE(with_timelines, "vulkan timeline_semaphores: a barrier orders the work of one queue") {
    if (!vulkan.has_timelines) return;
    line_type order = line();
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

TEST_CASE_FIXTURE(with_timelines, "vulkan timeline_semaphores: the validation layer notices a missing barrier") {
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

TEST_CASE_FIXTURE(with_timelines, "vulkan timeline_semaphores: a point of the program is adopted, and stays its own") {
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
        line_type order = line();
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

TEST_CASE_FIXTURE(with_timelines, "vulkan timeline_semaphores: the program's function submits, under its lock") {
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
