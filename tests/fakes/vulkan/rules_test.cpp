// Vulkan's rules, on a driver that enforces them strictly: memory types, padding, flushing, limits, dedicated
// allocations.
#include "../../error_of.hpp"
#include "driver.hpp"

#include <allot/allot.hpp>
#include <allot/vulkan/bound_buffer.hpp>
#include <allot/vulkan/dedicated.hpp>
#include <allot/vulkan/imported.hpp>

#include <allot/tensor.hpp>
#include <allot/vulkan/tensor.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <random>
#include <thread>

namespace {

using allot::vulkan::device_memory;
using allot::vulkan::logical_device;
using allot::vulkan::memory_type;
using allot::vulkan::no_type;
using allot::vulkan::resources;
using allot::vulkan::whole_atoms;
using fake::now;

constexpr VkResult invalid = VK_ERROR_VALIDATION_FAILED_EXT;
using arena = allot::arena<device_memory, allot::best_fit<>>;

struct driven : fake::driven {
    logical_device gpu{&fake::get, fake::instance, fake::physical, fake::device};
};

// ── memory types ─────────────────────────────────────────────────────────────────────────────────────────────────────

constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                                coherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                                lazy = VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT;

/// The types of a desktop GPU.
constexpr VkPhysicalDeviceMemoryProperties desktop() {
    VkPhysicalDeviceMemoryProperties all{};
    for (const VkMemoryPropertyFlags each :
         {local | lazy, VkMemoryPropertyFlags{0}, local, visible | coherent, visible | coherent | cached,
          local | visible | coherent, local | VkMemoryPropertyFlags{VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD}})
        all.memoryTypes[all.memoryTypeCount++].propertyFlags = each;
    all.memoryHeapCount = 1;
    return all;
}
constexpr std::uint32_t any = ~0u;

static_assert(memory_type(desktop(), any, local) == 2);  // the first that is not lazy
static_assert(memory_type(desktop(), any, 0) == 1);      // the first ordinary one
static_assert(memory_type(desktop(), any, visible) == 3);
static_assert(memory_type(desktop(), any, visible, cached) == 4);          // more preferred properties
static_assert(memory_type(desktop(), any, visible, local | cached) == 4);  // equally many: the first one
static_assert(memory_type(desktop(), any, visible, local) == 5);
static_assert(memory_type(desktop(), any, visible | local) == 5);
static_assert(memory_type(desktop(), 1u << 3, visible, cached) == 3);         // preferences are optional
static_assert(memory_type(desktop(), 1u << 3, visible | cached) == no_type);  // requirements are not
static_assert(memory_type(desktop(), 0, 0) == no_type);
static_assert(memory_type(desktop(), 1u << 31, 0) == no_type);
static_assert(memory_type(desktop(), any, lazy) == 0);  // named explicitly
static_assert(memory_type(desktop(), any, 0, lazy) == 0);
static_assert(memory_type(desktop(), 1u << 6, local) == no_type);
static_assert(memory_type(VkPhysicalDeviceMemoryProperties{}, any, 0) == no_type);

// ── atoms ────────────────────────────────────────────────────────────────────────────────────────────────────────────

using allot::extent;
static_assert(whole_atoms({0, 1}, 1000, 64) == extent{0, 64});
static_assert(whole_atoms({63, 2}, 1000, 64) == extent{0, 128});
static_assert(whole_atoms({64, 64}, 1000, 64) == extent{64, 64});
static_assert(whole_atoms({999, 1}, 1000, 64) == extent{960, 40});  // to the end, which is not a multiple
static_assert(whole_atoms({0, 1000}, 1000, 64) == extent{0, 1000});
static_assert(whole_atoms({5, 0}, 1000, 64) == extent{0, 64});
static_assert(whole_atoms({7, 3}, 1000, 1) == extent{7, 3});
static_assert(whole_atoms({~std::size_t{0} - 9, 4}, ~std::size_t{0}, 64) == extent{~std::size_t{63}, 63});

}  // namespace

