// `ordered` over Vulkan memory and timeline semaphores, on the installed driver. The layer's synchronization validation
// reports commands that may run beside those of an earlier block with the same bytes.
#include <allot/allot.hpp>
#include <allot/vulkan/bound_buffer.hpp>
#include <allot/vulkan/memory.hpp>
#include <allot/vulkan/timeline_semaphores.hpp>

#include "../../late_patterns.hpp"
#include "submissions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace {

using line_type = allot::vulkan::timeline_semaphores<>;
template <class Timeline>
using memory_on = allot::ordered<allot::arena<allot::vulkan::device_memory, allot::best_fit<>>, Timeline>;

constexpr std::size_t size = 8192, part = 1024, operations = 60;

/// Allocates and frees blocks at random on the one queue of the driver. Each block is filled and then copied to a place
/// of its own. Returns the number of copies with wrong words.
template <class Timeline>
unsigned wrong_copies(tests::validated& on) {
    using arena = allot::arena<allot::vulkan::device_memory, allot::bump<>>;
    arena copies{{*on.gpu, on.type()}, operations * part};
    const auto all = copies.allocate({operations * part, 256});
    REQUIRE(all);
    const tests::vulkan_installation& vulkan = on.vulkan;
    memory_on<Timeline> memory{Timeline{line_type{&::vkGetInstanceProcAddr, vulkan.instance, vulkan.device}},
                               allot::vulkan::device_memory{*on.gpu, on.type()}, size};
    const auto over = [](const auto& of, std::size_t bytes) {
        return allot::vulkan::buffer_over(of.device(), of.regions()[0].base, bytes, tests::every_use).value();
    };
    const auto from = over(memory.arena(), size), to = over(copies, operations * part);
    const auto queue = memory.attach(vulkan.queue);
    std::vector<std::size_t> sizes;
    {
        tests::submissions commands{vulkan};
        std::mt19937 random{7};
        std::vector<typename memory_on<Timeline>::block_type> live;
        while (sizes.size() != operations) {
            if (!live.empty() && random() % 2 == 0) {
                // The newest block: barriers of later batches would also order the commands of an older one.
                memory.deallocate(live.back(), queue);
                live.pop_back();
                continue;
            }
            const auto block = memory.allocate({4 + random() % (part / 4) * 4, 64}, queue);
            if (!block) continue;
            live.push_back(block);
            commands.submit([&](VkCommandBuffer buffer) {
                VkBufferMemoryBarrier filled{};
                filled.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER;
                filled.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
                filled.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
                filled.srcQueueFamilyIndex = filled.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
                filled.buffer = from.handle();
                filled.offset = from.offset_of(block.address);
                filled.size = block.size;
                const VkBufferCopy copy{filled.offset, sizes.size() * part, block.size};
                ::vkCmdFillBuffer(buffer, from.handle(), filled.offset, block.size,
                                  static_cast<std::uint32_t>(sizes.size()));
                ::vkCmdPipelineBarrier(buffer, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0,
                                       nullptr, 1, &filled, 0, nullptr);
                ::vkCmdCopyBuffer(buffer, from.handle(), to.handle(), 1, &copy);
            });
            sizes.push_back(block.size);
        }
        for (const auto& each : live) memory.deallocate(each, queue);
    }
    CHECK(copies.device().invalidate(all) == VK_SUCCESS);
    const auto* const words = static_cast<const std::uint32_t*>(copies.device().host_pointer(all));
    unsigned wrong = 0;
    for (std::size_t i = 0; i != operations; ++i) {
        const std::uint32_t* const first = words + i * part / 4;
        wrong += !std::all_of(first, first + sizes[i] / 4, [=](std::uint32_t each) { return each == i; });
    }
    return wrong;
}

}  // namespace

TEST_CASE_FIXTURE(tests::with_timelines, "vulkan ordered: commands of blocks never run beside those of earlier ones") {
    if (!vulkan.has_timelines) return;
    CHECK(wrong_copies<line_type>(*this) == 0);
}

TEST_CASE_FIXTURE(tests::with_timelines, "vulkan ordered: the layer reports a timeline that lost its waits") {
    if (!vulkan.has_timelines || !vulkan.listens) return;
    static_cast<void>(wrong_copies<tests::without_waits<line_type>>(*this));
    CHECK(std::any_of(vulkan.messages.begin(), vulkan.messages.end(), [](const std::string& each) {
        return each.find("SYNC-HAZARD-WRITE-AFTER-READ") != std::string::npos;
    }));
    vulkan.messages.clear();
}
