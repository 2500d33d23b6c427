// u_dma_buf on files: a directory with the driver's attributes, and an ordinary file for the buffer.
#include "../../error_of.hpp"
#include "fake_kernel.hpp"

#include <allot/allot.hpp>
#include <allot/dma/u_dma_buf.hpp>

#include <cstring>

namespace {

using namespace allot::literals;
using allot::dma::cpu_use;

constexpr allot::dma::u_dma_buf_options coherent{.coherent = true};
static_assert(allot::dma::u_dma_buf<>::contiguous && !allot::dma::u_dma_buf<>::host_accessible);
static_assert(allot::dma::u_dma_buf<coherent>::host_accessible);
static_assert(!allot::arena<allot::dma::u_dma_buf<>, allot::best_fit<>>::strategy_type::in_band);

/// The files of a driver that was loaded with one buffer.
struct board {
    tests::temporary_directory attributes, nodes;

    board(const std::string& physical, std::uint64_t size, const std::string& is_coherent = "0\n") {
        std::filesystem::create_directory(attributes / "udmabuf0");
        attributes.write("udmabuf0/phys_addr", physical);
        attributes.write("udmabuf0/size", std::to_string(size) + "\n");
        attributes.write("udmabuf0/dma_coherent", is_coherent);
        hand_over();
        nodes.write("udmabuf0", "");
        std::filesystem::resize_file(nodes / "udmabuf0", (size + 4095) / 4096 * 4096);
    }
    void hand_over() const {
        attributes.write("udmabuf0/sync_for_cpu", "");
        attributes.write("udmabuf0/sync_for_device", "");
    }
    [[nodiscard]] allot::dma::u_dma_buf_paths paths() const {
        return {attributes.path().c_str(), nodes.path().c_str()};
    }
    template <allot::dma::u_dma_buf_options Options = allot::dma::u_dma_buf_options{}>
    [[nodiscard]] allot::dma::u_dma_buf<Options> device(std::uint64_t bus_offset = 0) const {
        return allot::dma::u_dma_buf<Options>{"udmabuf0", bus_offset, paths()};
    }
    /// Returns the error of an acquisition.
    [[nodiscard]] int refusal(std::uint64_t bus_offset = 0) const {
        return error_of(device(bus_offset).acquire({.size = 1, .align = 1}));
    }
    [[nodiscard]] std::string for_cpu() const { return attributes.read("udmabuf0/sync_for_cpu"); }
    [[nodiscard]] std::string for_device() const { return attributes.read("udmabuf0/sync_for_device"); }
};

}  // namespace

TEST_CASE("u_dma_buf: the whole buffer is one region, and every byte has a bus address") {
    const board one{"0x1e900000\n", 1_MiB};
    allot::arena<allot::dma::u_dma_buf<>, allot::best_fit<>> memory{one.device()};
    CHECK(memory.size() == 1_MiB);
    CHECK(memory.device().capacity() == 1_MiB);
    const auto a = memory.allocate({.size = 1000, .align = 32}), b = memory.allocate({.size = 4096, .align = 4096});
    REQUIRE((a && b));
    const auto base = memory.regions()[0].base;
    for (const auto& block : {a, b}) {
        const std::size_t offset = allot::raw_pointer::position(block.address) - allot::raw_pointer::position(base);
        CHECK(memory.device().bus_address(block.address) == 0x1e900000 + offset);
    }
    CHECK(*memory.device().bus_address(b.address) % 4096 == 0);
    const auto last = allot::raw_pointer::locate(base, 1_MiB - 1);
    CHECK(memory.device().bus_address(last) == 0x1e9fffff);
    CHECK_FALSE(memory.device().bus_address(allot::raw_pointer::locate(base, 1_MiB)));
    CHECK_FALSE(memory.device().bus_address(&memory));
    CHECK_FALSE(memory.device().bus_address(nullptr));
    CHECK_FALSE(one.device().bus_address(base));  // not acquired
}

TEST_CASE("u_dma_buf: the bus offset is added, and addresses have 64 bits") {
    const auto bus = [](const board& on, std::uint64_t offset) {
        auto device = on.device(offset);
        const auto held = device.acquire({.size = 1, .align = 1});
        REQUIRE(held);
        const auto address = device.bus_address(held->base);
        device.release(*held);
        return address;
    };
    CHECK(bus(board{"0x1e900000\n", 1_MiB}, 0x80000000) == 0x9e900000);
    CHECK(bus(board{"0x0000000ff0000000\n", 1_MiB}, 0) == 0xff0000000);
    CHECK(bus(board{"0x0000000ff0000000\n", 1_MiB}, 0xf000000000000000) == 0xf000000ff0000000);
    CHECK(bus(board{"0xffffffffffefe000\n", 1_MiB}, 0x1000) == 0xffffffffffeff000);
    // The address behind the last byte would exceed 64 bits.
    CHECK(board{"0xffffffffffefe000\n", 1_MiB}.refusal(0x3000) == EOVERFLOW);
    CHECK(board{"0xfffffffffffff000\n", 1_MiB}.refusal(0x1000) == EOVERFLOW);
    CHECK(board{"0x1e900000\n", 1_MiB}.refusal(0x10) == EINVAL);
}