TEST_CASE("vulkan whole_atoms: returns the smallest valid range around the touched bytes") {
    for (std::size_t atom = 1; atom <= 32; atom *= 2) {
        for (std::size_t all = 1; all != 70; ++all) {
            for (std::size_t from = 0; from != all; ++from) {
                for (std::size_t size = 1; size <= all - from; ++size) {
                    const extent range = whole_atoms({from, size}, all, atom);
                    const bool begins = range.offset % atom == 0 && range.offset <= from && from - range.offset < atom;
                    const bool ends = range.end() >= from + size && range.end() - (from + size) < atom &&
                                      (range.size % atom == 0 || range.end() == all) && range.end() <= all;
                    if (!begins || !ends)
                        FAIL_CHECK("atom ", atom, ", allocation ", all, ", from ", from, ", size ", size);
                }
            }
        }
    }
}

TEST_CASE("vulkan bounded_sum: never exceeds its limit, and failed additions do not count") {
    allot::vulkan::detail::bounded_sum sum;
    CHECK(sum.add(~std::uint64_t{0}, ~std::uint64_t{0}));
    CHECK_FALSE(sum.add(1, ~std::uint64_t{0}));
    CHECK_FALSE(sum.add(0, 5));  // the limit is already exceeded
    sum.subtract(~std::uint64_t{0});
    std::atomic<bool> exceeded = false;
    std::latch all_there{4};
    std::vector<std::thread> threads;
    for (std::uint64_t amount = 1; amount != 5; ++amount) {
        threads.emplace_back([&, amount] {
            all_there.arrive_and_wait();
            for (int i = 0; i != 2'000'000; ++i) {
                if (!sum.add(amount, 7)) continue;
                if (sum.value() > 7) exceeded = true;
                sum.subtract(amount);
            }
        });
    }
    for (std::thread& each : threads) each.join();
    CHECK_FALSE(exceeded);
    CHECK(sum.value() == 0);
}

TEST_CASE_FIXTURE(driven, "vulkan memory: the budget is that of the type's heap, or an error without the extension") {
    arena memory{{gpu, fake::local}, 256 << 10};
    arena of_host{{gpu, fake::visible}, 128 << 10};
    const auto budget = memory.device().budget();
    REQUIRE(budget);
    CHECK(*budget == allot::memory_budget{1000 + memory.size(), 1 << 19});
    CHECK(budget->available() == (1 << 19) - 1000 - memory.size());
    CHECK(of_host.device().budget().value().used == 1000 + of_host.size());
    CHECK(gpu.budget(fake::types).error() == VK_ERROR_FEATURE_NOT_PRESENT);
    CHECK(gpu.budget(allot::vulkan::no_type).error() == VK_ERROR_FEATURE_NOT_PRESENT);
    static_assert(allot::budgeted_device<allot::vulkan::device_memory>);
    static_assert(!allot::budgeted_device<allot::host::heap>);
    static_assert(allot::memory_budget{7, 5}.available() == 0);
    fake::now.has_budget = false;
    CHECK(gpu.budget(fake::local).error() == VK_ERROR_EXTENSION_NOT_PRESENT);
    fake::now.lacks = "vkAllocateMemory";
    const allot::vulkan::logical_device none{&fake::get, fake::instance, fake::physical, fake::device};
    CHECK(none.budget(0).error() == VK_ERROR_INITIALIZATION_FAILED);
}

