// The laws on Vulkan's devices and on arenas over them: device memory, and imported host bytes. The validation layer is
// on.
#include "../../laws/adapters.hpp"
#include "../../laws/device_laws.hpp"
#include "../../laws/judge.hpp"
#include "../../devices_used.hpp"
#include "installed.hpp"

#include <allot/vulkan/dedicated.hpp>
#include <allot/vulkan/exported_memory.hpp>
#include <allot/vulkan/imported.hpp>
#include <allot/vulkan/imported_memory.hpp>
#include <allot/vulkan/memory.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>

namespace {

using allot::vulkan::dedicated;
using allot::vulkan::device_memory;
using allot::vulkan::imported;

/// The devices of the current test, and the host address of each allocation, which regions do not contain.
tests::validated* test = nullptr;
std::map<VkDeviceMemory, void*> mapped;

VKAPI_ATTR VkResult VKAPI_CALL map_and_tell(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                            VkDeviceSize size, VkMemoryMapFlags flags, void** to) {
    const VkResult status = ::vkMapMemory(device, memory, offset, size, flags, to);
    if (status == VK_SUCCESS) mapped[memory] = *to;
    return status;
}
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL of_device(VkDevice device, const char* name) {
    if (std::strcmp(name, "vkMapMemory") == 0) return reinterpret_cast<PFN_vkVoidFunction>(&map_and_tell);
    return ::vkGetDeviceProcAddr(device, name);
}
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL of_instance(VkInstance instance, const char* name) {
    if (std::strcmp(name, "vkGetDeviceProcAddr") == 0) return reinterpret_cast<PFN_vkVoidFunction>(&of_device);
    return ::vkGetInstanceProcAddr(instance, name);
}

struct on_the_device : tests::validated {
    on_the_device() {
        gpu.emplace(&of_instance, vulkan.instance, vulkan.physical, vulkan.device);
        test = this;
    }
};

/// All of a region in host-visible memory.
struct mapped_bytes {
    using region = allot::region<allot::handle_offset<VkDeviceMemory>::address>;
    static void fill(const region& all, unsigned char value) {
        std::memset(mapped.at(all.base.handle), value, all.size);
    }
    [[nodiscard]] static bool hold(const region& all, unsigned char value) {
        return laws::host_bytes::hold({mapped.at(all.base.handle), all.size, 1}, value);
    }
};

struct release {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{4096}); }
};
std::unique_ptr<std::byte, release> whole_pages(std::size_t size) {
    return std::unique_ptr<std::byte, release>{static_cast<std::byte*>(::operator new(size, std::align_val_t{4096}))};
}

}  // namespace

namespace laws {
template <>
struct ground<device_memory> {
    explicit ground(const variant&) {}
    [[nodiscard]] static device_memory device(std::size_t) { return {*test->gpu, test->type()}; }
};
template <>
struct ground<imported> {
    explicit ground(const variant&) {}
    [[nodiscard]] imported device(std::size_t size) {
        size = allot::align_up(size, std::size_t{4096});
        bytes = whole_pages(size);
        return {*test->gpu, bytes.get(), size};
    }
    std::unique_ptr<std::byte, release> bytes;
};
}  // namespace laws

