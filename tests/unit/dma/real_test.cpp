// The devices of DMA buffers on the kernel's drivers, if present. The VM of tests/targets/vm has them, and its heap
// "reserved" has 32 MiB of contiguous memory. There, a missing driver is a failure (ALLOT_DMA_DRIVERS).
#include "../../devices_used.hpp"
#include "fake_kernel.hpp"

#include <allot/allot.hpp>
#include <allot/dma/bus_addressed.hpp>
#include <allot/dma/heap.hpp>
#include <allot/dma/udmabuf.hpp>

#include <cstdio>
#include <cstring>
#include <string_view>
#include <sys/wait.h>

namespace {

// clang 14 cannot link user-defined literals in templates.
constexpr std::size_t B = 1, KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;
using allot::dma::cpu_use;

using contiguous_heap = allot::dma::heap<"reserved", allot::dma::heap_options{.contiguous = true}>;
using system_heap = allot::dma::heap<"system">;
static_assert(contiguous_heap::contiguous && !system_heap::contiguous && !allot::dma::udmabuf<>::contiguous);

template <class Device>
constexpr const char* node = "/dev/udmabuf";
template <>
constexpr const char* node<contiguous_heap> = "/dev/dma_heap/reserved";
template <>
constexpr const char* node<system_heap> = "/dev/dma_heap/system";

/// Returns whether this is the VM, in which every driver must be present.
bool in_vm() { return std::getenv("ALLOT_DMA_DRIVERS") != nullptr; }

template <class Device>
bool is_absent() {
    if (::access(node<Device>, R_OK | W_OK) == 0) return false;
    CHECK_FALSE(in_vm());
    std::printf("skipped: no %s, or no permission\n", node<Device>);
    return true;
}

/// Returns the number of kB in a line of /proc/meminfo.
long kilobytes(std::string_view name) {
    std::ifstream file{"/proc/meminfo"};
    std::string word;
    while (file >> word) {
        long value = -1;
        if (word == name && file >> value) return value;
    }
    return -1;
}

unsigned char* bytes(void* at) { return static_cast<unsigned char*>(at); }

/// Finds pages in physical memory by the stamp in each page. Returns their page numbers, or nothing if the kernel does
/// not expose its memory. /proc/self/pagemap does not cover such mappings.
std::vector<std::size_t> physical_pages(void* base, std::size_t count) {
    struct stamp {
        std::uint64_t mark, page;
    };
    static std::uint64_t marks = 0x416c6c6f74 ^ static_cast<std::uint64_t>(::getpid()) << 40;
    const std::uint64_t mark = ++marks * 0x9e3779b97f4a7c15;
    for (std::size_t i = 0; i != count; ++i) {
        const stamp mine{mark, i};
        std::memcpy(bytes(base) + i * 4096, &mine, sizeof mine);
    }
    std::vector<std::size_t> found(count);
    std::size_t seen = 0;
    const int memory = ::open("/dev/mem", O_RDONLY | O_CLOEXEC);
    for (std::size_t page = 1; memory >= 0 && page != GiB / 4096; ++page) {
        stamp there{};
        if (::pread(memory, &there, sizeof there, static_cast<off_t>(page * 4096)) != sizeof there) continue;
        if (there.mark != mark || there.page >= count) continue;
        found[static_cast<std::size_t>(there.page)] = page;
        ++seen;
    }
    if (memory >= 0) ::close(memory);
    return seen == count ? found : std::vector<std::size_t>{};
}

}  // namespace

TEST_CASE_TEMPLATE("dma drivers: blocks of every alignment are writable during access", Device, contiguous_heap,
                   system_heap, allot::dma::udmabuf<>) {
    if (is_absent<Device>()) return;
    allot::arena<Device, allot::best_fit<>> memory{{}, MiB};
    REQUIRE(memory.size() == MiB);
    for (const std::size_t align : {1 * B, 32 * B, 64 * B, 256 * B, 4096 * B, 64 * KiB, 256 * KiB}) {
        const auto block = memory.allocate({.size = 1000, .align = align});
        REQUIRE(block);
        CHECK(allot::raw_pointer::position(block.address) % align == 0);
        {
            auto access = memory.device().access(block.address, block.size, cpu_use::write);
            REQUIRE(access);
            std::memset(block.address, static_cast<int>(align % 251), block.size);
            CHECK(access.end() == 0);
        }
        auto access = memory.device().access(block.address, block.size, cpu_use::read);
        REQUIRE(access);
        for (std::size_t i = 0; i != block.size; ++i) REQUIRE(bytes(block.address)[i] == align % 251);
        CHECK(access.end() == 0);
    }
}

