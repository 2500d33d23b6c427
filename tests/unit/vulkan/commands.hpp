// Work on the queue of a test's Vulkan device: commands with a wait, and one compute kernel.
#pragma once

#include "installed.hpp"

#include "multiply_add.h"

#include <array>

namespace tests {

/// A buffer without memory. `next` is the pNext chain of its creation.
[[nodiscard]] inline VkBuffer make_buffer(VkDevice device, VkDeviceSize size, VkBufferUsageFlags usage,
                                          const void* next = nullptr) {
    VkBufferCreateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    wanted.pNext = next;
    wanted.size = size;
    wanted.usage = usage;
    VkBuffer made = VK_NULL_HANDLE;
    REQUIRE(::vkCreateBuffer(device, &wanted, nullptr, &made) == VK_SUCCESS);
    return made;
}

/// An image of side × side words with optimal tiling and without memory.
[[nodiscard]] inline VkImage make_image(VkDevice device, std::uint32_t side) {
    VkImageCreateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
    wanted.imageType = VK_IMAGE_TYPE_2D;
    wanted.format = VK_FORMAT_R8G8B8A8_UNORM;
    wanted.extent = {side, side, 1};
    wanted.mipLevels = wanted.arrayLayers = 1;
    wanted.samples = VK_SAMPLE_COUNT_1_BIT;
    wanted.tiling = VK_IMAGE_TILING_OPTIMAL;
    wanted.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    VkImage made = VK_NULL_HANDLE;
    REQUIRE(::vkCreateImage(device, &wanted, nullptr, &made) == VK_SUCCESS);
    return made;
}

/// Records commands with `record(command_buffer)`, submits them, and waits. Afterwards the host may read their results.
template <class Record>
void run(const vulkan_installation& on, Record&& record) {
    VkCommandPoolCreateInfo pool_wanted{};
    pool_wanted.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool_wanted.queueFamilyIndex = on.family;
    VkCommandPool pool = VK_NULL_HANDLE;
    REQUIRE(::vkCreateCommandPool(on.device, &pool_wanted, nullptr, &pool) == VK_SUCCESS);
    VkCommandBufferAllocateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    wanted.commandPool = pool;
    wanted.commandBufferCount = 1;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    REQUIRE(::vkAllocateCommandBuffers(on.device, &wanted, &commands) == VK_SUCCESS);
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    REQUIRE(::vkBeginCommandBuffer(commands, &begin) == VK_SUCCESS);
    record(commands);
    VkMemoryBarrier to_host{};
    to_host.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    to_host.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
    to_host.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    ::vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0,
                           nullptr, 0, nullptr);
    REQUIRE(::vkEndCommandBuffer(commands) == VK_SUCCESS);
    VkSubmitInfo submit{};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    REQUIRE(::vkQueueSubmit(on.queue, 1, &submit, VK_NULL_HANDLE) == VK_SUCCESS);
    REQUIRE(::vkQueueWaitIdle(on.queue) == VK_SUCCESS);
    ::vkDestroyCommandPool(on.device, pool, nullptr);
}

/// `to[i] = from[i] * factor + i` for `count` words, on the device.
struct multiply_add {
    std::uint32_t to_first, from_first, count, factor;

    void operator()(const vulkan_installation& on, VkBuffer to, VkBuffer from) const {
        const VkDevice device = on.device;
        VkShaderModuleCreateInfo code{};
        code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
        code.codeSize = sizeof multiply_add_spirv;
        code.pCode = multiply_add_spirv;
        VkShaderModule module = VK_NULL_HANDLE;
        REQUIRE(::vkCreateShaderModule(device, &code, nullptr, &module) == VK_SUCCESS);

        std::array<VkDescriptorSetLayoutBinding, 2> bindings{};
        for (std::uint32_t i = 0; i != 2; ++i)
            bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
        VkDescriptorSetLayoutCreateInfo set_wanted{};
        set_wanted.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
        set_wanted.bindingCount = 2;
        set_wanted.pBindings = bindings.data();
        VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
        REQUIRE(::vkCreateDescriptorSetLayout(device, &set_wanted, nullptr, &set_layout) == VK_SUCCESS);
        const VkPushConstantRange constants{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof *this};
        VkPipelineLayoutCreateInfo layout_wanted{};
        layout_wanted.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
        layout_wanted.setLayoutCount = layout_wanted.pushConstantRangeCount = 1;
        layout_wanted.pSetLayouts = &set_layout;
        layout_wanted.pPushConstantRanges = &constants;
        VkPipelineLayout layout = VK_NULL_HANDLE;
        REQUIRE(::vkCreatePipelineLayout(device, &layout_wanted, nullptr, &layout) == VK_SUCCESS);
        VkComputePipelineCreateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
        wanted.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        wanted.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
        wanted.stage.module = module;
        wanted.stage.pName = "main";
        wanted.layout = layout;
        VkPipeline pipeline = VK_NULL_HANDLE;
        REQUIRE(::vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &wanted, nullptr, &pipeline) == VK_SUCCESS);

        const VkDescriptorPoolSize two{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2};
        VkDescriptorPoolCreateInfo pool_wanted{};
        pool_wanted.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
        pool_wanted.maxSets = pool_wanted.poolSizeCount = 1;
        pool_wanted.pPoolSizes = &two;
        VkDescriptorPool pool = VK_NULL_HANDLE;
        REQUIRE(::vkCreateDescriptorPool(device, &pool_wanted, nullptr, &pool) == VK_SUCCESS);
        VkDescriptorSetAllocateInfo one{};
        one.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
        one.descriptorPool = pool;
        one.descriptorSetCount = 1;
        one.pSetLayouts = &set_layout;
        VkDescriptorSet set = VK_NULL_HANDLE;
        REQUIRE(::vkAllocateDescriptorSets(device, &one, &set) == VK_SUCCESS);
        const VkDescriptorBufferInfo buffers[2] = {{to, 0, VK_WHOLE_SIZE}, {from, 0, VK_WHOLE_SIZE}};
        VkWriteDescriptorSet write{};
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstSet = set;
        write.descriptorCount = 2;
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = buffers;
        ::vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);

        run(on, [&](VkCommandBuffer commands) {
            ::vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
            ::vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
            ::vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof *this, this);
            ::vkCmdDispatch(commands, (count + 63) / 64, 1, 1);
        });
        ::vkDestroyDescriptorPool(device, pool, nullptr);
        ::vkDestroyPipeline(device, pipeline, nullptr);
        ::vkDestroyPipelineLayout(device, layout, nullptr);
        ::vkDestroyDescriptorSetLayout(device, set_layout, nullptr);
        ::vkDestroyShaderModule(device, module, nullptr);
    }
};

}  // namespace tests