TEST_CASE_FIXTURE(driven, "vulkan memory: buffers and images never share a page, also after deallocations") {
    arena memory{{gpu, fake::local}, 256 << 10};
    CHECK(memory.device().padded({1, 1}) == allot::layout{1024, 1024});
    CHECK(memory.device().padded({1025, 4096}) == allot::layout{2048, 4096});
    CHECK_FALSE(memory.device().padded({~std::size_t{0} - 5, 1}).is_valid());
    CHECK_FALSE(memory.device().padded({100, 3}).is_valid());
    std::mt19937 random{11};
    struct bound {
        arena::block_type block;
        VkBuffer buffer;
        VkImage image;
    };
    std::vector<bound> all;
    std::size_t placed = 0;
    for (int i = 0; i != 2000; ++i) {
        if (all.size() > 60 || (!all.empty() && random() % 3 == 0)) {
            const std::size_t which = random() % all.size();
            memory.deallocate(all[which].block);
            if (all[which].image != VK_NULL_HANDLE) fake::of(all[which].image) = {};
            else fake::of(all[which].buffer) = {};
            all[which] = all.back();
            all.pop_back();
            continue;
        }
        const VkDeviceSize size = 1 + random() % 5000;
        const bool is_image = random() % 2 == 0;
        const VkBuffer buffer = is_image ? VkBuffer{} : fake::buffer(size);
        const VkImage image = is_image ? fake::image(size) : VkImage{};
        const auto wanted = is_image ? memory.device().image_layout(image) : memory.device().buffer_layout(buffer);
        REQUIRE(wanted);
        const auto block = memory.allocate(*wanted);
        if (!block) continue;
        REQUIRE((is_image ? memory.device().bind_image(image, block) : memory.device().bind_buffer(buffer, block)) ==
                VK_SUCCESS);
        all.push_back({block, buffer, image});
        ++placed;
    }
    CHECK(placed > 800);
}

TEST_CASE_FIXTURE(driven, "vulkan memory: a block that ends inside a page is only bound in memory of one kind") {
    arena mixed{{gpu, fake::local}, 9472}, buffers{{gpu, fake::local, resources::buffers}, 64 << 10},
        images{{gpu, fake::local, resources::optimal_images}, 64 << 10};
    const VkBuffer buffer = fake::buffer(64);
    const VkImage image = fake::image(64);
    CHECK(mixed.device().bind_buffer(buffer, mixed.allocate({100, 1024})) == invalid);
    CHECK(mixed.device().bind_image(image, mixed.allocate({100, 1024})) == invalid);
    const auto begins_inside = mixed.allocate({1024, 64});
    REQUIRE(begins_inside);
    if (begins_inside.address.offset % 1024 != 0) CHECK(mixed.device().bind_image(image, begins_inside) == invalid);
    CHECK(mixed.device().bind_image(image, mixed.allocate_at({8192, 1000})) == invalid);
    const auto at_end = mixed.allocate_at({9216, 256});  // the region's last page is incomplete
    REQUIRE(at_end);
    CHECK(mixed.device().bind_image(image, at_end) == VK_SUCCESS);

    CHECK(buffers.device().padded({100, 64}) == allot::layout{100, 64});
    CHECK(buffers.device().bind_buffer(buffer, buffers.allocate({100, 64})) == VK_SUCCESS);
    CHECK(images.device().bind_image(fake::image(64), images.allocate({100, 64})) == VK_SUCCESS);
}

TEST_CASE_FIXTURE(driven, "vulkan memory: flushes whole atoms, and neighbors of a block keep their bytes") {
    arena memory{{gpu, fake::visible, resources::buffers}, 5120};
    const device_memory& device = memory.device();
    const VkBuffer small = fake::buffer(100);
    const auto wanted = device.buffer_layout(small);
    REQUIRE(wanted);
    CHECK(*wanted == allot::layout{256, 256});
    const auto a = memory.allocate(*wanted), b = memory.allocate(*wanted);
    REQUIRE(device.bind_buffer(small, a) == VK_SUCCESS);
    CHECK(device.bind_buffer(fake::buffer(100), memory.allocate({100, 256})) == invalid);

    std::vector<std::byte>& of_device = now.memory.at(a.address.handle).of_device;
    std::memset(of_device.data() + b.address.offset, 0x77, b.size);  // by the device
    std::memset(device.host_pointer(a), 0x11, a.size);               // by the host
    CHECK(device.flush(a) == VK_SUCCESS);
    CHECK(now.flushes == 1);
    CHECK(of_device[a.address.offset] == std::byte{0x11});
    CHECK(of_device[a.address.offset + a.size - 1] == std::byte{0x11});
    CHECK(of_device[b.address.offset] == std::byte{0x77});
    CHECK(device.invalidate(b) == VK_SUCCESS);
    CHECK(now.invalidations == 1);
    CHECK(*static_cast<std::byte*>(device.host_pointer(b)) == std::byte{0x77});

    CHECK(device.flush({a.address.handle, 4900}, 10) == VK_SUCCESS);  // a part: its atom
    CHECK(now.last_range.offset == 4864);
    CHECK(now.last_range.size == 256);
    CHECK(device.flush({a.address.handle, 300}, 10) == VK_SUCCESS);
    CHECK(now.last_range.offset == 256);
    CHECK(now.last_range.size == 256);
    CHECK(device.flush({a.address.handle, 5110}, 11) == VK_ERROR_MEMORY_MAP_FAILED);
    CHECK(device.invalidate({a.address.handle, ~std::size_t{0}}, 2) == VK_ERROR_MEMORY_MAP_FAILED);
    CHECK(now.flushes == 3);

    arena both{{gpu, fake::visible}, 8192};
    CHECK(both.device().padded({1, 1}) == allot::layout{1024, 1024});  // the greater of page and atom
}

