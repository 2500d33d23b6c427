// Tables in Vulkan memory, on the installed driver: a compute shader gathers rows by the table. The host holds back all
// submissions by a timeline semaphore, so that each shader runs after the table has changed several times.
#include <allot/allot.hpp>
#include <allot/tensor/device_table.hpp>
#include <allot/vulkan/memory.hpp>
#include <allot/vulkan/tensor.hpp>
#include <allot/vulkan/timeline_semaphores.hpp>

#include "commands.hpp"
#include "gather.h"
#include "submissions.hpp"

#include <doctest/doctest.h>

#include <array>
#include <random>
#include <vector>

namespace {

using allot::vulkan::command_copy;
using allot::vulkan::mapped_copy;
using device_arena = allot::arena<allot::vulkan::device_memory, allot::best_fit<>>;
using line_type =
    allot::vulkan::timeline_semaphores<allot::vulkan::unlocked_submit,
                                       allot::vulkan::timeline_semaphores_options{.program_has_barriers = true}>;

constexpr std::uint32_t pages = 16, row = 64, entries = 37;

/// The shader, over one buffer.
class gather {
public:
    struct arguments {
        std::uint32_t to, from, table, count = entries * row, words = row;
    };

    gather(VkDevice device, VkBuffer buffer) : device_{device} {
        VkShaderModuleCreateInfo code{};
        code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
        code.codeSize = sizeof gather_spirv;
        code.pCode = gather_spirv;
        REQUIRE(::vkCreateShaderModule(device, &code, nullptr, &module_) == VK_SUCCESS);
        const VkDescriptorSetLayoutBinding binding{0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT,
                                                   nullptr};
        VkDescriptorSetLayoutCreateInfo set_wanted{};
        set_wanted.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
        set_wanted.bindingCount = 1;
        set_wanted.pBindings = &binding;
        REQUIRE(::vkCreateDescriptorSetLayout(device, &set_wanted, nullptr, &set_layout_) == VK_SUCCESS);
        const VkPushConstantRange constants{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(arguments)};
        VkPipelineLayoutCreateInfo layout_wanted{};
        layout_wanted.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
        layout_wanted.setLayoutCount = layout_wanted.pushConstantRangeCount = 1;
        layout_wanted.pSetLayouts = &set_layout_;
        layout_wanted.pPushConstantRanges = &constants;
        REQUIRE(::vkCreatePipelineLayout(device, &layout_wanted, nullptr, &layout_) == VK_SUCCESS);
        VkComputePipelineCreateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
        wanted.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        wanted.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
        wanted.stage.module = module_;
        wanted.stage.pName = "main";
        wanted.layout = layout_;
        REQUIRE(::vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &wanted, nullptr, &pipeline_) == VK_SUCCESS);
        const VkDescriptorPoolSize one{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
        VkDescriptorPoolCreateInfo pool_wanted{};
        pool_wanted.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
        pool_wanted.maxSets = pool_wanted.poolSizeCount = 1;
        pool_wanted.pPoolSizes = &one;
        REQUIRE(::vkCreateDescriptorPool(device, &pool_wanted, nullptr, &pool_) == VK_SUCCESS);
        VkDescriptorSetAllocateInfo of_pool{};
        of_pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
        of_pool.descriptorPool = pool_;
        of_pool.descriptorSetCount = 1;
        of_pool.pSetLayouts = &set_layout_;
        REQUIRE(::vkAllocateDescriptorSets(device, &of_pool, &set_) == VK_SUCCESS);
        const VkDescriptorBufferInfo all{buffer, 0, VK_WHOLE_SIZE};
        VkWriteDescriptorSet write{};
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstSet = set_;
        write.descriptorCount = 1;
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = &all;
        ::vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);
    }
    gather(const gather&) = delete;
    gather& operator=(const gather&) = delete;
    ~gather() {
        ::vkDestroyDescriptorPool(device_, pool_, nullptr);
        ::vkDestroyPipeline(device_, pipeline_, nullptr);
        ::vkDestroyPipelineLayout(device_, layout_, nullptr);
        ::vkDestroyDescriptorSetLayout(device_, set_layout_, nullptr);
        ::vkDestroyShaderModule(device_, module_, nullptr);
    }
    void record(VkCommandBuffer commands, const arguments& given) const {
        ::vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
        ::vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &set_, 0, nullptr);
        ::vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof given, &given);
        ::vkCmdDispatch(commands, entries, 1, 1);
    }

