// What every CUDA memory promises, on the fake runtime and on a GPU.
#include "../laws/device_laws.hpp"
#include "machine.hpp"

#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t kib = 1024;
using allot::raw_pointer;
using allot::refusal;
using allot::cuda::async_memory;
using allot::cuda::device_memory;
using allot::cuda::managed;
using allot::cuda::pinned;
using region = allot::region<void*>;

constexpr std::size_t largest = std::numeric_limits<std::size_t>::max();
constexpr allot::layout wrong_layouts[] = {{0, 256}, {100, 0}, {100, 3}, {0, 0}};

/// Writes all of it and reads the ends again.
void use(const region& all, unsigned char value) {
    REQUIRE(cudaMemset(all.base, value, all.size) == cudaSuccess);
    unsigned char ends[2] = {};
    REQUIRE(cudaMemcpy(&ends[0], all.base, 1, cudaMemcpyDefault) == cudaSuccess);
    REQUIRE(cudaMemcpy(&ends[1], raw_pointer::locate(all.base, all.size - 1), 1, cudaMemcpyDefault) == cudaSuccess);
    CHECK(ends[0] == value);
    CHECK(ends[1] == value);
}

/// All of a region by the runtime, and again on this host.
struct cuda_bytes {
    static void fill(const region& all, unsigned char value) {
        REQUIRE(cudaMemset(all.base, value, all.size) == cudaSuccess);
    }
    [[nodiscard]] static bool hold(const region& all, unsigned char value) {
        std::vector<unsigned char> bytes(all.size);
        REQUIRE(cudaMemcpy(bytes.data(), all.base, bytes.size(), cudaMemcpyDefault) == cudaSuccess);
        return std::all_of(bytes.begin(), bytes.end(), [=](unsigned char byte) { return byte == value; });
    }
};

cudaPointerAttributes attributes(const void* address) {
    cudaPointerAttributes found{};
    REQUIRE(cudaPointerGetAttributes(&found, address) == cudaSuccess);
    return found;
}

}  // namespace

static_assert(!device_memory::host_accessible && !async_memory::host_accessible);
static_assert(pinned::host_accessible && managed::host_accessible);
static_assert(device_memory::dl_device == allot::dl_device_type::cuda);
static_assert(async_memory::dl_device == allot::dl_device_type::cuda);
static_assert(pinned::dl_device == allot::dl_device_type::cuda_host);
static_assert(managed::dl_device == allot::dl_device_type::cuda_managed);
// Records go into memory that the host can touch, and nowhere else.
static_assert(!allot::arena<device_memory, allot::best_fit<>>::strategy_type::in_band);
static_assert(!allot::arena<async_memory, allot::best_fit<>>::strategy_type::in_band);
static_assert(allot::arena<pinned, allot::best_fit<>>::strategy_type::in_band);
static_assert(allot::arena<managed, allot::best_fit<>>::strategy_type::in_band);

TEST_CASE_TEMPLATE("cuda: devices keep the laws of a device, regions at 256 or more", Device, device_memory, pinned,
                   managed, async_memory) {
    const tests::machine machine;
    static_assert(Device::min_align == 256);
    laws::judge_device([] { return tests::make<Device>(); }, {.align = 2048 * kib}, cuda_bytes{}, laws::no_resources{});
    machine.seen(std::same_as<Device, device_memory> ? "cuda::device_memory"
                 : std::same_as<Device, pinned>      ? "cuda::pinned"
                 : std::same_as<Device, managed>     ? "cuda::managed"
                                                     : "cuda::async_memory");
}

TEST_CASE_TEMPLATE("cuda: zero bytes and alignments that are none are refused", Device, device_memory, pinned, managed,
                   async_memory) {
    const tests::machine machine;
    Device device = tests::make<Device>();
    for (const allot::layout wrong : wrong_layouts)
        CHECK(device.acquire(wrong).error() == cudaErrorInvalidValue);
    // No size is left for the bytes that would be skipped.
    CHECK(device.acquire({largest, 4 * kib}).error() == cudaErrorMemoryAllocation);
    CHECK(device.acquire({largest - 4 * kib, 4 * kib}).error() == cudaErrorMemoryAllocation);
    CHECK(device.acquire({1, largest / 2 + 1}).error() == cudaErrorMemoryAllocation);
}