TEST_CASE_FIXTURE(driven, "vulkan mapped_copy: keeps the device's writes in the same atom") {
    arena memory{{gpu, fake::visible, resources::buffers}, 4096};
    allot::arena<allot::host::heap, allot::best_fit<>> host{{}, 4096};
    const auto data = *allot::alloc_storage(memory, 1024, 64);
    const auto a = *allot::alloc_tensor(data, 0, {60}, allot::uint8),
               b = *allot::alloc_tensor(data, 64, {60}, allot::uint8);
    const auto here = *allot::alloc_tensor(*allot::alloc_storage(host, 64), 0, {60}, allot::uint8);
    const allot::vulkan::mapped_copy by_host{memory.device()};
    std::vector<std::byte>& of_device = now.memory.at(b.address().handle).of_device;
    std::memset(of_device.data() + b.byte_offset(), 0x77, 60);  // by the device
    std::memset(here.data(), 0x11, 60);
    REQUIRE(allot::copy_tensor(here, a, by_host));
    CHECK(of_device[a.byte_offset() + 59] == std::byte{0x11});
    CHECK(of_device[b.byte_offset()] == std::byte{0x77});
    REQUIRE(allot::copy_tensor(b, here, by_host));
    CHECK(*static_cast<std::byte*>(here.data()) == std::byte{0x77});

    arena unseen{{gpu, fake::local}, 4096};
    const auto nowhere = *allot::alloc_tensor(*allot::alloc_storage(unseen, 64), 0, {60}, allot::uint8);
    CHECK(allot::copy_tensor(here, nowhere, by_host).error().reason == allot::tensor_refusal::no_way);
    CHECK(allot::copy_tensor(here, nowhere, allot::vulkan::mapped_copy{unseen.device()}).error().reason ==
          allot::tensor_refusal::no_way);
}

TEST_CASE_FIXTURE(driven, "vulkan memory: coherent memory is not flushed, other device memory is not mapped") {
    arena seen{{gpu, fake::coherent}, 4096}, unseen{{gpu, fake::local}, 4096};
    const auto a = seen.allocate({100, 4}), b = unseen.allocate({100, 4});
    REQUIRE((a && b));
    CHECK(seen.device().host_pointer(a) == now.memory.at(a.address.handle).of_device.data() + a.address.offset);
    CHECK(seen.device().flush(a) == VK_SUCCESS);
    CHECK(seen.device().invalidate(a) == VK_SUCCESS);
    CHECK(unseen.device().host_pointer(b) == nullptr);
    CHECK(unseen.device().flush(b) == VK_ERROR_MEMORY_MAP_FAILED);
    CHECK(now.flushes + now.invalidations == 0);
    CHECK_FALSE(now.memory.at(b.address.handle).is_mapped);
}

