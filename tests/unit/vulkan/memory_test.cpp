// Vulkan on the installed driver, with its validation layer: buffers and images in one allocation.
#include <allot/allot.hpp>
#include <allot/vulkan/bound_buffer.hpp>
#include <allot/vulkan/dedicated.hpp>
#include <allot/vulkan/imported.hpp>
#include <allot/vulkan/memory.hpp>

#include "../../error_of.hpp"
#include "commands.hpp"

#include <doctest/doctest.h>

namespace {

using namespace allot::literals;
using allot::refusal;
using allot::vulkan::device_memory;
using allot::vulkan::resources;
using tests::every_use;
using tests::make_buffer;
using tests::make_image;
using tests::validated;

using arena = allot::arena<device_memory, allot::best_fit<>>;
constexpr VkResult invalid = VK_ERROR_VALIDATION_FAILED_EXT;

/// A block with a buffer bound to it.
template <class Arena>
auto place_buffer(Arena& memory, VkBuffer buffer) {
    const auto wanted = memory.device().buffer_layout(buffer);
    REQUIRE(wanted);
    const auto block = memory.allocate(*wanted);
    REQUIRE(block);
    REQUIRE(memory.device().bind_buffer(buffer, block) == VK_SUCCESS);
    return block;
}
template <class Arena>
auto place_image(Arena& memory, VkImage image) {
    const auto wanted = memory.device().image_layout(image);
    REQUIRE(wanted);
    const auto block = memory.allocate(*wanted);
    REQUIRE(block);
    REQUIRE(memory.device().bind_image(image, block) == VK_SUCCESS);
    return block;
}

/// The words of a block, through the host's mapping.
template <class Arena, class Block>
std::uint32_t* words_of(const Arena& memory, const Block& block) {
    void* const bytes = memory.device().host_pointer(block);
    REQUIRE(bytes != nullptr);
    return static_cast<std::uint32_t*>(bytes);
}

/// Moves an uninitialized image to the layout of a copy's target, or from there to the layout of a copy's source.
void turn(VkCommandBuffer commands, VkImage image, VkImageLayout from, VkImageLayout to) {
    VkImageMemoryBarrier barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    barrier.oldLayout = from;
    barrier.newLayout = to;
    barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.image = image;
    barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    ::vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0,
                           nullptr, 0, nullptr, 1, &barrier);
}

}  // namespace

TEST_CASE_FIXTURE(validated, "vulkan: the driver reports the budget of a heap, or does not support it") {
    arena memory{{*gpu, type()}, 64_KiB};
    const auto budget = memory.device().budget();
    if (budget) CHECK(budget->limit != 0);
    else CHECK(budget.error() == VK_ERROR_EXTENSION_NOT_PRESENT);
}

TEST_CASE_FIXTURE(validated, "vulkan: the validation layer reports errors") {
    if (!vulkan.listens) return;
    // Passes a request that allot rejects to the driver: a misaligned bind. All other tests here fail in this case.
    arena memory{{*gpu, type()}, 64_KiB};
    const VkBuffer buffer = make_buffer(vulkan.device, 1000, every_use);
    const auto block = memory.allocate({4096, 256});
    const decltype(block) shifted{{block.address.handle, block.address.offset + 4}, block.size - 4, block.metadata};
    CHECK(memory.device().bind_buffer(buffer, shifted) == invalid);
    CHECK(vulkan.messages.empty());
    static_cast<void>(::vkBindBufferMemory(vulkan.device, buffer, shifted.address.handle, shifted.address.offset));
    CHECK(vulkan.messages.size() == 1);
    vulkan.messages.clear();
    ::vkDestroyBuffer(vulkan.device, buffer, nullptr);
}