TEST_CASE_TEMPLATE("cuda: memory is of the kind that it says", Device, device_memory, pinned, managed, async_memory) {
    const tests::machine machine;
    allot::arena<Device, allot::best_fit<>> memory{tests::make<Device>(), 64 * kib};
    const auto block = memory.allocate({1000, 64});
    REQUIRE(block);
    const cudaMemoryType kind = attributes(block.address).type;
    if (std::is_same_v<Device, pinned>) {
        CHECK(kind == cudaMemoryTypeHost);
    } else if (std::is_same_v<Device, managed>) {
        CHECK(kind == cudaMemoryTypeManaged);
    } else {
        CHECK(kind == cudaMemoryTypeDevice);
    }
    if constexpr (Device::host_accessible) {
        std::memset(block.address, 3, block.size);
        unsigned char back[1000] = {};
        REQUIRE(cudaMemcpy(back, block.address, sizeof back, cudaMemcpyDefault) == cudaSuccess);
        CHECK(std::all_of(std::begin(back), std::end(back), [](unsigned char byte) { return byte == 3; }));
    }
}

TEST_CASE_TEMPLATE("cuda: blocks of an arena are apart, at every alignment", Device, device_memory, pinned, managed,
                   async_memory) {
    const tests::machine machine;
    using growth = allot::growth::fixed<allot::growth_options{.step = 16 * kib, .regions = 16}>;
    allot::arena<Device, allot::best_fit<>, growth> memory{tests::make<Device>()};
    std::vector<typename decltype(memory)::block_type> blocks;
    for (std::size_t i = 0; i != 40; ++i) {
        blocks.push_back(memory.allocate({300 + 50 * i, std::size_t{1} << i % 14}));
        REQUIRE(blocks.back());
        CHECK(raw_pointer::position(blocks.back().address) % (std::size_t{1} << i % 14) == 0);
        REQUIRE(cudaMemset(blocks.back().address, static_cast<int>(i), blocks.back().size) == cudaSuccess);
    }
    for (std::size_t i = 0; i != blocks.size(); ++i) {
        std::vector<unsigned char> bytes(blocks[i].size);
        REQUIRE(cudaMemcpy(bytes.data(), blocks[i].address, bytes.size(), cudaMemcpyDefault) == cudaSuccess);
        CHECK(std::all_of(bytes.begin(), bytes.end(), [&](unsigned char byte) { return byte == i; }));
        memory.deallocate(blocks[i]);
    }
    CHECK(memory.trim() > 0);
    CHECK(memory.size() == 0);
}

TEST_CASE_TEMPLATE("cuda: memory that is used up is refused with CUDA's code, and there again when it is released",
                   Device, device_memory, async_memory) {
    const tests::machine machine;
    std::size_t left = 0, total = 0;
    REQUIRE(cudaMemGetInfo(&left, &total) == cudaSuccess);
    allot::naive<Device> memory{tests::make<Device>()};
    const allot::layout part{left / 8, 256};
    std::vector<typename allot::naive<Device>::block_type> blocks;
    while (const auto block = memory.allocate(part)) blocks.push_back(block);
    CHECK(blocks.size() >= 4);
    CHECK(blocks.size() <= 8);
    CHECK(memory.diagnose(part) == allot::diagnosis{refusal::device_refused, 0, cudaErrorMemoryAllocation});
    CHECK(cudaGetLastError() == cudaSuccess);  // nobody will take it for a kernel's

    memory.deallocate(blocks[1]);
    blocks[1] = memory.allocate(part);
    CHECK(blocks[1]);
    CHECK(memory.diagnose(part).why == refusal::none);
    for (const auto& block : blocks) memory.deallocate(block);

    allot::arena<Device, allot::best_fit<>> too_large{tests::make<Device>(), 2 * total};
    CHECK_FALSE(too_large.allocate({1, 1}));
    CHECK(too_large.diagnose({1, 1}) == allot::diagnosis{refusal::device_refused, 0, cudaErrorMemoryAllocation});
}