TEST_CASE("u_dma_buf: an alignment applies to the bus address") {
    // A multiple of 4 KiB, but not of 8 KiB.
    const board odd{"0x1e905000\n", 1_MiB};
    allot::arena<allot::dma::u_dma_buf<>, allot::best_fit<>> memory{odd.device()};
    for (const std::size_t align : {1_B, 32_B, 256_B, 4096_B, 8192_B, 64_KiB, 256_KiB}) {
        const auto block = memory.allocate({.size = 10, .align = align});
        REQUIRE(block);
        CHECK(allot::raw_pointer::position(block.address) % align == 0);
        CHECK(*memory.device().bus_address(block.address) % align == 0);
        std::memset(block.address, 1, block.size);
    }
    // The buffer contains no bus address that is a multiple of 1 GiB, whatever the alignment of its mapping.
    CHECK_FALSE(memory.allocate({.size = 1, .align = 1_GiB}));

    // The region begins at the first suitably aligned byte, also for an alignment above that of every mapping.
    const board high{"0x3ffff000\n", 1_MiB};
    auto device = high.device();
    const auto held = device.acquire({.size = 4096, .align = 1_GiB});
    REQUIRE(held);
    CHECK(device.bus_address(held->base) == 0x40000000);
    CHECK(held->align >= 1_GiB);
    CHECK(held->size == 1_MiB - 4096);
    std::memset(held->base, 1, held->size);
    device.release(*held);

    // The region is as aligned as the less aligned of its two addresses.
    const auto page = device.acquire({.size = 4096, .align = 1});
    REQUIRE(page);
    CHECK(page->align == 4096);
    device.release(*page);
    CHECK(device.acquire({.size = 1_MiB, .align = 1_GiB}).error() == ENOMEM);
    CHECK(device.acquire({.size = 1, .align = 2_GiB}).error() == ENOMEM);
}

TEST_CASE("u_dma_buf: a failed acquire reports errno, and a later acquire succeeds") {
    const board one{"0x1e900000\n", 64_KiB};
    auto device = one.device();
    CHECK(device.acquire({.size = 0}).error() == EINVAL);
    CHECK(device.acquire({.size = 1, .align = 0}).error() == EINVAL);
    CHECK(device.acquire({.size = 1, .align = 24}).error() == EINVAL);
    CHECK(device.acquire({.size = 64_KiB + 1}).error() == ENOMEM);
    CHECK(device.acquire({.size = static_cast<std::size_t>(-1)}).error() == ENOMEM);
    const auto held = device.acquire({.size = 64_KiB});
    REQUIRE(held);
    CHECK(device.acquire({.size = 1}).error() == EBUSY);
    device.release(*held);
    const auto again = device.acquire({.size = 1});
    REQUIRE(again);
    CHECK(again->size == 64_KiB);
    device.release(*again);

    const allot::arena<allot::dma::u_dma_buf<>, allot::best_fit<>> large{one.device(), 65_KiB};
    CHECK(large.diagnose({.size = 1}) == allot::diagnosis{allot::refusal::device_refused, 0, ENOMEM});
}

TEST_CASE("u_dma_buf: without a driver or with malformed attributes, the arena reports errno") {
    using arena = allot::arena<allot::dma::u_dma_buf<>, allot::best_fit<>>;
    const arena absent{allot::dma::u_dma_buf<>{"udmabuf0", 0, {"/no such directory", "/dev"}}};
    CHECK(absent.size() == 0);
    CHECK(absent.diagnose({.size = 1}) == allot::diagnosis{allot::refusal::device_refused, 0, ENOENT});
    const board one{"0x1e900000\n", 64_KiB};
    CHECK(allot::dma::u_dma_buf<>("udmabuf1", 0, one.paths()).acquire({.size = 1}).error() == ENOENT);
    CHECK(
        allot::dma::u_dma_buf<>("udmabuf0", 0, {one.attributes.path().c_str(), "/dev"}).acquire({.size = 1}).error() ==
        ENOENT);

    for (const char* nonsense : {"", "\n", "0x\n", "none\n", "0x1e9000zz\n", "-4096\n"})
        CHECK(board{nonsense, 64_KiB}.refusal() == EBADMSG);
    CHECK(board{"0x1ffffffffffffffff\n", 64_KiB}.refusal() == EOVERFLOW);
    CHECK(board{"4096\n", 64_KiB}.refusal() == 0);
    CHECK(board{"0x1e900000\n", 0}.refusal() == ENOMEM);
    CHECK(board{"0x1e900000\n", 15}.refusal() == ENOMEM);
    one.attributes.write("udmabuf0/size", "18446744073709551615\n");
    CHECK(one.refusal() == EOVERFLOW);
    std::filesystem::remove(one.attributes / "udmabuf0/size");
    CHECK(one.refusal() == ENOENT);
    const std::size_t open = tests::open_descriptors();
    CHECK(one.refusal() == ENOENT);
    CHECK(tests::open_descriptors() == open);
}