TEST_CASE_TEMPLATE("dma drivers: regions of two devices are zeroed, aligned, and released in any order", Device,
                   contiguous_heap, system_heap, allot::dma::udmabuf<>) {
    if (is_absent<Device>()) return;
    Device one, other;
    const std::size_t open = tests::open_descriptors();
    for (int round = 0; round != 3; ++round) {
        const auto a = one.acquire({.size = 5000, .align = 32}), b = one.acquire({.size = MiB, .align = 2 * MiB});
        const auto c = other.acquire({.size = 4096}), d = other.acquire({.size = 1, .align = 1});
        REQUIRE((a && b && c && d));
        CHECK(a->size == 8192);
        CHECK(allot::raw_pointer::position(b->base) % (2 * MiB) == 0);
        for (const auto& each : {*a, *b, *c, *d}) {
            for (std::size_t i = 0; i != each.size; ++i) REQUIRE(bytes(each.base)[i] == 0);
            std::memset(each.base, 0xEE, each.size);
        }
        CHECK_FALSE(one.buffer_of(c->base));
        one.release(*a);
        other.release(*d);
        other.release(*c);
        one.release(*b);
    }
    CHECK(tests::open_descriptors() == open);
    CHECK(one.acquire({.size = 0}).error() == EINVAL);
    CHECK(one.acquire({.size = 1, .align = 3}).error() == EINVAL);
    CHECK(one.acquire({.size = static_cast<std::size_t>(-1)}).error() == ENOMEM);
}

TEST_CASE_TEMPLATE("dma drivers: two users of one buffer see the same bytes", Device, contiguous_heap, system_heap,
                   allot::dma::udmabuf<>) {
    if (is_absent<Device>()) return;
    allot::arena<Device, allot::best_fit<>> memory{{}, 64 * KiB};
    const auto skipped = memory.allocate({.size = 5000}), block = memory.allocate({.size = 1000, .align = 32});
    REQUIRE((skipped && block));
    const allot::dma::buffer buffer = memory.device().buffer_of(block.address);
    REQUIRE(buffer);

    // Through a duplicate descriptor, as another process would receive it.
    const int kept = ::dup(buffer.descriptor);
    void* const again = ::mmap(nullptr, buffer.size, PROT_READ | PROT_WRITE, MAP_SHARED, kept, 0);
    REQUIRE(again != MAP_FAILED);
    std::memset(block.address, 42, block.size);
    {
        const allot::dma::cpu_access access{allot::dma::buffer_sync{kept, cpu_use::read}};
        CHECK(access);
        CHECK(std::memcmp(bytes(again) + buffer.offset, block.address, block.size) == 0);
    }
    ::close(kept);

    // From another process, which writes through its own copy of the device.
    if (const pid_t child = ::fork(); child == 0) {
        const auto access = memory.device().access(block.address, block.size, cpu_use::read_write);
        const bool seen = access && bytes(block.address)[999] == 42;
        bytes(block.address)[999] = 43;
        ::_exit(seen ? 0 : 1);
    } else {
        int status = -1;
        ::waitpid(child, &status, 0);
        CHECK(status == 0);
    }
    CHECK(bytes(block.address)[999] == 43);
    CHECK(bytes(again)[buffer.offset + 999] == 43);
    ::munmap(again, buffer.size);
}

TEST_CASE("dma drivers: the contiguous heap serves regions until its memory is exhausted") {
    if (is_absent<contiguous_heap>()) return;
    if (!in_vm()) {
        std::puts("skipped: only the VM has a known amount of contiguous memory without other users");
        return;
    }
    REQUIRE(kilobytes("CmaTotal:") == 32 * 1024);
    contiguous_heap device;
    // This request also makes the kernel account for memory that it still keeps from earlier regions.
    const auto first = *device.acquire({.size = 4096});
    allot::region<void*> held[8];
    const long before = kilobytes("CmaFree:");
    for (auto& each : held) each = *device.acquire({.size = MiB});
    CHECK(before - kilobytes("CmaFree:") == 8192);
    for (const auto& each : held) device.release(each);

    {  // 4 KiB are in use, so 32 MiB do not fit
        const allot::arena<contiguous_heap, allot::best_fit<>> all{{}, 32 * MiB};
        CHECK(all.size() == 0);
        CHECK(all.diagnose({.size = 1}) == allot::diagnosis{allot::refusal::device_refused, 0, ENOMEM});
    }
    // A growing arena exhausts the heap. It keeps its regions, and after a release it can grow again.
    using growth = allot::growth::fixed<allot::growth_options{.step = 4 * MiB, .regions = 32}>;
    allot::arena<contiguous_heap, allot::best_fit<>, growth> memory;
    std::vector<decltype(memory)::block_type> blocks;
    while (const auto block = memory.allocate({.size = 4 * MiB})) blocks.push_back(block);
    CHECK((blocks.size() >= 2 && blocks.size() < 8));
    CHECK(memory.diagnose({.size = 4 * MiB}) == allot::diagnosis{allot::refusal::device_refused, 0, ENOMEM});
    for (const auto& block : blocks) bytes(block.address)[4 * MiB - 1] = 1;
    for (const auto& block : blocks) memory.deallocate(block);
    CHECK(memory.trim() == blocks.size() * 4 * MiB);
    CHECK(memory.allocate({.size = 4 * MiB}));
    device.release(first);
}

