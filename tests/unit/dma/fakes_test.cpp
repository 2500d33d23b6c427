// The devices of DMA buffers on a fake kernel: their requests, and their handling of its answers.
#include "fake_ioctl.hpp"

#include <allot/allot.hpp>
#include <allot/dma/copy.hpp>
#include <allot/dma/heap.hpp>
#include <allot/dma/udmabuf.hpp>
#include <allot/tensor.hpp>

#include <cstring>

namespace {

// clang 14 cannot link user-defined literals in templates.
constexpr std::size_t B = 1, KiB = 1024, MiB = 1024 * KiB;
using allot::dma::cpu_use;
using tests::fake_kernel;

using heap = allot::dma::heap<"reserved", allot::dma::heap_options{.regions = 3}>;
using coherent_heap = allot::dma::heap<"reserved", allot::dma::heap_options{.contiguous = true, .coherent = true}>;
using udmabuf = allot::dma::udmabuf<allot::dma::udmabuf_options{.regions = 3}>;
using coherent_udmabuf = allot::dma::udmabuf<allot::dma::udmabuf_options{.coherent = true}>;

static_assert(!heap::contiguous && coherent_heap::contiguous && !udmabuf::contiguous);
static_assert(!heap::host_accessible && coherent_heap::host_accessible);
static_assert(!udmabuf::host_accessible && coherent_udmabuf::host_accessible);
static_assert(heap::dl_device == allot::dl_device_type::ext_dev);
static_assert(coherent_heap::dl_device == allot::dl_device_type::cpu);
// Without permanent CPU access, strategies keep their records outside the memory.
static_assert(!allot::arena<heap, allot::best_fit<>>::strategy_type::in_band);
static_assert(allot::arena<coherent_heap, allot::best_fit<>>::strategy_type::in_band);

template <class Device>
Device on(const fake_kernel& kernel) {
    return Device{std::same_as<Device, udmabuf> ? kernel.udmabuf() : kernel.heaps()};
}
unsigned char* bytes(void* at) { return static_cast<unsigned char*>(at); }
void* behind(void* at, std::size_t n) { return bytes(at) + n; }
constexpr auto most = static_cast<std::size_t>(-1);

}  // namespace

TEST_CASE_TEMPLATE("dma buffers: whole pages, zeroed, and aligned as requested", Device, heap, udmabuf) {
    const fake_kernel kernel;
    auto device = on<Device>(kernel);
    for (const std::size_t align : {1 * B, 32 * B, 4096 * B, 64 * KiB, 4 * MiB}) {
        const auto answer = device.acquire({.size = 5000, .align = align});
        REQUIRE(answer);
        CHECK(answer->size >= 8192);
        CHECK(answer->size % 4096 == 0);
        CHECK(answer->align >= align);
        CHECK(allot::raw_pointer::position(answer->base) % (align < 4096 ? 4096 : align) == 0);
        for (std::size_t i = 0; i != answer->size; ++i) REQUIRE(bytes(answer->base)[i] == 0);
        std::memset(answer->base, 1, answer->size);
        device.release(*answer);
    }
}

TEST_CASE_TEMPLATE("dma buffers: an invalid or oversized layout does not reach the kernel", Device, heap, udmabuf) {
    const fake_kernel kernel;
    auto device = on<Device>(kernel);
    CHECK(device.acquire({.size = 0}).error() == EINVAL);
    CHECK(device.acquire({.size = 1, .align = 0}).error() == EINVAL);
    CHECK(device.acquire({.size = 1, .align = 3}).error() == EINVAL);
    CHECK(device.acquire({.size = most}).error() == ENOMEM);
    CHECK(device.acquire({.size = most - 4095}).error() == ENOMEM);
    CHECK(device.acquire({.size = most / 2 + 1}).error() == ENOMEM);
    CHECK(kernel.allocations == 0);
    // If no addresses satisfy the alignment, the device closes the buffer that the kernel returned.
    const std::size_t open = tests::open_descriptors();
    CHECK(device.acquire({.size = most / 2 - 4095, .align = most / 2 + 1}).error() == ENOMEM);
    CHECK(tests::open_descriptors() == open);
}

