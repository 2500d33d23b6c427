// Vulkan memory that crosses drivers, on the installed driver with its validation layer: from one VkDevice to another.
#include <allot/allot.hpp>
#include <allot/vulkan/bound_buffer.hpp>
#include <allot/vulkan/exported_memory.hpp>
#include <allot/vulkan/imported_memory.hpp>

#include "installed.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <optional>

namespace {

using allot::external::handle_kind;
using tests::every_use;
using exported_memory = allot::vulkan::exported_memory<handle_kind::opaque_fd>;
using imported_memory = allot::vulkan::imported_memory<handle_kind::opaque_fd>;

bool is_skipped(const tests::validated& on) {
    if (!on.vulkan.shares_descriptors) std::puts("skipped: the Vulkan device has no VK_KHR_external_memory_fd");
    return !on.vulkan.shares_descriptors;
}

}  // namespace

TEST_CASE("vulkan external memory: two devices see the same bytes, and either may go first") {
    for (const bool exporter_first : {true, false}) {
        tests::validated here, there;
        if (is_skipped(here)) return;
        using exporting = allot::arena<exported_memory, allot::best_fit<>>;
        using importing = allot::arena<imported_memory, allot::best_fit<>>;
        std::optional<exporting> from{std::in_place, exported_memory{*here.gpu, here.type(), every_use}, 100'000};
        const auto block = from->allocate({.size = 5000, .align = 256});
        REQUIRE(block);
        std::memset(from->device().host_pointer(block), 0x5A, block.size);
        auto shared = allot::external::share<imported_memory>(from->device(), from->regions()[0]);
        REQUIRE(shared);
        std::optional<importing> to{std::in_place, imported_memory{*there.gpu, std::move(*shared), every_use}};
        REQUIRE(to->size() == from->size());
        const auto same = allot::external::counterpart<exported_memory, imported_memory>(
            block.address, from->regions()[0], to->regions()[0]);
        const auto* const bytes = static_cast<const unsigned char*>(to->device().host_pointer(same, block.size));
        REQUIRE(bytes != nullptr);
        for (std::size_t i = 0; i != block.size; ++i) REQUIRE(bytes[i] == 0x5A);

        {  // a buffer on each side, created for external memory
            const auto a = allot::vulkan::buffer_over(from->device(), from->regions()[0].base, from->size(), every_use);
            const auto b = allot::vulkan::buffer_over(to->device(), to->regions()[0].base, to->size(), every_use);
            CHECK(a);
            CHECK(b);
        }
        if (exporter_first) {
            from.reset();
            CHECK(bytes[4999] == 0x5A);
            to.reset();
        } else {
            to.reset();
            CHECK(static_cast<unsigned char*>(from->device().host_pointer(block))[4999] == 0x5A);
            from.reset();
        }
    }
}

TEST_CASE_FIXTURE(tests::validated, "vulkan external memory: an import of other memory is refused before the driver") {
    if (is_skipped(*this)) return;
    exported_memory source{*gpu, type(), every_use};
    const auto region = source.acquire({.size = 4096});
    REQUIRE(region);
    const auto about = source.export_memory(*region).value().about();
    CHECK(about.kind == handle_kind::opaque_fd);
    CHECK(about.size == 4096);
    CHECK(about.memory_type == type());
    const auto code_of = [&](auto change) {
        auto shared = source.export_memory(*region);
        REQUIRE(shared);
        auto changed = about;
        change(changed);
        imported_memory device{*gpu, {shared->release(), changed}, every_use};
        const auto answer = device.acquire({.size = 1});
        if (!answer) return answer.error();
        device.release(*answer);
        return VK_SUCCESS;
    };
    CHECK(code_of([](auto&) {}) == VK_SUCCESS);
    CHECK(code_of([](auto& p) { p.kind = handle_kind::dma_buf; }) == VK_ERROR_INVALID_EXTERNAL_HANDLE);
    CHECK(code_of([](auto& p) { p.dedicated = true; }) == VK_ERROR_INVALID_EXTERNAL_HANDLE);
    CHECK(code_of([](auto& p) { p.size = 0; }) == VK_ERROR_INVALID_EXTERNAL_HANDLE);
    CHECK(code_of([](auto& p) { p.device[3] ^= 1; }) == VK_ERROR_INVALID_EXTERNAL_HANDLE);
    CHECK(code_of([](auto& p) { p.driver[15] ^= 1; }) == VK_ERROR_INVALID_EXTERNAL_HANDLE);
    CHECK(code_of([](auto& p) { p.memory_type = 31; }) == VK_ERROR_FEATURE_NOT_PRESENT);
    CHECK(imported_memory{*gpu, {}, every_use}.acquire({.size = 1}).error() == VK_ERROR_INVALID_EXTERNAL_HANDLE);
    CHECK(source.export_memory({}).error() == VK_ERROR_INVALID_EXTERNAL_HANDLE);
    source.release(*region);
    CHECK(source.export_memory(*region).error() == VK_ERROR_INVALID_EXTERNAL_HANDLE);
}

TEST_CASE_FIXTURE(tests::validated, "vulkan external memory: DMA buffers need a driver that has them") {
    using dma = allot::vulkan::exported_memory<handle_kind::dma_buf>;
    dma source{*gpu, type(), every_use};
    const auto region = source.acquire({.size = 4096});
    if (vulkan.shares_dma_buffers) {
        REQUIRE(region);
        CHECK(source.export_memory(*region));
        source.release(*region);
    } else {
        CHECK(region.error() ==
              (vulkan.shares_descriptors ? VK_ERROR_FEATURE_NOT_PRESENT : VK_ERROR_EXTENSION_NOT_PRESENT));
        std::puts("skipped: the Vulkan device has no VK_EXT_external_memory_dma_buf");
    }
}
