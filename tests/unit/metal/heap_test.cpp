// metal::heap, and buffers placed in it, on a fake of Metal-cpp's calls.
#include "machine.hpp"

#include "../../laws/device_laws.hpp"
#include "../../devices_used.hpp"

#include <allot/allot.hpp>
#include <allot/plan.hpp>

#include <algorithm>

namespace {

using allot::metal::buffer_layout;
using allot::metal::contents;
using allot::metal::error;
using allot::metal::place_buffer;
using tests::heap;
using tests::metal_machine;
constexpr std::size_t kib = 1024, largest = std::numeric_limits<std::size_t>::max();

/// A buffer that is released at the end.
struct placed {
    MTL::Buffer* buffer;
    explicit placed(const allot::result<MTL::Buffer*, error>& answer) : buffer{answer ? *answer : nullptr} {
        REQUIRE(answer);
    }
    ~placed() { buffer->release(); }
    placed(const placed&) = delete;
    placed& operator=(const placed&) = delete;
};

}  // namespace

static_assert(allot::device<heap> && heap::min_align == 1024 * kib);
static_assert(!allot::arena<heap, allot::best_fit<>>::strategy_type::in_band);

TEST_CASE("metal heap: satisfies the device laws") {
    const metal_machine machine;
    for (const MTL::ResourceOptions options : {MTL::ResourceStorageModeShared, MTL::ResourceStorageModePrivate})
        laws::judge_device([&] { return heap{machine.device, options}; }, {.align = 2048 * kib}, tests::heap_bytes{},
                           laws::no_resources{});
    tests::seen_on_fake_driver("metal::heap");
}

TEST_CASE("metal heap: impossible heaps are rejected with a code") {
    const metal_machine machine{{.memory = 256 * kib}};
    heap device{machine.device, MTL::ResourceStorageModePrivate};
    CHECK(device.acquire({0, 1}).error() == error::invalid_layout);
    CHECK(device.acquire({largest, 1}).error() == error::too_long);
    CHECK(device.acquire({512 * kib, 1}).error() == error::no_memory);
    CHECK(heap{nullptr, 0}.acquire({100, 1}).error() == error::no_device);
    CHECK(heap{machine.device, MTL::ResourceStorageModeMemoryless}.acquire({100, 1}).error() == error::memoryless);
}

TEST_CASE_TEMPLATE("metal: the budget is the size of this process's memory and the recommended limit", Memory, heap,
                   tests::buffer) {
    const metal_machine machine;
    allot::arena<Memory, allot::best_fit<>> memory{Memory{machine.device, MTL::ResourceStorageModePrivate}, 1024 * kib};
    REQUIRE(memory);
    const auto budget = memory.device().budget();
    REQUIRE(budget);
    CHECK(budget->used == memory.size());
    CHECK(budget->limit == 6 * 1024 * kib);
    CHECK(Memory{nullptr, 0}.budget().error() == error::no_device);
}

TEST_CASE("metal heap: buffers are at the arena's offsets, aligned for Metal, and keep the heap alive") {
    const metal_machine machine;
    constexpr MTL::ResourceOptions options = MTL::ResourceStorageModeShared;
    MTL::Buffer* last = nullptr;
    {
        allot::arena<heap, allot::best_fit<>> memory{heap{machine.device, options}, 1024 * kib};
        std::vector<MTL::Buffer*> buffers;
        for (const std::size_t length : {std::size_t{1}, std::size_t{1000}, 100 * kib, std::size_t{257}, 64 * kib}) {
            const auto block = memory.allocate(buffer_layout(machine.device, length, options));
            REQUIRE(block);
            const auto fresh = place_buffer(block, length);
            REQUIRE(fresh);
            CHECK((*fresh)->length() == length);
            CHECK((*fresh)->heap() == block.address.handle);
            CHECK((*fresh)->heapOffset() == block.address.offset);
            buffers.push_back(*fresh);
            std::memset((*fresh)->contents(), static_cast<int>(buffers.size()), length);
        }
        for (std::size_t i = 0; i != buffers.size(); ++i) {
            const std::byte* const seen = buffers[i]->gpu_bytes();
            CHECK(std::all_of(seen, seen + buffers[i]->length(),
                              [&](std::byte each) { return each == std::byte(i + 1); }));
        }
        last = buffers.back();
        buffers.pop_back();
        for (MTL::Buffer* const each : buffers) each->release();
    }
    CHECK(stand_in::live() == 3);  // the device, the heap and the last buffer in it
    last->release();
}

TEST_CASE("metal heap: buffers at one offset share their bytes, for a plan's disjoint lifetimes") {
    static constexpr allot::plan_buffer lives[] = {{.size = 4096, .live = {0, 2}, .align = 256},
                                                   {.size = 1024, .live = {1, 3}, .align = 256},
                                                   {.size = 4096, .live = {2, 4}, .align = 256}};
    static constexpr auto layout = allot::plan<lives>();
    const metal_machine machine;
    allot::arena<heap, allot::planned<layout>> memory{heap{machine.device, MTL::ResourceStorageModeShared}};
    const placed first{place_buffer(memory.at<0>(), 4096)}, second{place_buffer(memory.at<1>(), 1024)},
        third{place_buffer(memory.at<2>(), 4096)};
    std::memset(first.buffer->contents(), 1, 4096);
    std::memset(second.buffer->contents(), 2, 1024);
    CHECK(first.buffer->gpu_bytes()[4095] == std::byte{1});
    CHECK(third.buffer->gpu_bytes()[0] == std::byte{1});  // the bytes that the first one wrote
    std::memset(third.buffer->contents(), 3, 4096);
    CHECK(first.buffer->gpu_bytes()[0] == std::byte{3});
    CHECK(second.buffer->gpu_bytes()[0] == std::byte{2});
}

TEST_CASE("metal heap: too small or misaligned blocks are rejected without a call") {
    const metal_machine machine{{.longest = 512 * kib}};
    constexpr MTL::ResourceOptions options = MTL::ResourceStorageModePrivate;
    allot::arena<heap, allot::best_fit<>> memory{heap{machine.device, options}, 1024 * kib};
    const auto small = memory.allocate({512, 256});
    CHECK(place_buffer(small, 513).error() == error::too_small);
    CHECK(place_buffer(small, 0).error() == error::invalid_layout);
    CHECK(place_buffer(small, 512 * kib + 1).error() == error::too_long);
    CHECK(place_buffer(decltype(small){}, 1).error() == error::invalid_layout);
    const auto odd = memory.allocate({128 * kib, 1});
    REQUIRE(odd.address.offset % 16384 != 0);
    CHECK(place_buffer(odd, 128 * kib).error() == error::misaligned);
    CHECK_FALSE(memory.allocate(buffer_layout(machine.device, 0, options)));
    CHECK_FALSE(memory.allocate(buffer_layout(machine.device, 512 * kib + 1, options)));
    const placed fits{place_buffer(small, 512)};
    CHECK(contents(tests::buffer::address{fits.buffer, 0}) == nullptr);  // private, like its heap
}
