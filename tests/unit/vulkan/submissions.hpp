// Commands on the queue of a test's Vulkan device, submitted without a wait.
#pragma once

#include "installed.hpp"

namespace tests {

/// Submits commands. The destructor waits for all of them.
class submissions {
public:
    explicit submissions(const vulkan_installation& on) : on_{on} {
        VkCommandPoolCreateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
        wanted.queueFamilyIndex = on.family;
        REQUIRE(::vkCreateCommandPool(on.device, &wanted, nullptr, &pool_) == VK_SUCCESS);
    }
    submissions(const submissions&) = delete;
    submissions& operator=(const submissions&) = delete;
    ~submissions() {
        CHECK(::vkDeviceWaitIdle(on_.device) == VK_SUCCESS);
        ::vkDestroyCommandPool(on_.device, pool_, nullptr);
    }
    /// Submits one batch with the commands of `record(command_buffer)`.
    template <class Record>
    void submit(Record&& record) {
        VkCommandBufferAllocateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
        wanted.commandPool = pool_;
        wanted.commandBufferCount = 1;
        VkCommandBuffer commands = VK_NULL_HANDLE;
        REQUIRE(::vkAllocateCommandBuffers(on_.device, &wanted, &commands) == VK_SUCCESS);
        VkCommandBufferBeginInfo begin{};
        begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
        REQUIRE(::vkBeginCommandBuffer(commands, &begin) == VK_SUCCESS);
        record(commands);
        REQUIRE(::vkEndCommandBuffer(commands) == VK_SUCCESS);
        VkSubmitInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
        info.commandBufferCount = 1;
        info.pCommandBuffers = &commands;
        REQUIRE(::vkQueueSubmit(on_.queue, 1, &info, VK_NULL_HANDLE) == VK_SUCCESS);
    }

private:
    const vulkan_installation& on_;
    VkCommandPool pool_ = VK_NULL_HANDLE;
};

/// A device with timeline semaphores. Without them, `has_timelines` is false, and a line says so.
struct with_timelines : validated {
    with_timelines() {
        if (!vulkan.has_timelines) MESSAGE("skipped: the driver has no timeline semaphores");
    }
};

}  // namespace tests
