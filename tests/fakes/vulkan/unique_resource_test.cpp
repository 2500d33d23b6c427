// Buffers and images with owners, on a driver whose calls fail one by one: nothing is left behind.
#include "driver.hpp"

#include <allot/allot.hpp>
#include <allot/vulkan/unique_resource.hpp>

#include <doctest/doctest.h>

namespace {

using allot::vulkan::device_memory;
using allot::vulkan::logical_device;
using allot::vulkan::resources;
using fake::now;

constexpr VkResult invalid = VK_ERROR_VALIDATION_FAILED_EXT;
using arena = allot::arena<device_memory, allot::best_fit<>>;
using naive = allot::naive<device_memory>;

VkBufferCreateInfo buffer_of(VkDeviceSize size) {
    VkBufferCreateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    wanted.size = size;
    wanted.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    return wanted;
}
VkImageCreateInfo image_of(std::uint32_t side, VkImageTiling tiling = VK_IMAGE_TILING_OPTIMAL) {
    VkImageCreateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
    wanted.extent = {side, side, 1};
    wanted.tiling = tiling;
    return wanted;
}

/// A driver without resources. At the end, checks that all of them are destroyed.
struct driven : fake::driven {
    logical_device gpu{&fake::get, fake::instance, fake::physical, fake::device};
    ~driven() { CHECK(now.resources.empty()); }
};

/// The bytes that can be allocated in one block.
template <class Arena>
std::uint64_t room(const Arena& memory) {
    return memory.diagnose({1, 1}).largest_hole;
}

}  // namespace

TEST_CASE_FIXTURE(driven, "vulkan unique_resource: buffers and images share an arena, and each is freed by its owner") {
    arena memory{{gpu, fake::coherent}, 64 * 1024};
    const std::uint64_t all = room(memory);
    {
        auto first = allot::vulkan::make_buffer(memory, buffer_of(1000));
        auto image = allot::vulkan::make_image(memory, image_of(16));
        auto second = allot::vulkan::make_buffer(memory, buffer_of(10));
        REQUIRE((first && image && second));
        CHECK((*first && *image && *second));
        CHECK(first->size() >= 1000);
        CHECK(first->address().handle == memory.regions()[0].base.handle);
        CHECK(fake::of(first->handle()).at == first->address().offset);
        CHECK(fake::of(image->handle()).at == image->address().offset);
        CHECK(image->address().offset % fake::page == 0);
        CHECK(first->host_pointer() != nullptr);
        CHECK(first->flush() == VK_SUCCESS);
        CHECK(first->invalidate() == VK_SUCCESS);

        auto taken = std::move(*first);
        CHECK(taken);
        CHECK_FALSE(*first);
        CHECK(first->handle() == VkBuffer{});
        CHECK(first->size() == 0);
        CHECK(first->host_pointer() == nullptr);
        CHECK(first->flush() == VK_ERROR_MEMORY_MAP_FAILED);
        CHECK(first->invalidate() == VK_ERROR_MEMORY_MAP_FAILED);
        const VkBuffer kept = second->handle();
        taken = std::move(*second);  // destroys the first buffer
        CHECK(taken.handle() == kept);
        CHECK(now.resources.size() == 2);
        auto& same = taken;
        taken = std::move(same);
        CHECK(taken.handle() == kept);
        taken.reset();
        taken.reset();
        CHECK_FALSE(taken);
        CHECK(now.resources.size() == 1);
    }
    CHECK(now.resources.empty());
    CHECK(room(memory) == all);
}