TEST_CASE_TEMPLATE("dma buffers: a failed acquire reports the driver's error and leaves nothing open", Device, heap,
                   udmabuf) {
    fake_kernel kernel;
    const std::size_t open = tests::open_descriptors();
    for (const int reason : {ENOMEM, ENODEV, EINTR}) {
        kernel.refuse_with = reason;
        const allot::arena<Device, allot::best_fit<>> memory{on<Device>(kernel), MiB};
        CHECK(memory.size() == 0);
        CHECK(memory.diagnose({.size = 1}) == allot::diagnosis{allot::refusal::device_refused, 0, reason});
    }
    CHECK(tests::open_descriptors() == open);

    kernel.refuse_with = 0;
    kernel.unmappable = true;
    auto device = on<Device>(kernel);
    CHECK(device.acquire({.size = 1}).error() == EACCES);
    CHECK(device.acquire({.size = 1, .align = MiB}).error() == EACCES);
    CHECK(tests::open_descriptors() == open);
}

TEST_CASE("dma buffers: a missing or foreign node is an error") {
    CHECK(allot::dma::heap<"no such heap">{"/dev"}.acquire({.size = 1}).error() == ENOENT);
    CHECK(allot::dma::heap<"reserved">{"/no such directory"}.acquire({.size = 1}).error() == ENOENT);
    CHECK(allot::dma::heap<"null">{"/dev"}.acquire({.size = 1}).error() == ENOTTY);
    CHECK(allot::dma::udmabuf<>{"/dev/no such driver"}.acquire({.size = 1}).error() == ENOENT);
    CHECK(allot::dma::udmabuf<>{"/dev/null"}.acquire({.size = 1}).error() == ENOTTY);
}

TEST_CASE_TEMPLATE("dma buffers: buffer_of finds the descriptor of every byte of a buffer and of no other byte", Device,
                   heap, udmabuf) {
    const fake_kernel kernel;
    auto one = on<Device>(kernel), other = on<Device>(kernel);
    const auto a = *one.acquire({.size = 8192}), b = *one.acquire({.size = 4096}), c = *other.acquire({.size = 4096});
    const allot::dma::buffer of_a = one.buffer_of(a.base), of_b = one.buffer_of(b.base);
    CHECK(of_a == allot::dma::buffer{of_a.descriptor, 0, 8192});
    CHECK(of_b == allot::dma::buffer{of_b.descriptor, 0, 4096});
    CHECK((of_a.descriptor >= 0 && of_b.descriptor >= 0 && of_a.descriptor != of_b.descriptor));
    CHECK(one.buffer_of(behind(a.base, 8191)) == allot::dma::buffer{of_a.descriptor, 8191, 8192});
    CHECK(one.buffer_of(a.base, 8192) == of_a);
    CHECK_FALSE(one.buffer_of(a.base, 8193));
    CHECK_FALSE(one.buffer_of(a.base, most));
    CHECK_FALSE(one.buffer_of(c.base));
    CHECK_FALSE(one.buffer_of(nullptr));
    CHECK(other.buffer_of(c.base));

    // A release in order of acquisition keeps the other buffers.
    one.release(a);
    CHECK_FALSE(one.buffer_of(a.base));
    CHECK(one.buffer_of(b.base) == of_b);
    CHECK(::fcntl(of_a.descriptor, F_GETFD) == -1);
    CHECK(::fcntl(of_b.descriptor, F_GETFD) == FD_CLOEXEC);
    one.release(b);
    CHECK(::fcntl(of_b.descriptor, F_GETFD) == -1);
    other.release(c);
}

TEST_CASE_TEMPLATE("dma buffers: a full device does not ask the kernel", Device, heap, udmabuf) {
    const fake_kernel kernel;
    auto device = on<Device>(kernel);
    allot::region<void*> held[3];
    for (auto& each : held) each = *device.acquire({.size = 4096});
    CHECK(device.acquire({.size = 4096}).error() == EMFILE);
    CHECK(kernel.allocations == 3);
    device.release(held[1]);
    held[1] = *device.acquire({.size = 4096});
    CHECK(held[1]);
    for (const auto& each : {held[2], held[0], held[1]}) device.release(each);
}

