// Bus addresses of DMA buffers, and contiguous memory from several sources, on a fake kernel and on files.
#include "../../laws/device_laws.hpp"
#include "../../devices_used.hpp"
#include "fake_kernel.hpp"

#include <allot/allot.hpp>
#include <allot/dma.hpp>
#include <allot/host/contiguous_pages.hpp>
#include <allot/tensor.hpp>

#include <cstring>

namespace {

// clang 14 cannot link user-defined literals in templates.
constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;
using allot::dma::cpu_use;
using allot::dma::page_frames;
using allot::dma::physical_buffer;
using allot::dma::physical_node;
using allot::dma::physical_request;

using heap = allot::dma::heap<"reserved", allot::dma::heap_options{.contiguous = true, .regions = 12}>;
using cma = allot::dma::bus_addressed<heap, physical_node>;
using u_dma_buf = allot::dma::u_dma_buf<>;
using host_pages = allot::host::contiguous_pages<>;
using two_sources = allot::dma::contiguous_memory<cma, u_dma_buf>;
using three_sources = allot::dma::contiguous_memory<cma, host_pages, u_dma_buf>;

static_assert(cma::contiguous && !cma::host_accessible && cma::exports.dma_buf);
static_assert(two_sources::granularity == 4096 && two_sources::min_align == 4096 && !two_sources::host_accessible);
static_assert(three_sources::granularity == 2 * MiB && three_sources::min_align == 4096);
static_assert(allot::dma::contiguous_memory<host_pages>::host_accessible);
static_assert(allot::dma::contiguous_memory<host_pages>::dl_device == allot::dl_device_type::cpu);
static_assert(three_sources::dl_device == allot::dl_device_type::ext_dev);
static_assert(allot::dma::contiguous_source<three_sources>);  // sources can be nested
static_assert(!allot::dma::contiguous_source<heap>);          // without bus addresses

cma cma_of(const tests::fake_kernel& kernel, std::uint64_t bus_offset = 0) {
    return cma{heap{kernel.heaps()}, {kernel.physical_node()}, bus_offset};
}

/// The files of a u-dma-buf driver with one buffer at 0x1e900000.
struct board {
    explicit board(std::size_t size) {
        std::filesystem::create_directory(files / "buffer");
        files.write("buffer/phys_addr", "0x1e900000\n");
        files.write("buffer/size", std::to_string(size) + "\n");
        for (const char* const each : {"buffer/dma_coherent", "buffer/sync_for_cpu", "buffer/sync_for_device"})
            files.write(each, "0\n");
        nodes.write("buffer", "");
        std::filesystem::resize_file(nodes / "buffer", size);
    }
    [[nodiscard]] u_dma_buf device() const {
        return u_dma_buf{"buffer", 0, {files.path().c_str(), nodes.path().c_str()}};
    }
    tests::temporary_directory files, nodes;
};

/// Frames of pages as /proc/self/pagemap shows them, in a file that is written before each search.
struct told_frames {
    std::string file{};
    std::uint64_t first = 0x12345;
    std::size_t broken_at = 0;  // the page whose frame is not adjacent
    std::uint64_t flags = std::uint64_t{1} << 63;

    [[nodiscard]] allot::result<physical_buffer, int> find(const allot::dma::buffer& of, void* base) const noexcept {
        const int to = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        for (std::size_t i = 0; i != of.size / 4096; ++i) {
            const std::uint64_t entry = (first + i + (broken_at != 0 && i >= broken_at ? 1 : 0)) | flags;
            const auto at = static_cast<off_t>((allot::raw_pointer::position(base) / 4096 + i) * sizeof entry);
            CHECK(::pwrite(to, &entry, sizeof entry, at) == sizeof entry);
        }
        ::close(to);
        return page_frames{file.c_str()}.find(of, base);
    }
};

}  // namespace

