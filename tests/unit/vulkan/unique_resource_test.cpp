// Buffers and images with owners, on the installed driver. The validation layer reports each object that is left.
#include <allot/allot.hpp>
#include <allot/vulkan/imported.hpp>
#include <allot/vulkan/unique_resource.hpp>

#include "commands.hpp"

#include <doctest/doctest.h>

#include <string_view>

namespace {

using namespace allot::literals;
using allot::vulkan::device_memory;
using tests::every_use;
using tests::validated;

using arena = allot::arena<device_memory, allot::best_fit<>>;

VkBufferCreateInfo buffer_of(VkDeviceSize size) {
    VkBufferCreateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    wanted.size = size;
    wanted.usage = every_use;
    return wanted;
}
VkImageCreateInfo image_of(std::uint32_t side) {
    VkImageCreateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
    wanted.imageType = VK_IMAGE_TYPE_2D;
    wanted.format = VK_FORMAT_R8G8B8A8_UNORM;
    wanted.extent = {side, side, 1};
    wanted.mipLevels = wanted.arrayLayers = 1;
    wanted.samples = VK_SAMPLE_COUNT_1_BIT;
    wanted.tiling = VK_IMAGE_TILING_OPTIMAL;
    wanted.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    return wanted;
}

}  // namespace

TEST_CASE_FIXTURE(validated, "vulkan unique_resource: the device copies between two buffers of one arena") {
    constexpr std::uint32_t count = 1000;
    arena memory{{*gpu, type()}, 64_KiB};
    const std::uint64_t all = memory.diagnose({1, 1}).largest_hole;
    {
        auto from = allot::vulkan::make_buffer(memory, buffer_of(count * 4));
        const auto to = allot::vulkan::make_buffer(memory, buffer_of(count * 4));
        REQUIRE((from && to));
        CHECK(gpu->allocations() == 1);
        auto* const words = static_cast<std::uint32_t*>(from->host_pointer());
        for (std::uint32_t i = 0; i != count; ++i) words[i] = 7 * i;
        REQUIRE(from->flush() == VK_SUCCESS);
        const auto moved = std::move(*from);
        tests::run(vulkan, [&](VkCommandBuffer commands) {
            const VkBufferCopy whole{0, 0, count * 4};
            ::vkCmdCopyBuffer(commands, moved.handle(), to->handle(), 1, &whole);
        });
        REQUIRE(to->invalidate() == VK_SUCCESS);
        CHECK(std::memcmp(to->host_pointer(), moved.host_pointer(), count * 4) == 0);
    }
    CHECK(memory.diagnose({1, 1}).largest_hole == all);
}

TEST_CASE_FIXTURE(validated, "vulkan unique_resource: wrappers of an arena count and name the buffers") {
    allot::tagged memory{allot::counted{arena{{*gpu, type()}, 64_KiB}}};
    memory.set_current_tag("weights");
    CHECK(&memory.device().gpu() == &*gpu);
    {
        const auto made = allot::vulkan::make_buffer(memory, buffer_of(1000));
        REQUIRE(made);
        CHECK(made->host_pointer() != nullptr);
        CHECK(memory.statistics().count == 1);
        CHECK(memory.statistics().used >= 1000);
        std::size_t named = 0;
        memory.for_each_block([&](const auto& block) { named += std::string_view{block.tag.name} == "weights"; });
        CHECK(named == 1);
        CHECK(!allot::vulkan::make_buffer(memory, buffer_of(1_MiB)));
        CHECK(memory.statistics().refusals == 1);
    }
    CHECK(memory.statistics().count == 0);
}

TEST_CASE_FIXTURE(validated, "vulkan unique_resource: an image and a buffer with dedicated allocations") {
    const auto buffer =
        allot::vulkan::make_dedicated_buffer(*gpu, buffer_of(1000), VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
    auto image = allot::vulkan::make_dedicated_image(*gpu, image_of(16), 0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    REQUIRE((buffer && image));
    CHECK(gpu->allocations() == 2);
    CHECK(buffer->host_pointer() != nullptr);
    CHECK(image->size() >= 4 * 16 * 16);
    image->reset();
    CHECK(gpu->allocations() == 1);
}

TEST_CASE_FIXTURE(validated, "vulkan unique_resource: an image in an arena, and one that has no room") {
    const VkImage probe = tests::make_image(vulkan.device, 16);
    const std::uint32_t type = allot::vulkan::memory_type(gpu->memory(), gpu->requirements_of_image(probe).types, 0);
    ::vkDestroyImage(vulkan.device, probe, nullptr);
    arena memory{{*gpu, type}, 64_KiB};
    REQUIRE(memory.size() == 64_KiB);
    const auto image = allot::vulkan::make_image(memory, image_of(16));
    CHECK(image);
    const auto large = allot::vulkan::make_image(memory, image_of(256));
    CHECK_FALSE(large);
    CHECK(large.error() == VK_ERROR_OUT_OF_DEVICE_MEMORY);
    CHECK(allot::vulkan::make_buffer(memory, buffer_of(1_MiB)).error() == VK_ERROR_OUT_OF_DEVICE_MEMORY);
}

TEST_CASE_FIXTURE(validated, "vulkan unique_resource: a buffer over imported bytes is created with their handle type") {
    if (!vulkan.can_import) return static_cast<void>(std::puts("skipped: the Vulkan device cannot import host memory"));
    alignas(65536) static std::byte bytes[65536];
    allot::arena<allot::vulkan::imported, allot::best_fit<>> memory{{*gpu, bytes, sizeof bytes}};
    REQUIRE(memory.size() == sizeof bytes);
    const auto added = allot::vulkan::make_buffer(memory, buffer_of(1000));
    REQUIRE(added);
    CHECK(added->host_pointer() >= bytes);
    VkExternalMemoryBufferCreateInfo external{};
    external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
    external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    VkBufferCreateInfo wanted = buffer_of(1000);
    wanted.pNext = &external;
    CHECK(allot::vulkan::make_buffer(memory, wanted));
}