TEST_CASE_TEMPLATE("dma buffers: another mapping of the descriptor has the same bytes", Device, heap, udmabuf) {
    const fake_kernel kernel;
    allot::arena<Device, allot::best_fit<>> memory{on<Device>(kernel), 64 * KiB};
    const auto skipped = memory.allocate({.size = 100});
    const auto block = memory.allocate({.size = 1000, .align = 32});
    REQUIRE((skipped && block));
    const allot::dma::buffer buffer = memory.device().buffer_of(block.address);
    CHECK(buffer.size == 64 * KiB);
    CHECK(buffer.offset % 32 == 0);
    const int kept = ::dup(buffer.descriptor);
    void* const again = ::mmap(nullptr, buffer.size, PROT_READ | PROT_WRITE, MAP_SHARED, kept, 0);
    ::close(kept);
    REQUIRE(again != MAP_FAILED);
    std::memset(block.address, 42, block.size);
    CHECK(std::memcmp(behind(again, buffer.offset), block.address, block.size) == 0);
    bytes(again)[buffer.offset] = 7;
    CHECK(bytes(block.address)[0] == 7);
    ::munmap(again, buffer.size);
}

TEST_CASE_TEMPLATE("dma buffers: CPU access begins and ends with its direction", Device, heap, udmabuf) {
    fake_kernel kernel;
    allot::arena<Device, allot::best_fit<>> memory{on<Device>(kernel), 64 * KiB};
    const auto block = memory.allocate({.size = 1000});
    constexpr std::uint64_t start = DMA_BUF_SYNC_START, end = DMA_BUF_SYNC_END;
    for (const auto& [use, flags] : {std::pair{cpu_use::read, std::uint64_t{DMA_BUF_SYNC_READ}},
                                     std::pair{cpu_use::write, std::uint64_t{DMA_BUF_SYNC_WRITE}},
                                     std::pair{cpu_use::read_write, std::uint64_t{DMA_BUF_SYNC_RW}}}) {
        kernel.syncs.clear();
        {
            const auto access = memory.device().access(block.address, block.size, use);
            CHECK((access && access.error() == 0));
            CHECK(kernel.syncs == std::vector{start | flags});
        }
        CHECK(kernel.syncs == std::vector{start | flags, end | flags});
    }

    // An interrupted call is repeated. An access that was ended early or moved ends once.
    kernel.syncs.clear();
    kernel.sync_errors = {EINTR, EAGAIN, 0, EINTR, 0};
    {
        auto first = memory.device().access(block.address, block.size, cpu_use::read);
        CHECK(kernel.sync_errors.size() == 2);
        auto moved = std::move(first);
        CHECK((moved && !first));
        CHECK(moved.end() == 0);
        CHECK(moved.end() == 0);
    }
    CHECK((kernel.sync_errors.empty() && kernel.syncs.size() == 2));

    // A failure is reported, and an access that did not begin does not end.
    kernel.syncs.clear();
    kernel.sync_errors = {EIO};
    {
        const auto access = memory.device().access(block.address, block.size, cpu_use::read);
        CHECK((!access && access.error() == EIO));
    }
    CHECK(kernel.syncs.empty());
    kernel.sync_errors = {0, EIO};
    CHECK(memory.device().access(block.address, block.size, cpu_use::read).end() == EIO);
    void* const elsewhere = &kernel;
    for (const auto& [at, size] : {std::pair{elsewhere, 1 * B}, std::pair{block.address, 65 * KiB}}) {
        const auto access = memory.device().access(at, size, cpu_use::write);
        CHECK((!access && access.error() == EINVAL));
    }
}