namespace {

using fixed = allot::growth::fixed<allot::growth_options{.step = 1000, .limit = 20'000, .regions = 8}>;
constexpr allot::best_fit_options few{.records = 24}, two_ends{.large = 200};
constexpr allot::pool_options slots{.slot = 64, .count = 60, .align = 16, .store = allot::pool_store::bitmap};

template <class Strategy, class Growth = allot::growth::none<>>
using on = laws::arena_subject<laws::arena_over<device_memory, Strategy, Growth>>;
using host_tables = laws::arena_over<laws::pages<laws::page_options{}>, allot::best_fit<>>;
using paged = laws::paged_subject<laws::arena_over<device_memory, allot::best_fit<>>, host_tables,
                                  allot::pointer_table<64, allot::row_index<>, allot::handle_offset<VkDeviceMemory>>>;

using laws::make;
// Regions are multiples of 256 bytes, so that no region has an arbitrary size.
constexpr laws::row table[] = {
    {"best fit", make<on<allot::best_fit<>>>, false, false},
    {"best fit, side table of 24", make<on<allot::best_fit<few>>>, false, false},
    {"best fit, two ends", make<on<allot::best_fit<two_ends>>>, false, false},
    {"best fit, 32 bits", make<on<allot::best_fit<allot::best_fit_options{}, std::uint32_t>>>, false, false},
    {"best fit, fixed growth", make<on<allot::best_fit<>, fixed>>, true},
    {"bump down", make<on<allot::bump<>>>, false, false},
    {"bump up", make<on<allot::bump<allot::bump_options{.direction = allot::direction::up}>>>, false, false},
    {"bump down, fixed growth", make<on<allot::bump<>, fixed>>, true},
    {"stack", make<on<allot::stack<>>>, false, false},
    {"ring", make<on<allot::ring<>>>, false, false},
    {"pool, bitmap", make<on<allot::pool<slots>>>, false, false},
    {"paged: rows of device memory, tables of the host", make<paged>, false, false},
};
constexpr laws::row imported_table[] = {
    {"best fit, imported bytes", make<laws::arena_subject<laws::arena_over<imported, allot::best_fit<>>>>, false,
     false},
    {"bump down, imported bytes", make<laws::arena_subject<laws::arena_over<imported, allot::bump<>>>>, false, false},
};

}  // namespace

TEST_CASE_FIXTURE(on_the_device, "vulkan: device memory and dedicated memory satisfy the device laws") {
    laws::judge_device([] { return laws::ground<device_memory>::device(0); }, {}, mapped_bytes{}, laws::no_resources{});
    tests::seen("vulkan::device_memory", vulkan.name());

    VkBufferCreateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    wanted.size = 4096;
    wanted.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    VkBuffer buffer = VK_NULL_HANDLE;
    REQUIRE(::vkCreateBuffer(vulkan.device, &wanted, nullptr, &buffer) == VK_SUCCESS);
    laws::judge_device([&] { return dedicated::for_buffer(*gpu, buffer, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT); }, {},
                       mapped_bytes{}, laws::no_resources{});
    ::vkDestroyBuffer(vulkan.device, buffer, nullptr);
    tests::seen("vulkan::dedicated", vulkan.name());
}

TEST_CASE_FIXTURE(on_the_device, "vulkan import: imported bytes and arenas over them satisfy the laws") {
    if (!vulkan.can_import) {
        std::puts("skipped: the Vulkan device has no VK_EXT_external_memory_host");
        return;
    }
    const auto one = whole_pages(4096), other = whole_pages(4096);
    bool turn = false;
    laws::judge_device([&] { return (turn = !turn, imported{*gpu, (turn ? one : other).get(), 4096}); }, {},
                       mapped_bytes{}, laws::no_resources{});
    laws::judge(imported_table);
    tests::seen("vulkan::imported", vulkan.name());
}

namespace {
constexpr auto opaque = allot::external::handle_kind::opaque_fd;
using exported_memory = allot::vulkan::exported_memory<opaque>;
using imported_memory = allot::vulkan::imported_memory<opaque>;

/// The driver allocates mappings as it likes, and returns every descriptor.
struct descriptors {
    [[nodiscard]] laws::held_resources operator()() const { return {laws::process_resources{}().descriptors, 0}; }
};
}  // namespace

TEST_CASE_FIXTURE(on_the_device, "vulkan external memory: exported and imported memory satisfy the device laws") {
    if (!vulkan.shares_descriptors) {
        std::puts("skipped: the Vulkan device has no VK_KHR_external_memory_fd");
        return;
    }
    laws::judge_device([this] { return exported_memory{*gpu, type(), tests::every_use}; }, {}, mapped_bytes{},
                       descriptors{});
    exported_memory source{*gpu, type(), tests::every_use};
    const auto one = source.acquire({.size = 8192}), other = source.acquire({.size = 8192});
    REQUIRE(one);
    REQUIRE(other);
    bool turn = false;
    laws::judge_device(
        [&] {
            auto shared = source.export_memory((turn = !turn) ? *one : *other);
            REQUIRE(shared);
            return imported_memory{*gpu, std::move(*shared), tests::every_use};
        },
        {}, mapped_bytes{}, descriptors{});
    source.release(*one);
    source.release(*other);
    tests::seen("vulkan::exported_memory", vulkan.name());
    tests::seen("vulkan::imported_memory", vulkan.name());
}

TEST_CASE_FIXTURE(on_the_device, "vulkan: arenas over device memory satisfy the laws") {
    CHECK(std::size(table) == 12);
    laws::judge(table);
}