private:
    VkDevice device_;
    VkShaderModule module_ = VK_NULL_HANDLE;
    VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkPipeline pipeline_ = VK_NULL_HANDLE;
    VkDescriptorPool pool_ = VK_NULL_HANDLE;
    VkDescriptorSet set_ = VK_NULL_HANDLE;
};

void barrier(VkCommandBuffer commands) {
    VkMemoryBarrier all{};
    all.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    all.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
    all.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    ::vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &all,
                           0, nullptr, 0, nullptr);
}

/// A timeline semaphore that the host signals.
struct host_gate {
    const tests::vulkan_installation& on;
    VkSemaphore semaphore = VK_NULL_HANDLE;

    explicit host_gate(const tests::vulkan_installation& vulkan) : on{vulkan} {
        VkSemaphoreTypeCreateInfo kind{};
        kind.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
        kind.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
        VkSemaphoreCreateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
        wanted.pNext = &kind;
        REQUIRE(::vkCreateSemaphore(on.device, &wanted, nullptr, &semaphore) == VK_SUCCESS);
    }
    host_gate(const host_gate&) = delete;
    host_gate& operator=(const host_gate&) = delete;
    ~host_gate() {
        CHECK(::vkQueueWaitIdle(on.queue) == VK_SUCCESS);
        ::vkDestroySemaphore(on.device, semaphore, nullptr);
    }
    void open() const {
        const auto signal =
            reinterpret_cast<PFN_vkSignalSemaphoreKHR>(::vkGetDeviceProcAddr(on.device, "vkSignalSemaphoreKHR"));
        REQUIRE(static_cast<bool>(signal));
        VkSemaphoreSignalInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
        info.semaphore = semaphore;
        info.value = 1;
        REQUIRE(signal(on.device, &info) == VK_SUCCESS);
    }
};

}  // namespace