TEST_CASE_FIXTURE(driven, "vulkan memory: requests above the limits fail and are not counted") {
    device_memory memory{gpu, fake::coherent}, other{gpu, fake::coherent}, elsewhere{gpu, fake::local};
    const auto code = [](device_memory& from, std::size_t size) {
        const auto answer = from.acquire({size, 1});
        if (answer) from.release(*answer);
        return error_of(answer);
    };
    CHECK(code(memory, now.largest + 1) == VK_ERROR_OUT_OF_DEVICE_MEMORY);
    CHECK(now.allocations_asked == 0);
    const auto a = memory.acquire({now.largest, 1});
    const auto b = other.acquire({now.largest - 256, 1});
    REQUIRE((a && b));
    CHECK(code(other, 257) == VK_ERROR_OUT_OF_DEVICE_MEMORY);  // both in one heap
    CHECK(code(elsewhere, 257) == VK_SUCCESS);                 // another heap
    CHECK(code(other, 100) == VK_SUCCESS);
    const auto c = elsewhere.acquire({1, 1}), d = elsewhere.acquire({1, 1});
    REQUIRE((c && d));
    now.allocations_asked = 0;
    CHECK(code(elsewhere, 1) == VK_ERROR_TOO_MANY_OBJECTS);
    CHECK(now.allocations_asked == 0);
    elsewhere.release(*c);

    now.refuse_allocation = VK_ERROR_OUT_OF_HOST_MEMORY;
    CHECK(code(other, 100) == VK_ERROR_OUT_OF_HOST_MEMORY);
    now.refuse_map = VK_ERROR_MEMORY_MAP_FAILED;
    CHECK(code(other, 100) == VK_ERROR_MEMORY_MAP_FAILED);
    CHECK(gpu.allocations() == 3);
    CHECK(now.memory.size() == 3);
    CHECK(code(other, 100) == VK_SUCCESS);  // the failed requests are not counted

    for (const allot::layout wanted : {allot::layout{0, 1}, {100, 0}, {100, 3}})
        CHECK(memory.acquire(wanted).error() == invalid);
    memory.release(*a);
    other.release(*b);
    elsewhere.release(*d);
    CHECK(gpu.allocations() == 0);
}

TEST_CASE_FIXTURE(driven, "vulkan dedicated: a resource that requires it gets no other allocation") {
    const VkImage image = fake::image(5000);
    const VkBuffer buffer = fake::buffer(3000);
    fake::of(image).requires_dedicated = fake::of(buffer).requires_dedicated = true;
    arena memory{{gpu, fake::local}, 64 << 10};
    CHECK(gpu.requirements_of_image(image).requires_dedicated);
    CHECK(memory.device().image_layout(image).error() == VK_ERROR_FEATURE_NOT_PRESENT);
    CHECK(memory.device().buffer_layout(buffer).error() == VK_ERROR_FEATURE_NOT_PRESENT);
    CHECK(memory.device().bind_image(image, memory.allocate({8192, 1024})) == VK_ERROR_FEATURE_NOT_PRESENT);
    using allot::vulkan::dedicated;
    allot::naive<dedicated> of_image{dedicated::for_image(gpu, image, 0, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)};
    const auto block = of_image.allocate({of_image.device().capacity(), 1});
    REQUIRE(block);
    CHECK(now.memory.at(block.address.handle).type == fake::visible);
    CHECK(of_image.device().bind_image(image, block) == VK_SUCCESS);
    of_image.deallocate(block);
    allot::arena<dedicated, allot::best_fit<>> of_buffer{dedicated::for_buffer(gpu, buffer, 0)};
    CHECK(of_buffer.size() == 3000);
    const auto all_of_it = of_buffer.allocate({3000, 1});
    CHECK(of_buffer.device().bind_buffer(fake::buffer(3000), all_of_it) == invalid);  // another buffer
    CHECK(of_buffer.device().bind_buffer(buffer, all_of_it) == VK_SUCCESS);

    const std::size_t before = now.resources.size();
    CHECK(gpu.types_for_buffers(1) == (1u << fake::types) - 1);
    CHECK(now.resources.size() == before);
    const VkBuffer of_one_type = fake::make<VkBuffer>({10, false, 1u << fake::visible});
    CHECK(memory.device().buffer_layout(of_one_type).error() == VK_ERROR_FEATURE_NOT_PRESENT);
    CHECK(memory.device().bind_buffer(of_one_type, memory.allocate({1024, 1024})) == VK_ERROR_FEATURE_NOT_PRESENT);
}

