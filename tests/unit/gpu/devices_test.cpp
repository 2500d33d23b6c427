// The behavior of every memory of CUDA and HIP, on the fake runtime and on a GPU.
#include "../../bytes.hpp"
#include "../../laws/device_laws.hpp"
#include "machine.hpp"

#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <cstring>
#include <vector>

namespace {

constexpr std::size_t kib = 1024;
using allot::raw_pointer;
using allot::refusal;
using vendor::async_memory;
using vendor::device_memory;
using vendor::managed;
using vendor::pinned;
using region = allot::region<void*>;

constexpr std::size_t largest = std::numeric_limits<std::size_t>::max();
constexpr allot::layout wrong_layouts[] = {{0, 256}, {100, 0}, {100, 3}, {0, 0}};

/// Writes all bytes and reads the first and the last.
void use(const region& all, unsigned char value) {
    REQUIRE(gpu::memset(all.base, value, all.size) == gpu::success);
    unsigned char ends[2] = {};
    REQUIRE(gpu::memcpy(&ends[0], all.base, 1) == gpu::success);
    REQUIRE(gpu::memcpy(&ends[1], raw_pointer::locate(all.base, all.size - 1), 1) == gpu::success);
    CHECK(ends[0] == value);
    CHECK(ends[1] == value);
}

/// Accesses a whole region through the runtime, and also on the host if that is possible.
struct gpu_bytes {
    static void fill(const region& all, unsigned char value) {
        REQUIRE(gpu::memset(all.base, value, all.size) == gpu::success);
    }
    [[nodiscard]] static bool hold(const region& all, unsigned char value) {
        std::vector<unsigned char> bytes(all.size);
        REQUIRE(gpu::memcpy(bytes.data(), all.base, bytes.size()) == gpu::success);
        return tests::have_value(bytes.data(), bytes.size(), value);
    }
};

gpu::place place_of(const void* address) {
    gpu::place found{};
    REQUIRE(gpu::get_place(&found, address) == gpu::success);
    return found;
}

}  // namespace

static_assert(!device_memory::host_accessible && !async_memory::host_accessible);
static_assert(pinned::host_accessible && managed::host_accessible);
// In-band records require memory that the host can access.
static_assert(!allot::arena<device_memory, allot::best_fit<>>::strategy_type::in_band);
static_assert(!allot::arena<async_memory, allot::best_fit<>>::strategy_type::in_band);
static_assert(allot::arena<pinned, allot::best_fit<>>::strategy_type::in_band);
static_assert(allot::arena<managed, allot::best_fit<>>::strategy_type::in_band);

TEST_CASE_TEMPLATE(VENDOR ": devices satisfy the laws; regions are aligned to 256", Device, device_memory, pinned,
                   managed, async_memory) {
    const tests::machine machine;
    static_assert(Device::min_align == 256);
    laws::judge_device([] { return tests::make<Device>(); }, {.align = 2048 * kib}, gpu_bytes{}, laws::no_resources{});
    machine.seen(std::same_as<Device, device_memory> ? VENDOR "::device_memory"
                 : std::same_as<Device, pinned>      ? VENDOR "::pinned"
                 : std::same_as<Device, managed>     ? VENDOR "::managed"
                                                     : VENDOR "::async_memory");
}

TEST_CASE_TEMPLATE(VENDOR ": zero sizes and invalid alignments are rejected", Device, device_memory, pinned, managed,
                   async_memory) {
    const tests::machine machine;
    Device device = tests::make<Device>();
    for (const allot::layout wrong : wrong_layouts) CHECK(device.acquire(wrong).error() == gpu::invalid_value);
    // The size overflows when the skipped bytes are added.
    CHECK(device.acquire({largest, 4 * kib}).error() == gpu::out_of_memory);
    CHECK(device.acquire({largest - 4 * kib, 4 * kib}).error() == gpu::out_of_memory);
    CHECK(device.acquire({1, largest / 2 + 1}).error() == gpu::out_of_memory);
}