TEST_CASE_FIXTURE(tests::with_timelines,
                  "vulkan device table: a shader that runs late keeps the table that it was given") {
    if (!vulkan.has_timelines) return;
    line_type line{&::vkGetInstanceProcAddr, vulkan.instance, vulkan.device};
    device_arena memory{{*gpu, type()}, 1 << 18}, staging{{*gpu, type()}, 1 << 14};
    const auto over = [](const device_arena& of) {
        const auto& all = of.regions()[0];
        return allot::vulkan::buffer_over(of.device(), all.base, all.size, tests::every_use).value();
    };
    const std::array<allot::vulkan::bound_buffer, 2> buffers{over(memory), over(staging)};
    const gather shader{vulkan.device, buffers[0].handle()};
    const auto words_of = [&](const auto& block) {
        return static_cast<std::uint32_t*>(memory.device().host_pointer(block.address, block.size));
    };
    const auto word = [&](const auto& address) {
        return static_cast<std::uint32_t>(buffers[0].offset_of(address) / 4);
    };
    const auto from = memory.allocate({pages * row * 4, 256});
    for (std::uint32_t i = 0; i != pages * row; ++i) words_of(from)[i] = 1000 + i;
    REQUIRE(memory.device().flush(from) == VK_SUCCESS);

    {
        auto table = *allot::alloc_device_table<std::uint32_t, allot::device_table_options{.versions = 6}>(
            memory, staging, line, {.entries = entries, .align = 256});
        const host_gate gate{vulkan};
        tests::submissions work{vulkan};
        struct launch {
            allot::block_of<device_arena> to;
            std::vector<std::uint32_t> table;
        };
        std::vector<launch> launches;
        std::mt19937 random{5};
        const auto start = [&](std::size_t most) {
            for (int change = 0; change != 4; ++change) {
                const std::size_t at = random() % entries;
                REQUIRE(table.set(at, static_cast<std::uint32_t>(random() % pages)));
            }
            const auto to = memory.allocate({entries * row * 4, 256});
            REQUIRE(to);
            launches.push_back({to, {table.entries().begin(), table.entries().end()}});
            work.submit([&](VkCommandBuffer commands) {
                barrier(commands);  // `program_has_barriers`
                const auto version =
                    table.publish(vulkan.queue, mapped_copy{staging.device()}, command_copy{*gpu, commands, buffers});
                REQUIRE(version);
                CHECK(version->uploaded <= most);
                barrier(commands);
                shader.record(commands, {word(to.address), word(from.address), word(version->address)});
            });
        };
        REQUIRE(line.wait(vulkan.queue, line_type::adopt(gate.semaphore, 1)) == VK_SUCCESS);
        for (int i = 0; i != 5; ++i) start(entries);
        CHECK(table.versions() == 5);
        gate.open();
        REQUIRE(::vkQueueWaitIdle(vulkan.queue) == VK_SUCCESS);
        for (int i = 0; i != 20; ++i) {  // from now on in versions that are free again
            start(20);
            REQUIRE(::vkQueueWaitIdle(vulkan.queue) == VK_SUCCESS);
        }
        CHECK(table.versions() == 5);
        for (const launch& each : launches) {
            REQUIRE(memory.device().invalidate(each.to) == VK_SUCCESS);
            std::vector<std::uint32_t> expected;
            for (const std::uint32_t page : each.table)
                for (std::uint32_t i = 0; i != row; ++i) expected.push_back(1000 + page * row + i);
            CHECK(std::equal(expected.begin(), expected.end(), words_of(each.to)));
        }
    }
}

TEST_CASE_FIXTURE(tests::with_timelines,
                  "vulkan device table: the host writes to mapped memory, and only what has changed") {
    if (!vulkan.has_timelines) return;
    line_type line{&::vkGetInstanceProcAddr, vulkan.instance, vulkan.device};
    device_arena memory{{*gpu, type()}, 1 << 16}, other{{*gpu, type()}, 1 << 14};
    auto table = *allot::alloc_device_table<std::uint64_t>(memory, line, {.entries = entries, .align = 256});
    const mapped_copy mapped{memory.device()};
    const auto holds_the_entries = [&](const auto& version) {
        REQUIRE(memory.device().invalidate(version.address, version.size) == VK_SUCCESS);
        const auto* const words =
            static_cast<const std::uint64_t*>(memory.device().host_pointer(version.address, version.size));
        return std::equal(table.entries().begin(), table.entries().end(), words);
    };
    for (std::uint64_t i = 1; i != 9; ++i) {
        REQUIRE(table.set(i, 1000 * i));
        const auto version = table.publish(vulkan.queue, mapped);
        REQUIRE(version);
        CHECK(version->uploaded == (i < 3 ? entries : 2));  // two versions; each misses the change of the other
        CHECK(holds_the_entries(*version));
        REQUIRE(::vkQueueWaitIdle(vulkan.queue) == VK_SUCCESS);
    }
    CHECK(table.versions() == 2);
    REQUIRE(table.set(0, 7));
    CHECK(table.publish(vulkan.queue, mapped_copy{other.device()}).error().reason == allot::tensor_refusal::no_way);
    const auto version = table.publish(vulkan.queue, mapped);
    REQUIRE(version);
    CHECK((version->uploaded == 2 || version->uploaded == entries));  // a new one if the refused one is still in use
    CHECK(holds_the_entries(*version));
}