TEST_CASE_FIXTURE(driven, "vulkan buffer_over: binds the buffer to the bytes and destroys it with its object") {
    arena memory{{gpu, fake::local}, 5000};
    const auto& all = memory.regions()[0];
    CHECK(all.size == 5120);
    const std::size_t before = now.resources.size();
    {
        auto made = allot::vulkan::buffer_over(memory.device(), all.base, all.size, 1);
        REQUIRE(made);
        CHECK(fake::of(made->handle()).bound_to == all.base.handle);
        const auto part = memory.allocate_at({1024, 2048});
        auto over_part = allot::vulkan::buffer_over(memory.device(), part.address, part.size, 1);
        REQUIRE(over_part);
        CHECK(fake::of(over_part->handle()).at == 1024);
        CHECK(over_part->contains(part.address, 2048));
        CHECK_FALSE(over_part->contains(part.address, 2049));
        CHECK_FALSE(over_part->contains(all.base, 1));
        CHECK_FALSE(over_part->contains({VK_NULL_HANDLE, 1024}, 1));
        CHECK(over_part->offset_of({all.base.handle, 1100}) == 76);
        *made = *std::move(over_part);
        CHECK(fake::of(made->handle()).at == 1024);
        CHECK(made->size() == 2048);
    }
    CHECK(now.resources.size() == before);
    const auto refused = [&](std::size_t offset, std::size_t size) {
        return error_of(allot::vulkan::buffer_over(memory.device(), {all.base.handle, offset}, size, 1));
    };
    CHECK(refused(0, 0) == invalid);
    CHECK(refused(0, 5121) == invalid);
    CHECK(refused(512, 1024) == invalid);
    CHECK(refused(0, 1000) == invalid);
    CHECK(now.resources.size() == before);  // the unused buffer is destroyed
}

TEST_CASE_FIXTURE(driven, "vulkan memory: memory for buffers with addresses is allocated with the flag") {
    constexpr VkMemoryAllocateFlags addresses = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    const VkBuffer buffer = fake::buffer(100);
    arena plain{{gpu, fake::local}, 4096}, memory{{gpu, fake::local, resources::mixed, addresses}, 4096};
    allot::arena<allot::vulkan::dedicated, allot::best_fit<>> alone{
        allot::vulkan::dedicated::for_buffer(gpu, buffer, 0, 0, addresses)};
    CHECK(now.memory.at(plain.regions()[0].base.handle).flags == 0);
    CHECK(now.memory.at(memory.regions()[0].base.handle).flags == addresses);
    CHECK(now.memory.at(alone.regions()[0].base.handle).flags == addresses);
    CHECK(now.memory.at(alone.regions()[0].base.handle).dedicated_to != nullptr);
}

TEST_CASE_FIXTURE(fake::driven, "vulkan: a driver that lacks a function is unusable; one without imports reports it") {
    for (const char* const name :
         {"vkGetDeviceProcAddr", "vkGetPhysicalDeviceProperties2", "vkAllocateMemory", "vkBindImageMemory",
          "vkFlushMappedMemoryRanges", "vkDestroyBuffer", "vkDestroyImage"}) {
        now.lacks = name;
        logical_device none{&fake::get, fake::instance, fake::physical, fake::device};
        CHECK_FALSE(none);
        CHECK(device_memory{none, 0}.acquire({1, 1}).error() == VK_ERROR_INITIALIZATION_FAILED);
    }
    logical_device none{nullptr, fake::instance, fake::physical, fake::device};
    CHECK_FALSE(none);
    now.lacks = "";
    logical_device gpu{&fake::get, fake::instance, fake::physical, fake::device};
    alignas(4096) static std::byte bytes[4096];
    CHECK(allot::vulkan::imported{gpu, bytes, sizeof bytes}.acquire({1, 1}).error() == VK_ERROR_EXTENSION_NOT_PRESENT);
}