TEST_CASE_TEMPLATE(VENDOR ": memory is of the declared kind", Device, device_memory, pinned, managed, async_memory) {
    const tests::machine machine;
    allot::arena<Device, allot::best_fit<>> memory{tests::make<Device>(), 64 * kib};
    const auto block = memory.allocate({1000, 64});
    REQUIRE(block);
    const gpu::memory kind = place_of(block.address).memory;
    if (std::is_same_v<Device, pinned>) {
        CHECK(kind == gpu::memory::host);
    } else if (std::is_same_v<Device, managed>) {
        CHECK(kind == gpu::memory::managed);
    } else {
        CHECK(kind == gpu::memory::device);
    }
    if constexpr (Device::host_accessible) {
        std::memset(block.address, 3, block.size);
        unsigned char back[1000] = {};
        REQUIRE(gpu::memcpy(back, block.address, sizeof back) == gpu::success);
        CHECK(tests::have_value(std::data(back), std::size(back), 3));
    }
}

TEST_CASE_TEMPLATE(VENDOR ": an arena's blocks do not overlap at any alignment", Device, device_memory, pinned, managed,
                   async_memory) {
    const tests::machine machine;
    using growth = allot::growth::fixed<allot::growth_options{.step = 16 * kib, .regions = 16}>;
    allot::arena<Device, allot::best_fit<>, growth> memory{tests::make<Device>()};
    std::vector<typename decltype(memory)::block_type> blocks;
    for (std::size_t i = 0; i != 40; ++i) {
        blocks.push_back(memory.allocate({300 + 50 * i, std::size_t{1} << i % 14}));
        REQUIRE(blocks.back());
        CHECK(raw_pointer::position(blocks.back().address) % (std::size_t{1} << i % 14) == 0);
        REQUIRE(gpu::memset(blocks.back().address, static_cast<int>(i), blocks.back().size) == gpu::success);
    }
    for (std::size_t i = 0; i != blocks.size(); ++i) {
        std::vector<unsigned char> bytes(blocks[i].size);
        REQUIRE(gpu::memcpy(bytes.data(), blocks[i].address, bytes.size()) == gpu::success);
        CHECK(tests::have_value(bytes.data(), bytes.size(), static_cast<unsigned char>(i)));
        memory.deallocate(blocks[i]);
    }
    CHECK(memory.trim() > 0);
    CHECK(memory.size() == 0);
}

TEST_CASE(VENDOR ": the budget is the memory of the device that all processes use") {
    const tests::machine machine;
    std::size_t left = 0, total = 0;
    allot::arena<device_memory, allot::best_fit<>> memory{tests::make<device_memory>(), 4096 * kib};
    REQUIRE(memory);
    REQUIRE(gpu::mem_get_info(&left, &total) == gpu::success);
    const auto budget = memory.device().budget();
    REQUIRE(budget);
    CHECK(budget->limit == total);
    CHECK(budget->used >= memory.size());
    CHECK(budget->used == total - left);
    static_assert(allot::budgeted_device<device_memory> && !allot::budgeted_device<pinned>);
}

TEST_CASE_TEMPLATE(VENDOR ": exhausted memory returns the runtime's code and is available after a release", Device,
                   device_memory, async_memory) {
    const tests::machine machine;
    std::size_t left = 0, total = 0;
    REQUIRE(gpu::mem_get_info(&left, &total) == gpu::success);
    allot::naive<Device> memory{tests::make<Device>()};
    const allot::layout part{left / 8, 256};
    std::vector<typename allot::naive<Device>::block_type> blocks;
    while (const auto block = memory.allocate(part)) blocks.push_back(block);
    CHECK(blocks.size() >= 4);
    CHECK(blocks.size() <= 8);
    CHECK(memory.diagnose(part) == allot::diagnosis{refusal::device_refused, 0, gpu::out_of_memory});
    CHECK(gpu::get_last_error() == gpu::success);  // later code does not take it for a kernel's error

    memory.deallocate(blocks[1]);
    blocks[1] = memory.allocate(part);
    CHECK(blocks[1]);
    CHECK(memory.diagnose(part).reason == refusal::none);
    for (const auto& block : blocks) memory.deallocate(block);

    allot::arena<Device, allot::best_fit<>> too_large{tests::make<Device>(), 2 * total};
    CHECK_FALSE(too_large.allocate({1, 1}));
    CHECK(too_large.diagnose({1, 1}) == allot::diagnosis{refusal::device_refused, 0, gpu::out_of_memory});
}