TEST_CASE("cuda: two arenas, of two devices where there are two, and the thread's device stays what it was") {
    const tests::machine machine;
    int devices = 0, before = -1, after = -1;
    REQUIRE(cudaGetDeviceCount(&devices) == cudaSuccess);
    REQUIRE(cudaGetDevice(&before) == cudaSuccess);
    const int other = devices > 1 ? 1 : 0;
    {
        allot::arena<device_memory, allot::best_fit<>> first{device_memory{0}, 64 * kib};
        allot::arena<device_memory, allot::best_fit<>> second{device_memory{other}, 64 * kib};
        REQUIRE(cudaGetDevice(&after) == cudaSuccess);
        CHECK(after == before);
        const auto a = first.allocate({1000, 256}), b = second.allocate({1000, 256});
        REQUIRE((a && b));
        CHECK(attributes(a.address).device == 0);
        CHECK(attributes(b.address).device == other);
        CHECK_FALSE(first.owns(b));
        CHECK_FALSE(second.owns(a));
        use({a.address, a.size, 256}, 1);
        use({b.address, b.size, 256}, 2);
        use({a.address, a.size, 256}, 3);
    }
    REQUIRE(cudaGetDevice(&after) == cudaSuccess);
    CHECK(after == before);
}

TEST_CASE("cuda: a cached device keeps regions, also those inside what CUDA gave") {
    const tests::machine machine;
    allot::naive<allot::cached<device_memory>> memory{allot::cached<device_memory>{device_memory{0}}};
    const auto first = memory.allocate({10'000, 4 * kib});
    REQUIRE(first);
    const void* const address = first.address;
    memory.deallocate(first);
    const auto again = memory.allocate({9'000, kib});
    CHECK(again.address == address);
    const auto other = memory.allocate({10'000, 8 * kib});
    CHECK(raw_pointer::position(other.address) % (8 * kib) == 0);
    CHECK(other.address != address);
    memory.deallocate(other);
    memory.deallocate(again);
    CHECK(memory.trim() >= 20'000);
}

TEST_CASE("cuda: a cached block is never handed to another device, or at a lesser alignment") {
    const tests::machine machine;
    int devices = 0;
    REQUIRE(cudaGetDeviceCount(&devices) == cudaSuccess);
    const int second = devices > 1 ? 1 : 0;
    if (second == 0) MESSAGE("skipped in part: there is one CUDA device only");
    using pooled = allot::naive<allot::cached<device_memory>>;
    pooled one{allot::cached<device_memory>{device_memory{0}}}, other{allot::cached<device_memory>{device_memory{second}}};
    const auto first = one.allocate({10'000, 256});
    REQUIRE(first);
    one.deallocate(first);  // kept, for device 0 alone
    const auto there = other.allocate({10'000, 256});
    REQUIRE(there);
    CHECK(there.address != first.address);
    CHECK(attributes(there.address).device == second);
    for (const std::size_t align : {4 * kib, 64 * kib}) {
        const auto aligned = one.allocate({10'000, align});
        REQUIRE(aligned);
        CHECK(raw_pointer::position(aligned.address) % align == 0);
        one.deallocate(aligned);
    }
    other.deallocate(there);
    const auto again = one.allocate({10'000, 256});
    CHECK(attributes(again.address).device == 0);
    one.deallocate(again);
}

TEST_CASE("cuda: tensors are addresses: the offset is added, and none is left") {
    const tests::machine machine;
    allot::arena<device_memory, allot::best_fit<>> memory{device_memory{0}, 64 * kib};
    const auto data = *allot::alloc_storage(memory, 16 * kib, 256);
    const auto a = *allot::alloc_tensor(data, 0, {256}, allot::float32);
    const auto b = *allot::alloc_tensor(data, 1024, {4, 64}, allot::int32);
    CHECK(static_cast<std::byte*>(b.data()) - static_cast<std::byte*>(a.data()) == 1024);
    CHECK(b.byte_offset() == 0);
    REQUIRE(cudaMemset(a.data(), 1, a.size_bytes()) == cudaSuccess);
    REQUIRE(cudaMemset(b.data(), 2, b.size_bytes()) == cudaSuccess);
    unsigned char around[2] = {};
    REQUIRE(cudaMemcpy(around, static_cast<std::byte*>(b.data()) - 1, 2, cudaMemcpyDefault) == cudaSuccess);
    CHECK(around[0] == 1);
    CHECK(around[1] == 2);
    CHECK(allot::alloc_tensor(data, 1280, {64}, allot::int32).error().why == allot::tensor_refusal::overlapping);
}