TEST_CASE_FIXTURE(driven, "vulkan unique_resource: every failing step leaves no resource and no block") {
    arena memory{{gpu, fake::coherent}, 8 * 1024};
    const std::uint64_t all = room(memory);
    const auto fails = [&](VkResult reason) {
        CHECK(allot::vulkan::make_buffer(memory, buffer_of(1000)).error() == reason);
        CHECK(now.resources.empty());
        CHECK(room(memory) == all);
    };
    const auto fails_as_image = [&](VkResult reason) {
        const auto made = allot::vulkan::make_image(memory, image_of(16));
        CHECK_FALSE(made);
        CHECK(made.error() == reason);
        CHECK(now.resources.empty());
        CHECK(room(memory) == all);
    };
    for (const VkResult reason : {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_DEVICE_LOST}) {
        now.refuse_create = reason;
        fails(reason);
        now.refuse_create = reason;
        fails_as_image(reason);
        now.refuse_bind = reason;
        fails(reason);
        now.refuse_bind = reason;
        fails_as_image(reason);
    }
    now.next.fits_types = 1u << fake::local;
    fails(VK_ERROR_FEATURE_NOT_PRESENT);
    fails_as_image(VK_ERROR_FEATURE_NOT_PRESENT);
    now.next = {};
    now.next.requires_dedicated = true;
    fails(VK_ERROR_FEATURE_NOT_PRESENT);
    fails_as_image(VK_ERROR_FEATURE_NOT_PRESENT);
    now.next = {};
    CHECK(allot::vulkan::make_buffer(memory, buffer_of(9 * 1024)).error() == VK_ERROR_OUT_OF_DEVICE_MEMORY);
    CHECK(allot::vulkan::make_image(memory, image_of(64)).error() == VK_ERROR_OUT_OF_DEVICE_MEMORY);
    CHECK(now.resources.empty());
    CHECK(allot::vulkan::make_buffer(memory, buffer_of(1000)));
}

TEST_CASE_FIXTURE(driven, "vulkan unique_resource: naive reports the driver's code and frees each region") {
    naive memory{device_memory{gpu, fake::visible}};
    for (const VkResult reason : {VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_OUT_OF_HOST_MEMORY}) {
        now.refuse_allocation = reason;
        CHECK(allot::vulkan::make_buffer(memory, buffer_of(1000)).error() == reason);
        now.refuse_map = reason;
        CHECK(allot::vulkan::make_buffer(memory, buffer_of(2000)).error() == reason);
        now.refuse_bind = reason;
        CHECK(allot::vulkan::make_buffer(memory, buffer_of(500)).error() == reason);
        CHECK(now.resources.empty());
        CHECK(now.memory.empty());
    }
    const auto made = allot::vulkan::make_buffer(memory, buffer_of(1000));
    REQUIRE(made);
    std::memset(made->host_pointer(), 7, 1000);
    CHECK(made->flush() == VK_SUCCESS);
    CHECK(now.memory.begin()->second.of_device[999] == std::byte{7});
}

TEST_CASE_FIXTURE(driven, "vulkan unique_resource: resources that these calls cannot bind are rejected before a call") {
    arena memory{{gpu, fake::coherent}, 8 * 1024};
    arena images{{gpu, fake::coherent, resources::optimal_images}, 8 * 1024};
    const std::uint64_t names = now.names;
    VkBufferCreateInfo buffer = buffer_of(0);
    CHECK(allot::vulkan::make_buffer(memory, buffer).error() == invalid);
    CHECK(allot::vulkan::make_dedicated_buffer(gpu, buffer, 0).error() == invalid);
    buffer = buffer_of(1000);
    buffer.flags = VK_BUFFER_CREATE_SPARSE_BINDING_BIT;
    CHECK(allot::vulkan::make_buffer(memory, buffer).error() == invalid);
    buffer = buffer_of(1000);
    buffer.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    CHECK(allot::vulkan::make_buffer(memory, buffer).error() == invalid);
    VkImageCreateInfo image = image_of(16);
    for (const VkImageCreateFlags flags : {VK_IMAGE_CREATE_SPARSE_BINDING_BIT, VK_IMAGE_CREATE_DISJOINT_BIT}) {
        image.flags = flags;
        CHECK(allot::vulkan::make_image(memory, image).error() == invalid);
        CHECK(allot::vulkan::make_dedicated_image(gpu, image, 0).error() == invalid);
    }
    CHECK(allot::vulkan::make_image(images, image_of(16, VK_IMAGE_TILING_LINEAR)).error() == invalid);
    CHECK(now.names == names);
    CHECK(allot::vulkan::make_image(memory, image_of(16, VK_IMAGE_TILING_LINEAR)));
    CHECK(allot::vulkan::make_image(images, image_of(16)));
    CHECK(allot::vulkan::make_buffer(images, buffer_of(16)).error() == invalid);

    arena with_addresses{{gpu, fake::coherent, resources::buffers, VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT}, 8 * 1024};
    CHECK(allot::vulkan::make_buffer(with_addresses, buffer));
}