TEST_CASE(VENDOR ": two arenas, on two devices if there are two, keep the thread's device") {
    const tests::machine machine;
    int devices = 0, before = -1, after = -1;
    REQUIRE(gpu::get_device_count(&devices) == gpu::success);
    REQUIRE(gpu::get_device(&before) == gpu::success);
    const int other = devices > 1 ? 1 : 0;
    {
        allot::arena<device_memory, allot::best_fit<>> first{device_memory{0}, 64 * kib};
        allot::arena<device_memory, allot::best_fit<>> second{device_memory{other}, 64 * kib};
        REQUIRE(gpu::get_device(&after) == gpu::success);
        CHECK(after == before);
        const auto a = first.allocate({1000, 256}), b = second.allocate({1000, 256});
        REQUIRE((a && b));
        CHECK(place_of(a.address).device == 0);
        CHECK(place_of(b.address).device == other);
        CHECK_FALSE(first.owns(b));
        CHECK_FALSE(second.owns(a));
        use({a.address, a.size, 256}, 1);
        use({b.address, b.size, 256}, 2);
        use({a.address, a.size, 256}, 3);
    }
    REQUIRE(gpu::get_device(&after) == gpu::success);
    CHECK(after == before);
}

TEST_CASE(VENDOR ": a cached device keeps regions, also those with skipped bytes") {
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

TEST_CASE(VENDOR ": a cached block is not reused for another device or a greater alignment") {
    const tests::machine machine;
    int devices = 0;
    REQUIRE(gpu::get_device_count(&devices) == gpu::success);
    const int second = devices > 1 ? 1 : 0;
    if (second == 0) MESSAGE("skipped in part: there is only one device");
    using pooled = allot::naive<allot::cached<device_memory>>;
    pooled one{allot::cached<device_memory>{device_memory{0}}},
        other{allot::cached<device_memory>{device_memory{second}}};
    const auto first = one.allocate({10'000, 256});
    REQUIRE(first);
    one.deallocate(first);  // cached, for device 0 only
    const auto there = other.allocate({10'000, 256});
    REQUIRE(there);
    CHECK(there.address != first.address);
    CHECK(place_of(there.address).device == second);
    for (const std::size_t align : {4 * kib, 64 * kib}) {
        const auto aligned = one.allocate({10'000, align});
        REQUIRE(aligned);
        CHECK(raw_pointer::position(aligned.address) % align == 0);
        one.deallocate(aligned);
    }
    other.deallocate(there);
    const auto again = one.allocate({10'000, 256});
    CHECK(place_of(again.address).device == 0);
    one.deallocate(again);
}

TEST_CASE(VENDOR ": tensors are addresses that include the offset") {
    const tests::machine machine;
    allot::arena<device_memory, allot::best_fit<>> memory{device_memory{0}, 64 * kib};
    const auto data = *allot::alloc_storage(memory, 16 * kib, 256);
    const auto a = *allot::alloc_tensor(data, 0, {256}, allot::float32);
    const auto b = *allot::alloc_tensor(data, 1024, {4, 64}, allot::int32);
    CHECK(static_cast<std::byte*>(b.data()) - static_cast<std::byte*>(a.data()) == 1024);
    CHECK(b.byte_offset() == 0);
    REQUIRE(gpu::memset(a.data(), 1, a.size_bytes()) == gpu::success);
    REQUIRE(gpu::memset(b.data(), 2, b.size_bytes()) == gpu::success);
    unsigned char around[2] = {};
    REQUIRE(gpu::memcpy(around, static_cast<std::byte*>(b.data()) - 1, 2) == gpu::success);
    CHECK(around[0] == 1);
    CHECK(around[1] == 2);
    CHECK(allot::alloc_tensor(data, 1280, {64}, allot::int32).error().reason == allot::tensor_refusal::overlapping);
}