TEST_CASE("bus addresses: the driver's node gives the address of every byte, plus the bus offset") {
    tests::fake_kernel kernel;
    const std::size_t open = tests::open_descriptors();
    {
        auto device = cma_of(kernel, 0x4000'0000);
        const auto one = device.acquire({.size = 5000}), two = device.acquire({.size = 4096, .align = 64 * KiB});
        REQUIRE(one);
        REQUIRE(two);
        const auto bus = device.bus_address(one->base, 8192);
        REQUIRE(bus);
        CHECK(*bus == kernel.physical_of(device.buffer_of(one->base).descriptor) + 0x4000'0000);
        auto* const bytes = static_cast<std::byte*>(one->base);
        CHECK(*device.bus_address(bytes + 5001) == *bus + 5001);
        CHECK(device.bus_address(bytes + 8191, 2).error() == EFAULT);
        CHECK(device.bus_address(bytes - 1).error() == EFAULT);
        CHECK(device.bus_address(nullptr).error() == EFAULT);
        CHECK(*device.bus_address(two->base) - 0x4000'0000 ==
              kernel.physical_of(device.buffer_of(two->base).descriptor));
        CHECK(tests::open_descriptors() == open + 4);  // each buffer is pinned by a file of the node
        device.release(*one);
        CHECK(device.bus_address(one->base).error() == EFAULT);
        CHECK(device.bus_address(two->base));
        CHECK(tests::open_descriptors() == open + 2);
        device.release(*two);
    }
    CHECK(tests::open_descriptors() == open);
}

TEST_CASE("bus addresses: the laws of the device, and arenas over it") {
    tests::fake_kernel kernel;
    laws::judge_device([&] { return cma_of(kernel); }, {.align = 1 << 16});
    allot::arena<cma, allot::best_fit<>> memory{cma_of(kernel), 64 * KiB};
    const auto a = memory.allocate({.size = 1001, .align = 64}), b = memory.allocate({.size = 333, .align = 64});
    REQUIRE((a && b));
    const auto distance = allot::raw_pointer::position(b.address) - allot::raw_pointer::position(a.address);
    CHECK(*memory.device().bus_address(b.address, b.size) - *memory.device().bus_address(a.address, a.size) ==
          distance);
    CHECK(*memory.device().bus_address(a.address) % 64 == 0);
    CHECK(memory.device().access(a.address, a.size, cpu_use::write));
    tests::seen_on_fake_driver("dma::bus_addressed");
}

TEST_CASE("bus addresses: a failed search gives the buffer back") {
    tests::fake_kernel kernel;
    const std::size_t open = tests::open_descriptors();
    auto device = cma_of(kernel);
    kernel.contiguous = false;
    CHECK(device.acquire({.size = 8192}).error() == EINVAL);
    cma without{heap{kernel.heaps()}, {"/dev/no such driver"}};
    CHECK(without.acquire({.size = 8192}).error() == ENOENT);
    kernel.refuse_with = ENOMEM;
    CHECK(device.acquire({.size = 8192}).error() == ENOMEM);
    kernel.refuse_with = 0;
    kernel.contiguous = true;
    auto beyond = cma_of(kernel, ~std::uint64_t{0} - 0xFFFF);  // the bus address exceeds 64 bits
    CHECK(beyond.acquire({.size = 8192}).error() == EOVERFLOW);
    CHECK(tests::open_descriptors() == open);
    allot::dma::bus_addressed<heap, physical_node, 1> one{heap{kernel.heaps()}, {kernel.physical_node()}};
    const auto held = one.acquire({.size = 1});
    REQUIRE(held);
    CHECK(one.acquire({.size = 1}).error() == EMFILE);
    one.release(*held);
}

TEST_CASE("bus addresses: a request to the buffer itself") {
    tests::fake_kernel kernel;
    allot::dma::bus_addressed<allot::dma::udmabuf<>, physical_request> device{allot::dma::udmabuf<>{kernel.udmabuf()}};
    const auto held = device.acquire({.size = 1});
    REQUIRE(held);
    CHECK(*device.bus_address(held->base) == kernel.physical_of(device.buffer_of(held->base).descriptor));
    device.release(*held);
}

TEST_CASE("bus addresses: frames of pages prove that a buffer is contiguous") {
    tests::fake_kernel kernel;
    const tests::temporary_directory files;
    const auto code_of = [&](told_frames frames) {
        frames.file = files / "pagemap";
        allot::dma::bus_addressed<heap, told_frames> device{heap{kernel.heaps()}, frames};
        const auto held = device.acquire({.size = 20'480});
        if (!held) return held.error();
        CHECK(*device.bus_address(held->base) == 0x12345'000);
        CHECK(*device.bus_address(static_cast<std::byte*>(held->base) + 20'479) == 0x12345'000 + 20'479);
        device.release(*held);
        return 0;
    };
    CHECK(code_of({}) == 0);
    CHECK(code_of({.broken_at = 4}) == EADDRNOTAVAIL);
    CHECK(code_of({.flags = 0}) == EIO);                                     // no page, as of CMA heaps since 6.9
    CHECK(code_of({.first = 0, .flags = std::uint64_t{1} << 63}) == EPERM);  // hidden from this process
    allot::dma::bus_addressed<heap, page_frames> real{heap{kernel.heaps()}};
    const auto one_page = real.acquire({.size = 4096});  // of a memfd, by the system's own file
    if (!one_page) {
        CHECK(one_page.error() == EPERM);
        std::puts("skipped: the system hides frame numbers from this process");
        return;
    }
    CHECK(*real.bus_address(one_page->base) % 4096 == 0);
    CHECK(*real.bus_address(one_page->base) != 0);
    real.release(*one_page);
}

TEST_CASE("contiguous memory: the first source that has memory provides it") {
    tests::fake_kernel kernel;
    const board fpga{MiB};
    const std::size_t open = tests::open_descriptors();
    {
        two_sources memory{cma_of(kernel), fpga.device()};
        const auto first = memory.acquire({.size = 100'000});
        REQUIRE(first);
        CHECK(memory.source_of(first->base) == 0);
        CHECK(memory.buffer_of(first->base).size == 102'400);
        kernel.refuse_with = ENOMEM;  // the heap is fragmented
        const auto second = memory.acquire({.size = 100'000, .align = 4096});
        REQUIRE(second);
        CHECK(second->size == MiB);
        CHECK(memory.source_of(second->base) == 1);
        CHECK_FALSE(memory.buffer_of(second->base));
        CHECK(*memory.bus_address(second->base, 1000) == 0x1e90'0000);
        CHECK(memory.acquire({.size = 1}).error() == EBUSY);  // the error of the last source
        kernel.refuse_with = 0;
        const auto third = memory.acquire({.size = 1});
        REQUIRE(third);
        CHECK(memory.source_of(third->base) == 0);
        CHECK(*memory.bus_address(third->base) == kernel.physical_of(memory.buffer_of(third->base).descriptor));

        // Each region has the period of its source.
        const auto in_heap = memory.access(first->base, 64, cpu_use::write);
        CHECK(in_heap);
        CHECK(kernel.syncs.size() == 1);
        {
            auto in_board = memory.access(second->base, 64, cpu_use::read);
            CHECK(in_board);
            CHECK(fpga.files.read("buffer/sync_for_cpu").substr(0, 2) == "0x");
            CHECK(in_board.end() == 0);
        }
        CHECK(fpga.files.read("buffer/sync_for_device").substr(0, 2) == "0x");
        CHECK(memory.access(&kernel, 1, cpu_use::read).error() == EINVAL);
        CHECK(memory.access(static_cast<std::byte*>(third->base) + 4095, 2, cpu_use::read).error() == EINVAL);
        CHECK(memory.source_of(&kernel) == 2);
        CHECK(memory.bus_address(&kernel).error() == EFAULT);
        memory.release(*second);
        CHECK(memory.bus_address(second->base).error() == EFAULT);
        memory.release(*first);
        memory.release(*third);
        CHECK(memory.source<1>().capacity() == MiB);
    }
    CHECK(tests::open_descriptors() == open);
}

TEST_CASE("contiguous memory: the laws, with the first source and with the second one") {
    tests::fake_kernel kernel;
    const board one{16 * KiB}, other{16 * KiB};
    bool turn = false;
    const auto make = [&] { return two_sources{cma_of(kernel), (turn = !turn) ? one.device() : other.device()}; };
    laws::judge_device(make, {.align = 8192});
    laws::judge_device(
        [&] {
            kernel.refuse_with = (turn = !turn) ? ENOMEM : 0;  // one from the board, one from the heap
            return two_sources{cma_of(kernel), turn ? one.device() : other.device()};
        },
        {.align = 4096, .at_once = 1});
    tests::seen_on_fake_driver("dma::contiguous_memory");
}

TEST_CASE("contiguous memory: a copy of tensors opens the period of each source") {
    tests::fake_kernel kernel;
    const board fpga{64 * KiB};
    allot::arena<two_sources, allot::best_fit<>> near{two_sources{cma_of(kernel), fpga.device()}, 32 * KiB};
    kernel.refuse_with = ENOMEM;
    allot::arena<two_sources, allot::best_fit<>> far{two_sources{cma_of(kernel), fpga.device()}, 32 * KiB};
    REQUIRE(near.size() == 32 * KiB);
    REQUIRE(far.size() == 64 * KiB);
    const auto a = *allot::alloc_tensor(*allot::alloc_storage(near, 4096, 64), 0, {7, 11}, allot::int32);
    const auto b = *allot::alloc_tensor(*allot::alloc_storage(far, 4096, 64), 0, {7, 11}, allot::int32);
    std::memset(a.data(), 0x19, 7 * 11 * 4);
    CHECK(allot::copy_tensor(a, b, allot::dma::mapped_copy{near.device(), far.device()}));
    CHECK(laws::host_bytes::hold({b.data(), 7 * 11 * 4, 1}, 0x19));
    CHECK(kernel.syncs.size() == 2);
    CHECK(fpga.files.read("buffer/sync_for_device").substr(0, 2) == "0x");
}

TEST_CASE("contiguous memory: requests that no source is asked for") {
    tests::fake_kernel kernel;
    const board fpga{64 * KiB};
    three_sources memory{cma_of(kernel), host_pages{}, fpga.device()};
    CHECK(memory.acquire({.size = 0}).error() == EINVAL);
    CHECK(memory.acquire({.size = 1, .align = 3}).error() == EINVAL);
    CHECK(memory.acquire({.size = static_cast<std::size_t>(-1)}).error() == ENOMEM);
    CHECK(kernel.allocations == 0);
    // The granule is that of the largest source: 2 MiB, which this board does not have.
    kernel.refuse_with = ENODEV;
    const auto held = memory.acquire({.size = 1});
    if (held) {
        CHECK(memory.source_of(held->base) == 1);  // huge pages of this machine
        memory.release(*held);
    } else {
        CHECK(held.error() == ENOMEM);
        std::puts("skipped: no huge page is free, so that huge pages are tested in their own test only");
    }
}