TEST_CASE_TEMPLATE("dma buffers: each block of naive has its own descriptor, also from a cache", Device, heap,
                   udmabuf) {
    const fake_kernel kernel;
    allot::naive<allot::cached<Device>> memory{allot::cached<Device>{on<Device>(kernel)}};
    const auto a = memory.allocate({.size = 1000}), b = memory.allocate({.size = 1000, .align = 8192});
    REQUIRE((a && b));
    const auto descriptor = [&](const auto& block) {
        return memory.device().device().buffer_of(block.address).descriptor;
    };
    const int of_a = descriptor(a);
    CHECK((of_a >= 0 && descriptor(b) >= 0 && of_a != descriptor(b)));
    memory.deallocate(a);
    const auto again = memory.allocate({.size = 900});
    CHECK(descriptor(again) == of_a);
    CHECK(kernel.allocations == 2);
    memory.deallocate(again);
    memory.deallocate(b);
    CHECK(memory.trim() == 8192);
    CHECK(descriptor(a) == -1);
}

TEST_CASE_TEMPLATE("dma buffers: they move with their arena", Device, heap, udmabuf) {
    const fake_kernel kernel;
    using growth = allot::growth::fixed<allot::growth_options{.step = 4096, .regions = 2}>;
    allot::arena<Device, allot::best_fit<>, growth> memory{on<Device>(kernel)};
    const auto a = memory.allocate({.size = 4096}), b = memory.allocate({.size = 4096});
    REQUIRE((a && b));
    const int of_b = memory.device().buffer_of(b.address).descriptor;
    auto moved = std::move(memory);
    CHECK_FALSE(memory.device().buffer_of(b.address));
    CHECK(moved.device().buffer_of(b.address).descriptor == of_b);
    moved.deallocate(a);
    CHECK(moved.trim() == 4096);
    CHECK(moved.device().buffer_of(b.address).descriptor == of_b);
    CHECK_FALSE(moved.device().buffer_of(a.address));
}

TEST_CASE("dma copy: the CPU has access to the buffers during a copy") {
    fake_kernel kernel;
    allot::arena<heap, allot::best_fit<>> one{on<heap>(kernel), 64 * KiB};
    allot::arena<udmabuf, allot::best_fit<>> other{on<udmabuf>(kernel), 64 * KiB};
    allot::arena<allot::host::heap, allot::best_fit<>> host{{}, 64 * KiB};
    const auto tensor_in = [](auto& memory) {
        return *allot::alloc_tensor(*allot::alloc_storage(memory, 4096), 0, {4096}, allot::uint8);
    };
    const auto in = tensor_in(host), out = tensor_in(host);
    const auto a = tensor_in(one);
    const auto b = tensor_in(other);
    std::memset(in.data(), 7, 4096);
    const allot::dma::mapped_copy copy{one.device(), other.device()};
    constexpr std::uint64_t start = DMA_BUF_SYNC_START, end = DMA_BUF_SYNC_END, read = DMA_BUF_SYNC_READ,
                            write = DMA_BUF_SYNC_WRITE;
    kernel.syncs.clear();
    const auto to = allot::copy_tensor(in, a, copy);
    REQUIRE(to);
    CHECK(*to == allot::copy_path::mapped);
    CHECK(kernel.syncs == std::vector{start | write, end | write});
    kernel.syncs.clear();
    const auto across = allot::copy_tensor(a, b, copy);
    REQUIRE(across);
    CHECK(*across == allot::copy_path::mapped);
    CHECK(kernel.syncs == std::vector{start | read, start | write, end | write, end | read});
    kernel.syncs.clear();
    REQUIRE(allot::copy_tensor(b, out, copy));
    CHECK(kernel.syncs == std::vector{start | read, end | read});
    CHECK(std::memcmp(in.data(), out.data(), 4096) == 0);

    // Memory of a device that the copy path lacks, and an error of the kernel.
    CHECK(allot::copy_tensor(a, b, allot::dma::mapped_copy{one.device()}).error().reason ==
          allot::tensor_refusal::no_way);
    kernel.sync_errors = {EIO};
    std::memset(in.data(), 8, 4096);
    const auto refused = allot::copy_tensor(in, a, copy);
    CHECK(refused.error().reason == allot::tensor_refusal::copy_failed);
    CHECK(refused.error().memory.device_error == EIO);
    kernel.sync_errors = {0, EIO};
    CHECK(allot::copy_tensor(in, a, copy).error().memory.device_error == EIO);
}