TEST_CASE_FIXTURE(driven, "vulkan unique_resource: a dedicated resource has memory of its size") {
    constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    now.next.requires_dedicated = true;
    VkBufferCreateInfo wanted = buffer_of(1000);
    wanted.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    auto buffer = allot::vulkan::make_dedicated_buffer(gpu, wanted, local);
    auto image = allot::vulkan::make_dedicated_image(gpu, image_of(16), VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
    REQUIRE((buffer && image));
    CHECK(buffer->size() == 1000);
    CHECK(image->size() == 4 * 16 * 16);
    CHECK(buffer->host_pointer() == nullptr);
    CHECK(image->host_pointer() != nullptr);
    CHECK(now.memory.at(buffer->address().handle).flags == VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT);
    CHECK(now.memory.at(buffer->address().handle).dedicated_to != nullptr);
    CHECK(gpu.allocations() == 2);

    auto moved = std::move(*buffer);
    CHECK_FALSE(*buffer);
    moved = std::move(*buffer);  // an empty object: destroys the buffer
    CHECK_FALSE(moved);
    CHECK(gpu.allocations() == 1);
    moved = *allot::vulkan::make_dedicated_buffer(gpu, buffer_of(64), local);
    CHECK(moved.size() == 64);

    now.refuse_create = VK_ERROR_OUT_OF_HOST_MEMORY;
    CHECK(allot::vulkan::make_dedicated_buffer(gpu, wanted, local).error() == VK_ERROR_OUT_OF_HOST_MEMORY);
    now.refuse_allocation = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    CHECK(allot::vulkan::make_dedicated_image(gpu, image_of(16), local).error() == VK_ERROR_OUT_OF_DEVICE_MEMORY);
    now.refuse_bind = VK_ERROR_DEVICE_LOST;
    CHECK(allot::vulkan::make_dedicated_image(gpu, image_of(16), local).error() == VK_ERROR_DEVICE_LOST);
    CHECK(allot::vulkan::make_dedicated_buffer(gpu, wanted, VK_MEMORY_PROPERTY_PROTECTED_BIT).error() ==
          VK_ERROR_FEATURE_NOT_PRESENT);
    CHECK(now.resources.size() == 2);
    CHECK(gpu.allocations() == 2);
}

TEST_CASE_FIXTURE(fake::driven, "vulkan unique_resource: without Vulkan's functions every call fails") {
    now.lacks = "vkCreateImage";
    logical_device broken{&fake::get, fake::instance, fake::physical, fake::device};
    arena memory{{broken, fake::local}, 8 * 1024};
    constexpr VkResult failed = VK_ERROR_INITIALIZATION_FAILED;
    CHECK(allot::vulkan::make_buffer(memory, buffer_of(1000)).error() == failed);
    CHECK(allot::vulkan::make_image(memory, image_of(16)).error() == failed);
    CHECK(allot::vulkan::make_dedicated_buffer(broken, buffer_of(1000), 0).error() == failed);
    CHECK(allot::vulkan::make_dedicated_image(broken, image_of(16), 0).error() == failed);
}

TEST_CASE_FIXTURE(driven, "vulkan device_memory: a region of another device is not released") {
    device_memory first{gpu, fake::local}, second{gpu, fake::local}, empty{gpu, fake::local};
    const auto in_first = first.acquire({1000, 1}), in_second = second.acquire({1000, 1});
    REQUIRE((in_first && in_second));
    first.release(*in_second);
    empty.release(*in_second);
    empty.release({});
    CHECK(now.memory.size() == 2);
    first.release(*in_first);
    first.release(*in_first);
    second.release(*in_second);
    CHECK(now.memory.empty());
}