TEST_CASE("u_dma_buf: the coherent option must match the driver's attribute") {
    CHECK(board{"0x1e900000\n", 64_KiB, "1\n"}.device<coherent>().acquire({.size = 1}));
    CHECK(board{"0x1e900000\n", 64_KiB, "0\n"}.device<coherent>().acquire({.size = 1}).error() == ENOTSUP);
    const board old{"0x1e900000\n", 64_KiB};
    std::filesystem::remove(old.attributes / "udmabuf0/dma_coherent");
    CHECK(old.device<coherent>().acquire({.size = 1}).error() == ENOENT);
    CHECK(old.refusal() == 0);
}

TEST_CASE("u_dma_buf: access transfers the requested bytes, in the driver's units, and returns them") {
    const board one{"0x1e900000\n", 1_MiB};
    allot::arena<allot::dma::u_dma_buf<>, allot::bump<allot::bump_options{.direction = allot::direction::up}>> memory{
        one.device()};
    const auto skipped = memory.allocate({.size = 0x2345, .align = 1});
    const auto block = memory.allocate({.size = 100, .align = 1});  // from 0x2345 to 0x23a9: 0x2340 to 0x23b0
    REQUIRE((skipped && block));
    for (const auto& [use, command] :
         {std::pair{cpu_use::write, "0x234000000075"}, std::pair{cpu_use::read, "0x234000000079"},
          std::pair{cpu_use::read_write, "0x234000000071"}}) {
        one.hand_over();
        {
            const auto access = memory.device().access(block.address, block.size, use);
            CHECK(access);
            CHECK(one.for_cpu() == command);
            CHECK(one.for_device() == "");
        }
        CHECK(one.for_device() == command);
    }
    const auto base = memory.regions()[0].base;
    const auto all = memory.device().access(base, 1_MiB, cpu_use::read_write);
    CHECK((all && one.for_cpu().starts_with("0x100001")));

    one.hand_over();
    for (const auto& [at, size] :
         {std::pair{base, 1_MiB + 1}, std::pair{base, 0_B}, std::pair{allot::raw_pointer::locate(base, 1), 1_MiB},
          std::pair{base, static_cast<std::size_t>(-1)}, std::pair{static_cast<void*>(&memory), 1_B}}) {
        const auto access = memory.device().access(at, size, cpu_use::write);
        CHECK((!access && access.error() == EINVAL));
    }
    CHECK(one.for_cpu() == "");
    std::filesystem::remove(one.attributes / "udmabuf0/sync_for_cpu");
    CHECK(memory.device().access(base, 16, cpu_use::write).error() == ENOENT);
}

TEST_CASE("u_dma_buf: the bytes after the last multiple of 16 stay unused") {
    const board one{"0x1e900000\n", 1000};
    allot::arena<allot::dma::u_dma_buf<>, allot::bump<>> memory{one.device()};
    CHECK(memory.size() == 992);
    const auto block = memory.allocate({.size = 992, .align = 1});
    REQUIRE(block);
    CHECK(memory.device().access(block.address, block.size, cpu_use::read));
    CHECK(one.for_cpu() == "0x3e9");
}

TEST_CASE("u_dma_buf: access from 4 GiB on is an error, because the driver counts in 32 bits") {
    if constexpr (sizeof(std::size_t) > 4) {
        constexpr auto four = static_cast<std::size_t>(std::uint64_t{1} << 32);
        const board large{"0x100000000\n", four + 1_MiB};
        auto device = large.device();
        const auto held = device.acquire({.size = four});
        REQUIRE(held);
        const auto error = [&](std::size_t offset, std::size_t size) {
            return device.access(allot::raw_pointer::locate(held->base, offset), size, cpu_use::read).error();
        };
        CHECK(error(four - 16, 16) == 0);
        CHECK(error(four - 16, 1_MiB) == 0);
        CHECK(error(0, four - 16) == 0);
        CHECK(error(four, 16) == EOVERFLOW);
        CHECK(error(0, four) == EOVERFLOW);
        CHECK(device.bus_address(allot::raw_pointer::locate(held->base, four)) == 2 * four);
        device.release(*held);
    }
}

TEST_CASE("u_dma_buf: two buffers are distinct, and another mapping of one has the same bytes") {
    const board one{"0x1e900000\n", 64_KiB}, other{"0x1f000000\n", 64_KiB};
    allot::arena<allot::dma::u_dma_buf<>, allot::best_fit<>> first{one.device()}, second{other.device()};
    const auto a = first.allocate({.size = 1000}), b = second.allocate({.size = 1000});
    REQUIRE((a && b));
    CHECK_FALSE(first.device().bus_address(b.address));
    std::memset(a.address, 1, a.size);
    std::memset(b.address, 2, b.size);
    std::string file = one.nodes.read("udmabuf0");
    const std::uint64_t at = *first.device().bus_address(a.address) - 0x1e900000;
    CHECK(file.substr(static_cast<std::size_t>(at), 1000) == std::string(1000, '\1'));
    CHECK(file.find('\2') == std::string::npos);

    auto moved = std::move(first);
    CHECK(moved.device().bus_address(a.address) == 0x1e900000 + at);
    moved.deallocate(a);
    second.deallocate(b);
}
