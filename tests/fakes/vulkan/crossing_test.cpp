// DMA buffers between a fake kernel and a fake Vulkan driver, which no driver of Debian shares: who owns a descriptor,
// which handles a driver accepts, and whether both sides see the same bytes.
#include "../../laws/device_laws.hpp"
#include "../../devices_used.hpp"
#include "../../unit/dma/fake_ioctl.hpp"
#include "driver.hpp"

#include <allot/allot.hpp>
#include <allot/dma.hpp>
#include <allot/vulkan.hpp>

#include <optional>

namespace {

using allot::external::handle_kind;
using fake::now;
using heap = allot::dma::heap<"reserved">;
using host = allot::dma::imported_memory<>;
template <handle_kind Kind>
using exported = allot::vulkan::exported_memory<Kind>;
template <handle_kind Kind>
using imported = allot::vulkan::imported_memory<Kind>;
constexpr auto dma = handle_kind::dma_buf, opaque = handle_kind::opaque_fd;
constexpr VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;

struct driven : fake::driven {
    allot::vulkan::logical_device gpu{&fake::get, fake::instance, fake::physical, fake::device};
};
struct with_kernel {  // before the machine, which counts descriptors
    tests::fake_kernel kernel;
};
struct on_both : with_kernel, driven {};

/// Bytes of host-visible memory of the fake driver.
struct driver_bytes {
    using region = allot::region<allot::handle_offset<VkDeviceMemory>::address>;
    static void fill(const region& all, unsigned char value) {
        std::memset(now.memory.at(all.base.handle).data(), value, all.size);
    }
    [[nodiscard]] static bool hold(const region& all, unsigned char value) {
        return laws::host_bytes::hold({now.memory.at(all.base.handle).data(), all.size, 1}, value);
    }
};
struct descriptors {
    [[nodiscard]] laws::held_resources operator()() const { return {fake::open_descriptors(), 0}; }
};

template <class Arena>
auto first_region(Arena& memory) {
    return memory.regions()[0];
}

}  // namespace