TEST_CASE("dma drivers: a region of a contiguous heap is physically contiguous and aligned") {
    if (is_absent<contiguous_heap>()) return;
    contiguous_heap device;
    const auto held = *device.acquire({.size = 2 * MiB, .align = MiB});
    REQUIRE(held);
    const std::vector<std::size_t> pages = physical_pages(held.base, 512);
    if (pages.empty()) {
        CHECK_FALSE(in_vm());
        std::puts("skipped: the kernel does not expose physical memory");
    } else {
        CHECK(pages[0] % (MiB / 4096) == 0);
        for (std::size_t i = 0; i != pages.size(); ++i) REQUIRE(pages[i] == pages[0] + i);
    }
    device.release(held);
}

TEST_CASE("dma drivers: bus addresses of a contiguous heap, found by stamps, and by the system if it shows them") {
    if (is_absent<contiguous_heap>()) return;
    if (!in_vm()) {
        std::puts("skipped: the test examines physical memory only in the VM");
        return;
    }
    struct stamps {
        [[nodiscard]] allot::result<allot::dma::physical_buffer, int> find(const allot::dma::buffer& of,
                                                                           void* base) const noexcept {
            const std::vector<std::size_t> pages = physical_pages(base, of.size / 4096);
            if (pages.empty()) return allot::result<allot::dma::physical_buffer, int>::failure(EIO);
            return allot::dma::physical_buffer{std::uint64_t{pages[0]} * 4096};
        }
    };
    allot::arena<allot::dma::bus_addressed<contiguous_heap, stamps>, allot::best_fit<>> memory{{}, MiB};
    REQUIRE(memory.size() == MiB);
    const auto block = memory.allocate({.size = 40'000, .align = 64});
    REQUIRE(block);
    const std::uint64_t bus = memory.device().bus_address(block.address, block.size).value();
    const std::uint64_t mark = 0x616c6c6f74'616c6c;
    auto* const last = static_cast<std::byte*>(block.address) + 39'992;
    std::memcpy(last, &mark, sizeof mark);
    std::uint64_t seen = 0;
    const int physical = ::open("/dev/mem", O_RDONLY | O_CLOEXEC);
    CHECK(::pread(physical, &seen, sizeof seen, static_cast<off_t>(bus + 39'992)) == sizeof seen);
    ::close(physical);
    CHECK(seen == mark);
    memory.deallocate(block);

    allot::dma::bus_addressed<contiguous_heap, allot::dma::page_frames> by_frames;
    const auto held = by_frames.acquire({.size = 64 * KiB});
    if (held) {  // before Linux 6.9
        CHECK(by_frames.bus_address(held->base).value() % 4096 == 0);
        by_frames.release(*held);
    } else {
        CHECK(held.error() == EIO);
    }
    allot::dma::bus_addressed<contiguous_heap, allot::dma::physical_request> by_request;
    CHECK(by_request.acquire({.size = 64 * KiB}).error() == ENOTTY);  // only NXP's kernels answer
    tests::seen("dma::bus_addressed");
}

TEST_CASE("dma drivers: a udmabuf above the driver's limit is an error") {
    if (is_absent<allot::dma::udmabuf<>>()) return;
    if (!in_vm()) {
        std::puts("skipped: the driver's limit is known only in the VM");
        return;
    }
    const allot::arena<allot::dma::udmabuf<>, allot::best_fit<>> memory{{}, 65 * MiB};
    CHECK(memory.size() == 0);
    CHECK(memory.diagnose({.size = 1}) == allot::diagnosis{allot::refusal::device_refused, 0, EINVAL});
}

TEST_CASE("dma drivers: the pages of a udmabuf are not contiguous") {
    if (is_absent<allot::dma::udmabuf<>>()) return;
    if (!in_vm()) {
        std::puts("skipped: the test examines physical memory only in the VM");
        return;
    }
    // Every second of many single pages becomes free. The kernel uses these before it splits larger pieces.
    allot::dma::udmabuf<allot::dma::udmabuf_options{.regions = 800}> device;
    std::vector<allot::region<void*>> single;
    for (std::size_t i = 0; i != 800; ++i) single.push_back(*device.acquire({.size = 4096}));
    for (std::size_t i = 0; i != 800; i += 2) device.release(std::exchange(single[i], {}));
    const auto held = *device.acquire({.size = MiB});
    REQUIRE(held);
    const std::vector<std::size_t> pages = physical_pages(held.base, 256);
    REQUIRE(pages.size() == 256);
    std::size_t breaks = 0;
    for (std::size_t i = 1; i != pages.size(); ++i) breaks += pages[i] == pages[i - 1] + 1 ? 0U : 1U;
    CHECK(breaks > 0);
    device.release(held);
    for (const auto& each : single) {
        if (each) device.release(each);
    }
}
