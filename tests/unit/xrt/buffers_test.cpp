// Buffer objects of XRT on a fake card: the laws, transfers in periods of access, addresses of the board, and
// descriptors.
#include "../../laws/device_laws.hpp"
#include "../../devices_used.hpp"
#include "fake_xrt.hpp"

#include <allot/allot.hpp>
#include <allot/dma/contiguous_memory.hpp>
#include <allot/dma/copy.hpp>
#include <allot/dma/imported_memory.hpp>
#include <allot/tensor.hpp>
#include <allot/xrt.hpp>

#include <optional>

namespace {

using allot::dma::cpu_use;
using allot::external::handle_kind;
using allot::xrt::imported_memory;
using buffers = allot::xrt::buffers<12>;
using fake_xrt::driven;
using fake_xrt::now;

static_assert(!buffers::host_accessible && buffers::dl_device == allot::dl_device_type::ext_dev);
static_assert(allot::dma::contiguous_source<buffers>);
static_assert(!allot::arena<buffers, allot::best_fit<>>::strategy_type::in_band);

buffers on_card(std::uint32_t group = 0) { return {fake_xrt::calls, fake_xrt::board, group}; }

using laws::host_bytes;

}  // namespace

TEST_CASE_FIXTURE(driven, "xrt buffers: the laws of devices, on a card and on a board") {
    for (const bool is_board : {false, true}) {
        now.settings.is_board = is_board;
        laws::judge_device([] { return on_card(); }, {}, host_bytes{}, laws::process_resources{});
    }
    tests::seen_on_fake_driver("xrt::buffers");
}

TEST_CASE_FIXTURE(driven, "xrt imported memory: the laws of devices") {
    buffers source = on_card();
    const auto one = source.acquire({.size = 8192}), other = source.acquire({.size = 8192});
    REQUIRE(one);
    REQUIRE(other);
    bool turn = false;
    laws::judge_device([&] {
        auto shared = allot::external::share<imported_memory>(source, (turn = !turn) ? *one : *other);
        REQUIRE(shared);
        return imported_memory{fake_xrt::calls, fake_xrt::board, std::move(*shared)};
    });
    source.release(*one);
    source.release(*other);
    tests::seen_on_fake_driver("xrt::imported_memory");
}