TEST_CASE_FIXTURE(validated, "vulkan: buffers and images share an allocation, with kernels at offsets of buffers") {
    constexpr std::uint32_t side = 16, count = side * side;
    const VkDevice device = vulkan.device;
    const VkImage image = make_image(device, side);
    const std::uint32_t for_both = gpu->types_for_buffers(every_use) & gpu->requirements_of_image(image).types;
    const std::uint32_t visible =
        allot::vulkan::memory_type(gpu->memory(), for_both, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
    if (visible == allot::vulkan::no_type) {
        std::puts("skipped: the Vulkan device has no host-visible memory for both buffers and images");
        ::vkDestroyImage(device, image, nullptr);
        return;
    }
    arena memory{{*gpu, visible}, 1_MiB};
    REQUIRE(memory.size() == 1_MiB);
    CHECK(gpu->allocations() == 1);
    const VkBuffer first = make_buffer(device, 100, every_use), a = make_buffer(device, 4 * (count + 10), every_use),
                   b = make_buffer(device, 4 * (count + 100), every_use),
                   back = make_buffer(device, 4 * count, every_use);
    const auto at_first = place_buffer(memory, first);
    const auto at_image = place_image(memory, image);
    const auto at_a = place_buffer(memory, a), at_b = place_buffer(memory, b), at_back = place_buffer(memory, back);
    CHECK(gpu->allocations() == 1);
    for (const auto& each : {at_first, at_image, at_a, at_b, at_back}) {
        CHECK(each.address.handle == memory.regions()[0].base.handle);
        CHECK(each.address.offset % gpu->buffer_image_granularity() == 0);
    }

    std::fill_n(words_of(memory, at_first), 25, 0xEEEEEEEE);
    std::uint32_t* const in_a = words_of(memory, at_a);
    std::uint32_t* const in_b = words_of(memory, at_b);
    for (std::uint32_t i = 0; i != count + 10; ++i) in_a[i] = 1000 + i;
    std::fill_n(in_b, count + 100, 7u);
    REQUIRE(memory.device().flush(at_first) == VK_SUCCESS);
    REQUIRE(memory.device().flush(at_a) == VK_SUCCESS);
    REQUIRE(memory.device().flush(at_b) == VK_SUCCESS);

    tests::multiply_add{.to_first = 50, .from_first = 10, .count = count, .factor = 3}(vulkan, b, a);
    tests::run(vulkan, [&](VkCommandBuffer commands) {
        turn(commands, image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
        VkBufferImageCopy all{};
        all.bufferOffset = 4 * 50;
        all.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
        all.imageExtent = {side, side, 1};
        ::vkCmdCopyBufferToImage(commands, b, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &all);
        turn(commands, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
        all.bufferOffset = 0;
        ::vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, back, 1, &all);
    });

    REQUIRE(memory.device().invalidate(at_b) == VK_SUCCESS);
    REQUIRE(memory.device().invalidate(at_back) == VK_SUCCESS);
    const std::uint32_t* const in_back = words_of(memory, at_back);
    for (std::uint32_t i = 0; i != count; ++i) {
        REQUIRE(in_b[50 + i] == (1010 + i) * 3 + i);
        REQUIRE(in_back[i] == (1010 + i) * 3 + i);
    }
    for (std::uint32_t i = 0; i != 50; ++i) REQUIRE((in_b[i] == 7 && in_b[50 + count + i] == 7));
    for (std::uint32_t i = 0; i != 25; ++i) REQUIRE(words_of(memory, at_first)[i] == 0xEEEEEEEE);

    for (const VkBuffer each : {first, a, b, back}) ::vkDestroyBuffer(device, each, nullptr);
    ::vkDestroyImage(device, image, nullptr);
}

TEST_CASE_FIXTURE(validated, "vulkan buffer_over: one buffer over a region serves every block at its offset") {
    arena memory{{*gpu, type()}, 10'000};
    const auto& all = memory.regions()[0];
    const auto buffer = allot::vulkan::buffer_over(memory.device(), all.base, all.size, every_use);
    REQUIRE(buffer);
    const auto before = memory.allocate({100, 4}), from = memory.allocate({400, 4}), to = memory.allocate({400, 4});
    REQUIRE((before && from && to));
    std::memset(memory.device().host_pointer(all.base, all.size), 0xEE, all.size);
    for (std::uint32_t i = 0; i != 100; ++i) words_of(memory, from)[i] = i * i;
    REQUIRE(memory.device().flush(all.base, all.size) == VK_SUCCESS);
    const auto word = [&](const auto& block) {
        return static_cast<std::uint32_t>(buffer->offset_of(block.address) / 4);
    };
    tests::multiply_add{.to_first = word(to), .from_first = word(from), .count = 100, .factor = 2}(
        vulkan, buffer->handle(), buffer->handle());
    REQUIRE(memory.device().invalidate(all.base, all.size) == VK_SUCCESS);
    for (std::uint32_t i = 0; i != 100; ++i) REQUIRE(words_of(memory, to)[i] == i * i * 2 + i);
    for (std::uint32_t i = 0; i != 25; ++i) REQUIRE(words_of(memory, before)[i] == 0xEEEEEEEE);
}

TEST_CASE_FIXTURE(validated, "vulkan bind: invalid binds fail without a driver call") {
    arena memory{{*gpu, type()}, 64_KiB};
    const VkBuffer buffer = make_buffer(vulkan.device, 1000, every_use);
    const VkImage image = make_image(vulkan.device, 8);
    const auto wanted = memory.device().buffer_layout(buffer);
    const auto block = memory.allocate(*wanted);
    REQUIRE(block);
    const device_memory& device = memory.device();
    const auto with = [&](std::size_t offset, std::size_t size) {
        auto changed = block;
        changed.address.offset = offset;
        changed.size = size;
        return changed;
    };
    const auto refused = [&](const auto& to) {
        CHECK(device.bind_buffer(buffer, to) == invalid);
        CHECK(device.bind_image(image, to) == invalid);
    };
    refused(with(4, 4096));                       // misaligned
    refused(with(0, 64));                         // too small
    refused(with(64_KiB, 4096));                  // after the end
    refused(with(64_KiB - 512, 1024));            // across the end
    refused(with(~std::size_t{0} - 1023, 4096));  // wraps around
    refused(with(0, wanted->size + 4));           // ends inside a granule
    refused(decltype(block){});                   // of no memory
    arena other{{*gpu, type()}, 64_KiB};
    refused(other.allocate({4096, 4096}));  // of other memory
    CHECK(other.device().host_pointer(block) == nullptr);
    CHECK(other.device().flush(block) == VK_ERROR_MEMORY_MAP_FAILED);
    CHECK(device.host_pointer(with(64_KiB - 4, 8)) == nullptr);

    arena buffers{{*gpu, type(), resources::buffers}, 64_KiB},
        images{{*gpu, type(), resources::optimal_images}, 64_KiB};
    CHECK(buffers.device().bind_image(image, buffers.allocate({4096, 4096})) == invalid);
    CHECK(images.device().bind_buffer(buffer, images.allocate({4096, 4096})) == invalid);

    const arena nowhere{{*gpu, allot::vulkan::no_type}, 64_KiB};
    CHECK(nowhere.diagnose({1, 1}) == allot::diagnosis{refusal::device_refused, 0, VK_ERROR_FEATURE_NOT_PRESENT});
    CHECK(nowhere.device().buffer_layout(buffer).error() == VK_ERROR_FEATURE_NOT_PRESENT);
    CHECK(nowhere.device().image_layout(image).error() == VK_ERROR_FEATURE_NOT_PRESENT);
    CHECK(device.bind_buffer(buffer, block) == VK_SUCCESS);
    ::vkDestroyBuffer(vulkan.device, buffer, nullptr);
    ::vkDestroyImage(vulkan.device, image, nullptr);
}

TEST_CASE_FIXTURE(validated, "vulkan: the sizes of heaps and the driver's limits are enforced") {
    const VkDeviceSize heap = gpu->memory().memoryHeaps[gpu->memory().memoryTypes[type()].heapIndex].size;
    device_memory memory{*gpu, type()};
    for (const VkDeviceSize size : {heap + 1, 4 * heap, VkDeviceSize{1} << 62})
        CHECK(memory.acquire({static_cast<std::size_t>(size), 1}).error() == VK_ERROR_OUT_OF_DEVICE_MEMORY);
    CHECK(gpu->allocations() == 0);
    if (heap > 8_GiB) return;  // the machine's own memory: the test does not use it
    const auto half = memory.acquire({static_cast<std::size_t>(heap / 2), 1});  // not accessed
    REQUIRE(half);
    device_memory other{*gpu, type()};
    CHECK(other.acquire({static_cast<std::size_t>(heap / 2 + 1), 1}).error() == VK_ERROR_OUT_OF_DEVICE_MEMORY);
    memory.release(*half);
    const auto more = other.acquire({static_cast<std::size_t>(heap / 2 + 1), 1});
    REQUIRE(more);
    other.release(*more);
}

TEST_CASE_FIXTURE(validated, "vulkan logical_device: counts allocations over all memory of a device") {
    allot::vulkan::logical_device few{&::vkGetInstanceProcAddr, vulkan.instance, vulkan.physical, vulkan.device, 3};
    device_memory one{few, type()}, two{few, type()};
    const auto a = one.acquire({100, 1}), b = two.acquire({100, 1}), c = two.acquire({100, 1});
    REQUIRE((a && b && c));
    CHECK(few.allocations() == 3);
    CHECK(one.acquire({100, 1}).error() == VK_ERROR_TOO_MANY_OBJECTS);
    const VkBuffer buffer = make_buffer(vulkan.device, 100, every_use);
    auto dedicated = allot::vulkan::dedicated::for_buffer(few, buffer, 0);
    CHECK(dedicated.acquire({1, 1}).error() == VK_ERROR_TOO_MANY_OBJECTS);
    two.release(*b);
    const auto d = dedicated.acquire({1, 1});
    REQUIRE(d);
    CHECK(two.acquire({100, 1}).error() == VK_ERROR_TOO_MANY_OBJECTS);
    dedicated.release(*d);
    one.release(*a);
    two.release(*c);
    CHECK(few.allocations() == 0);
    ::vkDestroyBuffer(vulkan.device, buffer, nullptr);

    allot::vulkan::basic_device_memory<2> little{*gpu, type()};
    const auto e = little.acquire({100, 1}), f = little.acquire({100, 1});
    REQUIRE((e && f));
    CHECK(little.acquire({100, 1}).error() == VK_ERROR_TOO_MANY_OBJECTS);
    little.release(*e);
    little.release(*f);
}

TEST_CASE_FIXTURE(validated, "vulkan dedicated: has the size of its resource and binds only that") {
    const VkBuffer buffer = make_buffer(vulkan.device, 1000, every_use);
    const VkImage image = make_image(vulkan.device, 32);
    const auto is_dedicated = [&](allot::vulkan::dedicated from, auto bind) {
        allot::naive<allot::vulkan::dedicated> memory{std::move(from)};
        const std::size_t size = memory.device().capacity();
        CHECK_FALSE(memory.allocate({size + 1, 1}));
        const auto block = memory.allocate({size, 64});
        REQUIRE(block);
        CHECK(block.address.offset == 0);
        CHECK_FALSE(memory.allocate({size, 1}));
        CHECK(memory.diagnose({size, 1}).device_error == VK_ERROR_TOO_MANY_OBJECTS);
        CHECK(bind(memory.device(), block) == VK_SUCCESS);
        memory.deallocate(block);
    };
    const VkMemoryPropertyFlags visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    is_dedicated(allot::vulkan::dedicated::for_buffer(*gpu, buffer, visible),
                 [&](const auto& device, const auto& block) {
                     CHECK(device.bind_image(image, block) == invalid);
                     CHECK(device.host_pointer(block) != nullptr);
                     return device.bind_buffer(buffer, block);
                 });
    is_dedicated(allot::vulkan::dedicated::for_image(*gpu, image, 0), [&](const auto& device, const auto& block) {
        CHECK(device.bind_buffer(buffer, block) == invalid);
        return device.bind_image(image, block);
    });
    auto none = allot::vulkan::dedicated::for_buffer(*gpu, buffer, VK_MEMORY_PROPERTY_PROTECTED_BIT);
    CHECK(none.acquire({1, 1}).error() == VK_ERROR_FEATURE_NOT_PRESENT);
    ::vkDestroyBuffer(vulkan.device, buffer, nullptr);
    ::vkDestroyImage(vulkan.device, image, nullptr);
}

TEST_CASE_FIXTURE(validated, "vulkan import: kernels work on the host's bytes in place") {
    alignas(4096) static std::uint32_t words[4096];
    if (!vulkan.can_import) {
        std::puts("skipped: the Vulkan device has no VK_EXT_external_memory_host");
        return;
    }
    VkExternalMemoryBufferCreateInfo of_host{};
    of_host.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
    of_host.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    const VkBuffer from = make_buffer(vulkan.device, 4 * 500, every_use, &of_host),
                   to = make_buffer(vulkan.device, 4 * 500, every_use, &of_host);
    {
        using allot::vulkan::imported;
        allot::arena<imported, allot::best_fit<>> memory{{*gpu, words, sizeof words}};
        REQUIRE(memory.size() == sizeof words);
        const auto skipped = memory.allocate({256, 256});
        REQUIRE(skipped);
        const auto at_from = place_buffer(memory, from), at_to = place_buffer(memory, to);
        std::uint32_t* const in_from = words + at_from.address.offset / 4;
        std::uint32_t* const in_to = words + at_to.address.offset / 4;
        CHECK(memory.device().host_pointer(at_from) != nullptr);
        for (std::uint32_t i = 0; i != 500; ++i) in_from[i] = i;
        REQUIRE(memory.device().flush(at_from) == VK_SUCCESS);
        tests::multiply_add{.to_first = 100, .from_first = 50, .count = 300, .factor = 5}(vulkan, to, from);
        REQUIRE(memory.device().invalidate(at_to) == VK_SUCCESS);
        for (std::uint32_t i = 0; i != 300; ++i) REQUIRE(in_to[100 + i] == (50 + i) * 5 + i);

        const auto code = [&](void* first, std::size_t size) {
            return error_of(imported{*gpu, first, size}.acquire({1, 1}));
        };
        CHECK(code(words + 1, 4096) == VK_ERROR_INVALID_EXTERNAL_HANDLE);
        CHECK(code(words, 4000) == VK_ERROR_INVALID_EXTERNAL_HANDLE);
        CHECK(code(words, 0) == VK_ERROR_INVALID_EXTERNAL_HANDLE);
        CHECK(code(nullptr, 4096) == VK_ERROR_INVALID_EXTERNAL_HANDLE);
        CHECK(imported{*gpu, words, 8192}.acquire({8193, 1}).error() == invalid);
    }
    ::vkDestroyBuffer(vulkan.device, from, nullptr);
    ::vkDestroyBuffer(vulkan.device, to, nullptr);
}

TEST_CASE("vulkan: without a driver or device, every request fails with a code of Vulkan") {
    VkInstanceCreateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    VkInstance instance = VK_NULL_HANDLE;
    const VkResult found = ::vkCreateInstance(&wanted, nullptr, &instance);
    if (std::getenv("ALLOT_NO_VULKAN") != nullptr) CHECK(found == VK_ERROR_INCOMPATIBLE_DRIVER);
    allot::vulkan::logical_device nothing{&::vkGetInstanceProcAddr, instance, VK_NULL_HANDLE, VK_NULL_HANDLE};
    CHECK_FALSE(nothing);
    alignas(4096) static std::byte bytes[4096];
    const auto is_refused = [](auto from) {
        using device_type = decltype(from);
        CHECK(from.acquire({100, 1}).error() == VK_ERROR_INITIALIZATION_FAILED);
        CHECK(from.buffer_layout(VK_NULL_HANDLE).error() == VK_ERROR_FEATURE_NOT_PRESENT);
        CHECK(from.host_pointer({}, 1) == nullptr);
        CHECK(from.flush({}, 1) == VK_ERROR_MEMORY_MAP_FAILED);
        allot::naive<device_type> naive{std::move(from)};
        CHECK_FALSE(naive.allocate({100, 1}));
        CHECK(naive.diagnose({100, 1}) == allot::diagnosis{refusal::device_refused, 0, VK_ERROR_INITIALIZATION_FAILED});
    };
    is_refused(device_memory{nothing, 0});
    is_refused(allot::vulkan::imported{nothing, bytes, sizeof bytes});
    is_refused(allot::vulkan::dedicated::for_buffer(nothing, VK_NULL_HANDLE, 0));
    if (instance != VK_NULL_HANDLE) ::vkDestroyInstance(instance, nullptr);
}
