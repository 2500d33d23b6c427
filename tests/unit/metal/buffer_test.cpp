// metal::buffer, on a fake of Metal-cpp's calls.
#include "machine.hpp"

#include "../../laws/device_laws.hpp"
#include "../../devices_used.hpp"
#include "../../texts.hpp"

#include <allot/allot.hpp>
#include <allot/tensor.hpp>

namespace {

using allot::refusal;
using allot::metal::contents;
using allot::metal::did_modify;
using allot::metal::error;
using tests::buffer;
using tests::metal_machine;
constexpr std::size_t kib = 1024, largest = std::numeric_limits<std::size_t>::max();
constexpr MTL::ResourceOptions modes[] = {MTL::ResourceStorageModeShared, MTL::ResourceStorageModeManaged,
                                          MTL::ResourceStorageModePrivate,
                                          MTL::ResourceStorageModePrivate | MTL::ResourceHazardTrackingModeUntracked};

}  // namespace

static_assert(allot::device<buffer> && !allot::bounded_device<buffer>);
static_assert(std::same_as<buffer::address, allot::handle_offset<MTL::Buffer*>::address>);
static_assert(!allot::arena<buffer, allot::best_fit<>>::strategy_type::in_band);
static_assert(buffer::dl_device == allot::dl_device_type::metal);
static_assert(allot::metal::storage_mode_of(MTL::ResourceStorageModeManaged | MTL::ResourceCPUCacheModeWriteCombined) ==
              allot::metal::storage_mode::managed);

TEST_CASE("metal buffer: satisfies the device laws in every storage mode") {
    const metal_machine machine;
    for (const MTL::ResourceOptions options : modes)
        laws::judge_device([&] { return buffer{machine.device, options}; }, {.align = 256}, tests::buffer_bytes{},
                           laws::no_resources{});
    tests::seen_on_fake_driver("metal::buffer");
}

TEST_CASE("metal buffer: requests that would end the program are rejected without a call") {
    const metal_machine machine{{.longest = 64 * kib}};
    buffer device{machine.device};
    CHECK(device.acquire({0, 1}).error() == error::invalid_layout);
    CHECK(device.acquire({100, 3}).error() == error::invalid_layout);
    CHECK(device.acquire({100, 512}).error() == error::misaligned);
    CHECK(device.acquire({64 * kib + 1, 1}).error() == error::too_long);
    CHECK(device.acquire({largest, 1}).error() == error::too_long);
    CHECK(buffer{nullptr}.acquire({100, 1}).error() == error::no_device);
    CHECK(buffer{machine.device, MTL::ResourceStorageModeMemoryless}.acquire({100, 1}).error() == error::memoryless);
    const auto longest = device.acquire({64 * kib, 256});
    REQUIRE(longest);
    CHECK(longest->align == 256);
    device.release(*longest);
}

TEST_CASE("metal buffer: without a device, the arena reports it") {
    const metal_machine machine{{.device = false}};
    allot::arena<buffer, allot::best_fit<>> memory{buffer{machine.device}, 64 * kib};
    CHECK_FALSE(memory.allocate({1, 1}));
    CHECK(memory.diagnose({1, 1}) == allot::diagnosis{refusal::device_refused, 0, static_cast<long>(error::no_device)});
}

TEST_CASE("metal buffer: exhausted memory is an error and available after a release") {
    const metal_machine machine{{.memory = 256 * kib}};
    allot::naive<buffer> memory{buffer{machine.device, MTL::ResourceStorageModePrivate}};
    const allot::layout part{64 * kib, 256};
    std::vector<allot::naive<buffer>::block_type> blocks;
    while (const auto block = memory.allocate(part)) blocks.push_back(block);
    CHECK(blocks.size() == 4);
    CHECK(memory.diagnose(part) == allot::diagnosis{refusal::device_refused, 0, static_cast<long>(error::no_memory)});
    memory.deallocate(blocks.back());
    blocks.back() = memory.allocate(part);
    CHECK(blocks.back());
    for (const auto& block : blocks) memory.deallocate(block);
}