TEST_CASE_FIXTURE(on_both, "crossing: frames of a DMA heap are a Vulkan buffer, and either may go first") {
    for (const bool exporter_first : {true, false}) {
        using source = allot::arena<heap, allot::best_fit<>>;
        using target = allot::arena<imported<dma>, allot::best_fit<>>;
        std::optional<source> from{std::in_place, heap{kernel.heaps()}, 50'000};
        const auto frame = from->allocate({.size = 3001, .align = 64});
        REQUIRE(frame);
        {
            const auto access = from->device().access(frame.address, frame.size, allot::dma::cpu_use::write);
            REQUIRE(access);
            std::memset(frame.address, 0x3C, frame.size);
        }
        auto shared = allot::external::share<imported<dma>>(from->device(), first_region(*from));
        REQUIRE(shared);
        CHECK(shared->about().size == from->size());
        std::optional<target> to{std::in_place, imported<dma>{gpu, std::move(*shared), usage}};
        REQUIRE(to->size() == from->size());
        CHECK(to->device().type() == fake::coherent);
        const auto there =
            allot::external::counterpart<heap, imported<dma>>(frame.address, first_region(*from), first_region(*to));
        CHECK(there.offset ==
              allot::raw_pointer::position(frame.address) - allot::raw_pointer::position(first_region(*from).base));
        auto* const seen = static_cast<unsigned char*>(to->device().host_pointer(there, frame.size));
        REQUIRE(seen != nullptr);
        CHECK(laws::host_bytes::hold({seen, frame.size, 1}, 0x3C));
        {  // a buffer of this memory is created for its handle type
            const auto buffer = allot::vulkan::buffer_over(to->device(), there, 2048, usage);
            CHECK(buffer);
        }
        seen[7] = 0x77;
        CHECK(static_cast<unsigned char*>(frame.address)[7] == 0x77);
        if (exporter_first) {
            from.reset();
            CHECK(seen[7] == 0x77);
        } else {
            to.reset();
            CHECK(static_cast<unsigned char*>(frame.address)[7] == 0x77);
        }
    }
    CHECK(now.imports == 2);
}

TEST_CASE_FIXTURE(on_both, "crossing: Vulkan's memory is a DMA buffer of the host, with periods of access") {
    exported<dma> from{gpu, fake::coherent, usage};
    const auto region = from.acquire({.size = 5000});
    REQUIRE(region);
    CHECK(region->size == 8192);
    std::memset(from.host_pointer(region->base), 0x11, region->size);
    auto shared = allot::external::share<host>(from, *region);
    REQUIRE(shared);
    allot::arena<host, allot::best_fit<>> to{host{std::move(*shared)}};
    REQUIRE(to.size() == 8192);
    const auto block = to.allocate({.size = 8192});
    REQUIRE(block);
    {
        const auto access = to.device().access(block.address, block.size, allot::dma::cpu_use::read);
        REQUIRE(access);
        CHECK(laws::host_bytes::hold({block.address, block.size, 1}, 0x11));
    }
    CHECK(kernel.syncs.size() == 2);
    // A buffer that the host imported can be exported again.
    auto again = to.device().export_memory(to.regions()[0]);
    REQUIRE(again);
    CHECK(again->about().kind == dma);
    CHECK(again->about().size == 8192);
    from.release(*region);
}

TEST_CASE_FIXTURE(on_both, "crossing: the laws of the devices, for both kinds of handles") {
    const auto judge = [&]<handle_kind Kind>(std::integral_constant<handle_kind, Kind>, std::uint32_t type) {
        now.most_allocations = 64;
        now.heap = now.largest = std::size_t{1} << 24;
        allot::vulkan::logical_device large{&fake::get, fake::instance, fake::physical, fake::device};
        laws::judge_device([&] { return exported<Kind>{large, type, usage}; }, {}, driver_bytes{}, descriptors{});
        exported<Kind> source{large, type, usage};
        const auto one = source.acquire({.size = 8192}), other = source.acquire({.size = 8192});
        REQUIRE(one);
        REQUIRE(other);
        bool turn = false;
        laws::judge_device(
            [&] {
                auto shared = source.export_memory((turn = !turn) ? *one : *other);
                REQUIRE(shared);
                return imported<Kind>{large, std::move(*shared), usage};
            },
            {}, driver_bytes{}, descriptors{});
        source.release(*one);
        source.release(*other);
    };
    judge(std::integral_constant<handle_kind, opaque>{}, fake::visible);
    judge(std::integral_constant<handle_kind, dma>{}, fake::coherent);
}

TEST_CASE_FIXTURE(on_both,
                  "crossing: a failed import leaves the descriptor with the program, a later failure does not") {
    heap from{kernel.heaps()};
    const auto region = from.acquire({.size = 4096});
    REQUIRE(region);
    auto shared = from.export_memory(*region);
    REQUIRE(shared);
    imported<dma> to{gpu, std::move(*shared), usage};
    const std::size_t open = fake::open_descriptors();
    now.refuse_allocation = VK_ERROR_OUT_OF_HOST_MEMORY;
    CHECK(to.acquire({.size = 1}).error() == VK_ERROR_OUT_OF_HOST_MEMORY);
    CHECK(fake::open_descriptors() == open);
    now.refuse_map = VK_ERROR_MEMORY_MAP_FAILED;  // after the import, which took the descriptor
    CHECK(to.acquire({.size = 1}).error() == VK_ERROR_MEMORY_MAP_FAILED);
    CHECK(now.imports == 1);
    CHECK(fake::open_descriptors() == open);
    CHECK(to.acquire({.size = 4097}).error() == VK_ERROR_VALIDATION_FAILED_EXT);
    CHECK(to.acquire({.size = 0}).error() == VK_ERROR_VALIDATION_FAILED_EXT);
    const auto held = to.acquire({.size = 1});
    REQUIRE(held);
    CHECK(to.acquire({.size = 1}).error() == VK_ERROR_TOO_MANY_OBJECTS);
    CHECK(fake::open_descriptors() == open + 1);
    to.release(*held);
    CHECK(fake::open_descriptors() == open);
    from.release(*region);
}

TEST_CASE_FIXTURE(on_both, "crossing: Vulkan refuses what its driver does not share") {
    heap from{kernel.heaps()};
    const auto region = from.acquire({.size = 4096});
    REQUIRE(region);
    const auto why_not = [&] {
        auto shared = from.export_memory(*region);
        REQUIRE(shared);
        imported<dma> device{gpu, std::move(*shared), usage};
        return device.acquire({.size = 1}).error();
    };
    now.dma_features = VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT;
    CHECK(why_not() == VK_ERROR_FEATURE_NOT_PRESENT);
    now.dma_features = fake::both_ways | VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT;
    CHECK(why_not() == VK_ERROR_FEATURE_NOT_PRESENT);
    exported<dma> other{gpu, fake::coherent, usage};
    CHECK(other.acquire({.size = 1}).error() == VK_ERROR_FEATURE_NOT_PRESENT);
    now.dma_features = fake::both_ways;
    now.dma_types = 0;  // no memory type for the buffer
    CHECK(why_not() == VK_ERROR_FEATURE_NOT_PRESENT);
    // The memory is an opaque descriptor, not a DMA buffer.
    exported<opaque> vulkan_only{gpu, fake::local, usage};
    const auto local = vulkan_only.acquire({.size = 1});
    REQUIRE(local);
    auto shared = vulkan_only.export_memory(*local);
    REQUIRE(shared);
    imported<dma> device{gpu, std::move(*shared), usage};
    CHECK(device.acquire({.size = 1}).error() == VK_ERROR_INVALID_EXTERNAL_HANDLE);
    shared = vulkan_only.export_memory(*local);
    REQUIRE(shared);
    CHECK(host{std::move(*shared)}.acquire({.size = 1}).error() == ENOTSUP);
    // Another GPU, and another driver.
    for (unsigned char* const changed : {&now.device_uuid, &now.driver_uuid}) {
        shared = vulkan_only.export_memory(*local);
        REQUIRE(shared);
        *changed ^= 0x80;
        CHECK(imported<opaque>{gpu, std::move(*shared), usage}.acquire({.size = 1}).error() ==
              VK_ERROR_INVALID_EXTERNAL_HANDLE);
        *changed ^= 0x80;
    }
    vulkan_only.release(*local);
    from.release(*region);
    CHECK(now.imports == 0);
}

TEST_CASE_FIXTURE(driven, "crossing: without the extension, Vulkan's memory neither leaves nor arrives") {
    now.lacks = "vkGetMemoryFdKHR";
    allot::vulkan::logical_device plain{&fake::get, fake::instance, fake::physical, fake::device};
    CHECK(exported<dma>{plain, fake::coherent, usage}.acquire({.size = 1}).error() == VK_ERROR_EXTENSION_NOT_PRESENT);
    CHECK(imported<dma>{plain, {}, usage}.acquire({.size = 1}).error() == VK_ERROR_EXTENSION_NOT_PRESENT);
}

TEST_CASE_FIXTURE(on_both, "crossing: the host refuses what is no DMA buffer of the stated size") {
    heap from{kernel.heaps()};
    const auto region = from.acquire({.size = 8192});
    REQUIRE(region);
    const auto why_not = [&](std::size_t size) {
        auto shared = from.export_memory(*region);
        REQUIRE(shared);
        host device{{shared->release(), {.kind = dma, .size = size}}};
        const auto answer = device.acquire({.size = 1});
        if (answer) device.release(*answer);
        return answer ? 0 : answer.error();
    };
    CHECK(why_not(8192) == 0);
    CHECK(why_not(4096) == 0);
    CHECK(why_not(0) == EINVAL);
    CHECK(why_not(8191) == EINVAL);
    CHECK(why_not(12288) == EOVERFLOW);
    CHECK(host{{}}.acquire({.size = 1}).error() == EBADF);
    CHECK(from.export_memory({}).error() == EBADF);
    from.release(*region);
    CHECK(from.export_memory(*region).error() == EBADF);
}

TEST_CASE_FIXTURE(on_both, "crossing: the fakes notice broken rules") {
    heap from{kernel.heaps()};
    const auto region = from.acquire({.size = 4096});
    REQUIRE(region);
    auto shared = from.export_memory(*region);
    REQUIRE(shared);
    const auto broken_by = [&](VkExternalMemoryHandleTypeFlagBits type, int descriptor, std::uint32_t memory_type) {
        VkImportMemoryFdInfoKHR with{};
        with.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR;
        with.handleType = type;
        with.fd = descriptor;
        CHECK_FALSE(gpu.allocate(memory_type, 8192, &with, false));  // 8192 bytes: more than there are
        return std::exchange(now.broken, {});
    };
    using rules = std::vector<std::string>;
    CHECK(broken_by(VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT, shared->descriptor(), fake::coherent) == rules{});
    CHECK(broken_by(VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT, shared->descriptor(), fake::local) ==
          rules{"00648: a memory type of the descriptor"});
    CHECK(broken_by(VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, shared->descriptor(), fake::coherent) ==
          rules{"00670: a descriptor of the stated type"});
    const int closed = shared->release();
    ::close(closed);
    CHECK(broken_by(VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT, closed, fake::coherent) ==
          rules{"00670: a descriptor of the stated type"});
    from.release(*region);
    for (const char* device : {"vulkan::exported_memory", "vulkan::imported_memory", "dma::imported_memory"})
        tests::seen_on_fake_driver(device);
}