TEST_CASE_FIXTURE(driven, "xrt buffers: bytes reach the card at the end of an access, and only these bytes") {
    allot::arena<buffers, allot::best_fit<>> memory{on_card(2), 20'000};
    REQUIRE(memory.size() == 20'480);
    const auto a = memory.allocate({.size = 999, .align = 64}), b = memory.allocate({.size = 1001, .align = 64});
    REQUIRE((a && b));
    void* const handle = memory.device().handle_of(a.address, a.size);
    REQUIRE(handle != nullptr);
    const auto base = memory.device().bus_address(memory.regions()[0].base).value();
    const auto at = [&](const auto& block) {
        return fake_xrt::on_card(handle) + (memory.device().bus_address(block.address, block.size).value() - base);
    };
    std::memset(at(b), 0x77, b.size);  // a kernel writes next to the host
    {
        auto access = memory.device().access(a.address, a.size, cpu_use::write);
        REQUIRE(access);
        std::memset(a.address, 0x31, a.size);
        CHECK(at(a)[0] == std::byte{0});
        CHECK(access.end() == 0);
    }
    CHECK(host_bytes::hold({at(a), a.size, 1}, 0x31));
    CHECK(host_bytes::hold({at(b), b.size, 1}, 0x77));
    CHECK(now.to_device == 999);
    CHECK(now.from_device == 0);
    {
        const auto access = memory.device().access(b.address, b.size, cpu_use::read);
        REQUIRE(access);
        CHECK(host_bytes::hold({b.address, b.size, 1}, 0x77));
    }
    CHECK(now.to_device == 999);
    CHECK(now.from_device == 1001);
    {
        const auto both = memory.device().access(b.address, b.size, cpu_use::read_write);
        CHECK(both);
    }
    CHECK(now.to_device == 2000);
    CHECK(memory.device().access(&now, 1, cpu_use::read).error() == EINVAL);
    CHECK(memory.device().handle_of(&now) == nullptr);
    CHECK(memory.device().bus_address(&now).error() == EFAULT);
    now.settings.refuse_sync = EIO;
    CHECK(memory.device().access(a.address, a.size, cpu_use::read).error() == EIO);
    auto writing = memory.device().access(a.address, a.size, cpu_use::write);
    CHECK(writing);
    CHECK(writing.end() == EIO);
}

TEST_CASE_FIXTURE(driven, "xrt buffers: tensors are copied in periods of access") {
    allot::arena<buffers, allot::best_fit<>> memory{on_card(), 8192};
    allot::naive<allot::host::heap> heap;
    const auto here = *allot::alloc_tensor(*allot::alloc_storage(heap, 4096, 64), 0, {5, 7}, allot::int32);
    const auto there = *allot::alloc_tensor(*allot::alloc_storage(memory, 4096, 64), 64, {5, 7}, allot::int32);
    std::memset(here.data(), 0x44, 140);
    CHECK(allot::copy_tensor(here, there, allot::dma::mapped_copy{memory.device()}));
    CHECK(now.to_device == 140);
    const std::size_t offset = static_cast<std::size_t>(memory.device().bus_address(there.data()).value() -
                                                        memory.device().bus_address(memory.regions()[0].base).value());
    CHECK(host_bytes::hold({fake_xrt::on_card(memory.device().handle_of(there.data())) + offset, 140, 1}, 0x44));
}

TEST_CASE_FIXTURE(driven, "xrt buffers: the host and another card see an exported buffer") {
    std::optional<buffers> source{on_card()};
    const auto region = source->acquire({.size = 4096});
    REQUIRE(region);
    auto first = source->export_memory(*region), again = source->export_memory(*region);
    REQUIRE(first);
    REQUIRE(again);
    CHECK(first->descriptor() != again->descriptor());
    CHECK(first->about().size == 4096);
    std::memset(fake_xrt::on_card(source->handle_of(region->base)), 0x28, 4096);
    allot::dma::imported_memory<> host{std::move(*first)};
    imported_memory card{fake_xrt::calls, fake_xrt::board, std::move(*again)};
    const auto mapped = host.acquire({.size = 4096}), imported = card.acquire({.size = 1});
    REQUIRE(mapped);
    REQUIRE(imported);
    source->release(*region);  // the bytes live on
    source.reset();
    CHECK(host_bytes::hold(*mapped, 0x28));
    {
        const auto access = card.access(imported->base, 4096, cpu_use::read);
        REQUIRE(access);
        CHECK(host_bytes::hold(*imported, 0x28));
    }
    CHECK(card.acquire({.size = 1}).error() == EMFILE);
    CHECK(card.bus_address(imported->base, 4096));
    host.release(*mapped);
    card.release(*imported);
}

TEST_CASE_FIXTURE(driven, "xrt: what cannot be allocated or imported is refused, and nothing is lost") {
    buffers device = on_card();
    CHECK(buffers{{}, fake_xrt::board, 0}.acquire({.size = 1}).error() == ENOSYS);
    CHECK(buffers{fake_xrt::calls, nullptr, 0}.acquire({.size = 1}).error() == EINVAL);
    CHECK(on_card(4).acquire({.size = 1}).error() == EINVAL);  // no such bank
    CHECK(device.acquire({.size = std::size_t{65} << 20}).error() == ENOMEM);
    now.settings.refuse_alloc = ENODEV;
    CHECK(device.acquire({.size = 1}).error() == ENODEV);
    now.settings.refuse_alloc = 0;
    now.settings.refuse_map = true;
    CHECK(device.acquire({.size = 1}).error() == EIO);  // XRT set no `errno`
    now.settings.refuse_map = false;
    now.settings.missing = 1;
    CHECK(device.acquire({.size = 1}).error() == EOVERFLOW);
    now.settings.missing = 0;
    now.settings.address_of_first = 2048;  // the bus address is not at a page
    CHECK(device.acquire({.size = 1}).error() == EADDRNOTAVAIL);
    now.settings.address_of_first = 0;
    const auto held = device.acquire({.size = 1});
    REQUIRE(held);
    now.settings.refuse_export = true;
    CHECK(device.export_memory(*held).error() == EPERM);
    CHECK(device.export_memory({}).error() == EBADF);
    device.release(*held);
    device.release(*held);  // ignored
    CHECK(device.export_memory(*held).error() == EBADF);

    const auto why_not = [](const char* kind, allot::external::properties about, std::size_t size = 1) {
        imported_memory from{fake_xrt::calls, fake_xrt::board, {fake::make_payload(kind, 4096), about}};
        return from.acquire({.size = size}).error();
    };
    CHECK(why_not(fake::dma_buffer, {.size = 4096}, 4097) == ENOMEM);
    CHECK(why_not(fake::dma_buffer, {.size = 8192}) == EOVERFLOW);
    CHECK(why_not(fake::dma_buffer, {.size = 4095}) == EINVAL);
    CHECK(why_not(fake::opaque, {.size = 4096}) == EBADF);
    CHECK(why_not(fake::opaque, {.kind = handle_kind::opaque_fd, .size = 4096}) == ENOTSUP);
    CHECK(imported_memory{fake_xrt::calls, fake_xrt::board, {}}.acquire({.size = 1}).error() == EBADF);
    CHECK(imported_memory{{}, fake_xrt::board, {}}.acquire({.size = 1}).error() == ENOSYS);
}

TEST_CASE_FIXTURE(driven, "xrt: the table of an installed library is complete or empty") {
    CHECK_FALSE(allot::xrt::installed("no such library"));
    CHECK_FALSE(allot::xrt::installed("libc.so.6"));  // without XRT's functions
    if (!allot::xrt::installed()) std::puts("skipped: XRT is not installed, and no card is tested");
}