TEST_CASE("metal buffer: a block is the buffer and an offset, and a kernel sees its bytes") {
    const metal_machine machine;
    allot::arena<buffer, allot::best_fit<>> memory{buffer{machine.device}, 64 * kib};
    const auto a = memory.allocate({1000, 256}), b = memory.allocate({1000, 256});
    REQUIRE((a && b));
    CHECK(a.address.handle == b.address.handle);
    CHECK(b.address.offset % 256 == 0);
    CHECK(a.address.offset != b.address.offset);
    std::memset(contents(a), 1, 1000);
    std::memset(contents(b), 2, 1000);
    const std::byte* const seen = a.address.handle->gpu_bytes();
    CHECK(seen[a.address.offset + 999] == std::byte{1});
    CHECK(seen[b.address.offset] == std::byte{2});
    CHECK(seen[b.address.offset + 999] == std::byte{2});
    CHECK_FALSE(memory.allocate({1, 512}));  // no base has this alignment
    CHECK(memory.diagnose({1, 512}).reason == refusal::misaligned);
}

TEST_CASE("metal buffer: the GPU sees managed bytes after did_modify, and only those") {
    const metal_machine machine;
    allot::arena<buffer, allot::best_fit<>> memory{buffer{machine.device, MTL::ResourceStorageModeManaged}, 64 * kib};
    const auto told = memory.allocate({256, 256}), untold = memory.allocate({256, 256});
    std::memset(contents(told), 7, 256);
    std::memset(contents(untold), 7, 256);
    did_modify(told);
    const std::byte* const seen = told.address.handle->gpu_bytes();
    CHECK(seen[told.address.offset + 255] == std::byte{7});
    CHECK(seen[untold.address.offset] == std::byte{0});
}

TEST_CASE("metal buffer: private bytes have no contents, and Metal is not called") {
    const metal_machine machine;
    allot::arena<buffer, allot::best_fit<>> memory{buffer{machine.device, MTL::ResourceStorageModePrivate}, 64 * kib};
    const auto block = memory.allocate({256, 256});
    CHECK(contents(block) == nullptr);
    did_modify(block);
    CHECK(contents(buffer::address{}) == nullptr);  // of a failed block
    did_modify(buffer::address{}, 256);
}

TEST_CASE("metal buffer: a command buffer keeps the buffer alive; the arena releases it once") {
    const metal_machine machine;
    MTL::Buffer* kept = nullptr;
    {
        allot::arena<buffer, allot::best_fit<>> memory{buffer{machine.device}, 64 * kib};
        const auto block = memory.allocate({256, 256});
        kept = block.address.handle->retain();
        CHECK(kept->retainCount() == 2);
    }
    CHECK(kept->retainCount() == 1);
    CHECK(kept->length() == 64 * kib);
    kept->release();
}

TEST_CASE("metal buffer: tensors are a buffer and a byte offset") {
    const metal_machine machine;
    allot::arena<buffer, allot::best_fit<>> memory{buffer{machine.device}, 64 * kib};
    const auto data = *allot::alloc_storage(memory, 16 * kib, 256);
    const auto a = *allot::alloc_tensor(data, 0, {256}, allot::float32);
    const auto b = *allot::alloc_tensor(data, 1024, {4, 64}, allot::int32);
    CHECK(a.address().handle == b.address().handle);
    CHECK(b.address().offset - a.address().offset == 1024);
    std::memset(contents(b), 5, b.size_bytes());
    did_modify(b);
    CHECK(a.address().handle->gpu_bytes()[b.address().offset + 1023] == std::byte{5});
    CHECK(allot::alloc_tensor(data, 1280, {64}, allot::int32).error().reason == allot::tensor_refusal::overlapping);
}

TEST_CASE("metal: every error has its own text") {
    using enum allot::metal::error;
    texts::check_distinct(
        {none, no_memory, no_device, invalid_layout, too_long, too_small, misaligned, memoryless, not_executed});
    CHECK(std::string{to_string(static_cast<allot::metal::error>(6))} == "unknown");
}
