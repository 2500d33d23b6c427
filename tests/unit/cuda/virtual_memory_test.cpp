// The behavior of cuda::virtual_memory, on the fake driver and on a GPU.
#include "virtual_memory_machine.hpp"

#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <limits>

namespace {

using namespace allot::literals;
using allot::raw_pointer;
using allot::refusal;
using allot::cuda::virtual_memory;
using tests::bytes_of;
using tests::virtual_memory_machine;

constexpr std::size_t granule = virtual_memory::granularity, largest = std::numeric_limits<std::size_t>::max();
constexpr allot::layout wrong_layouts[] = {{0, 256}, {100, 0}, {100, 3}, {0, 0}};

using best_fit = allot::best_fit<>;
using up = allot::bump<allot::bump_options{.direction = allot::direction::up}>;
template <class Strategy, class Device = virtual_memory>
using growing = allot::arena<Device, Strategy, allot::growth::contiguous<>>;

[[nodiscard]] std::byte* at(const void* base, std::size_t offset) {
    return static_cast<std::byte*>(const_cast<void*>(base)) + offset;
}

}  // namespace

static_assert(allot::extensible_device<virtual_memory> && !virtual_memory::host_accessible);
static_assert(virtual_memory::dl_device == allot::dl_device_type::cuda);
static_assert(!growing<best_fit>::strategy_type::in_band);  // in a side table

TEST_CASE_TEMPLATE("cuda virtual_memory: blocks keep their addresses and bytes while the region grows", Strategy,
                   best_fit, up) {
    const virtual_memory_machine machine;
    {
        const bytes_of bytes{machine.driver};
        growing<Strategy> memory{virtual_memory{1_GiB}};
        CHECK(memory.size() == 0);
        std::vector<decltype(memory.allocate({}))> blocks;
        for (unsigned char i = 0; i != 40; ++i) {
            blocks.push_back(memory.allocate({.size = 3'000'000, .align = 64}));
            REQUIRE(blocks.back());
            REQUIRE(bytes.fill(blocks.back().address, 5000, i) == CUDA_SUCCESS);
            REQUIRE(bytes.fill(at(blocks.back().address, 2'995'000), 5000, i) == CUDA_SUCCESS);
        }
        CHECK(memory.size() >= 120'000'000);
        CHECK(memory.size() <= 120'000'000 + 40 * granule);
        CHECK(memory.size() % granule == 0);
        CHECK(memory.regions()[0].size == memory.size());
        for (unsigned char i = 0; i != 40; ++i) {
            CHECK(bytes.are(blocks[i].address, 5000, i));
            CHECK(bytes.are(at(blocks[i].address, 2'995'000), 5000, i));
        }
    }
}

TEST_CASE("cuda virtual_memory: a trim frees memory after the last block, and empty regions") {
    const virtual_memory_machine machine;
    {
        const bytes_of bytes{machine.driver};
        growing<best_fit> memory{virtual_memory{1_GiB}};
        const auto low = memory.allocate({.size = 100});
        REQUIRE(bytes.fill(low.address, 100, 1) == CUDA_SUCCESS);
        const auto high = memory.allocate({.size = 20_MiB});
        REQUIRE(bytes.fill(high.address, 20_MiB, 2) == CUDA_SUCCESS);
        memory.deallocate(high);
        const std::size_t before = memory.size();
        CHECK(memory.trim() == before - granule);
        CHECK(memory.size() == granule);
        CHECK(memory.trim() == 0);
        CHECK(bytes.are(low.address, 100, 1));

        const auto again = memory.allocate({.size = 20_MiB});
        REQUIRE(again);
        CHECK(again.address == high.address);
        REQUIRE(bytes.fill(again.address, 20_MiB, 3) == CUDA_SUCCESS);
        CHECK(bytes.are(again.address, 20_MiB, 3));
        CHECK(bytes.are(low.address, 100, 1));
        memory.deallocate(again);
        memory.deallocate(low);
        CHECK(memory.trim() >= 20_MiB);
        CHECK(memory.size() == 0);
        CHECK(memory.trim() == 0);
        CHECK(memory.allocate({.size = 100}));
    }
}

TEST_CASE("cuda virtual_memory: regions are reserved, mapped and resized as requested") {
    const virtual_memory_machine machine;
    virtual_memory device{64_MiB};
    {
        const bytes_of bytes{machine.driver};
        auto first = *device.acquire({1, 1}), second = *device.acquire({5_MiB, 4096});
        CHECK(first.size == granule);
        CHECK(second.size == 3 * granule);
        for (const auto& each : {first, second}) {
            CHECK(each.align >= granule);
            CHECK(raw_pointer::position(each.base) % each.align == 0);
        }
        CHECK(bytes.fill(first.base, first.size, 1) == CUDA_SUCCESS);
        CHECK(bytes.fill(second.base, second.size, 2) == CUDA_SUCCESS);
        for (const std::size_t count : {7u, 2u, 32u, 31u, 1u, 5u}) {
            const auto moved = device.resize(second, count * granule);
            REQUIRE(moved);
            CHECK(moved->base == second.base);
            CHECK(moved->size == count * granule);
            CHECK(bytes.are(second.base, granule, 2));
            CHECK(bytes.fill(at(moved->base, moved->size - 1), 1, 3) == CUDA_SUCCESS);
            if (count == 1) REQUIRE(bytes.fill(second.base, granule, 2) == CUDA_SUCCESS);
            second = *moved;
        }
        CHECK(bytes.are(first.base, first.size, 1));
        device.release(first);
        CHECK(bytes.are(second.base, granule, 2));
        device.release(second);
    }
    machine.seen("cuda::virtual_memory");
}

TEST_CASE("cuda virtual_memory: invalid layouts and too large sizes return the driver's codes") {
    const virtual_memory_machine machine;
    virtual_memory device{3_MiB};
    for (const allot::layout wrong : wrong_layouts) CHECK(device.acquire(wrong).error() == CUDA_ERROR_INVALID_VALUE);
    CHECK(device.acquire({4_MiB + 1, 1}).error() == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(device.acquire({largest, 1}).error() == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(virtual_memory{0}.acquire({1, 1}).error() == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(virtual_memory{largest}.acquire({1, 1}).error() == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(virtual_memory{64_MiB, -1}.acquire({1, 1}).error() == CUDA_ERROR_INVALID_DEVICE);
    CHECK(virtual_memory{64_MiB, machine.devices()}.acquire({1, 1}).error() == CUDA_ERROR_INVALID_DEVICE);
    const auto whole = device.acquire({4_MiB, 1});
    REQUIRE(whole);
    CHECK(device.resize(*whole, 6_MiB).error() == CUDA_ERROR_OUT_OF_MEMORY);
    device.release(*whole);

    growing<best_fit> memory{virtual_memory{8_MiB}};
    CHECK(memory.allocate({.size = 5'000'000}));
    CHECK_FALSE(memory.allocate({.size = 6'000'000}));
    const auto error = memory.diagnose({.size = 6'000'000});
    CHECK(error == allot::diagnosis{refusal::device_refused, error.largest_hole, CUDA_ERROR_OUT_OF_MEMORY});
    CHECK(memory.allocate({.size = 2'000'000}));
}

TEST_CASE("cuda virtual_memory: exhausted memory is rejected and available after a trim") {
    const virtual_memory_machine machine;
    using device = allot::cuda::basic_virtual_memory<32_MiB>;  // so that few calls take a whole GPU
    {
        const std::size_t part = allot::align_down(machine.left(0) / 4, device::granularity);
        growing<best_fit, device> memory{device{8 * part}};
        std::vector<decltype(memory.allocate({}))> blocks;
        while (const auto block = memory.allocate({.size = part})) blocks.push_back(block);
        CHECK(blocks.size() >= 3);
        CHECK(blocks.size() <= 4);
        CHECK(memory.diagnose({.size = part}).device_error == CUDA_ERROR_OUT_OF_MEMORY);
        growing<best_fit, device> other{device{8 * part}};
        CHECK_FALSE(other.allocate({.size = 2 * part}));
        CHECK(other.size() == 0);

        memory.deallocate(blocks.back());
        blocks.pop_back();
        CHECK(memory.trim() >= part);
        const auto block = other.allocate({.size = part});
        REQUIRE(block);
        other.deallocate(block);
        CHECK(other.trim() >= part);
        CHECK(memory.allocate({.size = part}));
    }
}

TEST_CASE("cuda virtual_memory: two arenas, on two devices if there are two") {
    const virtual_memory_machine machine;
    const int other = machine.devices() > 1 ? 1 : 0;
    {
        growing<best_fit> first{virtual_memory{64_MiB, 0}}, second{virtual_memory{64_MiB, other}};
        CHECK(second.device().device() == other);
        const auto a = first.allocate({.size = 3_MiB}), b = second.allocate({.size = 3_MiB});
        REQUIRE((a && b));
        CHECK_FALSE(first.owns(b));
        CHECK_FALSE(second.owns(a));
        const bytes_of on_first{machine.driver, 0}, on_second{machine.driver, other};  // current on this thread
        CHECK(on_second.fill(b.address, b.size, 2) == CUDA_SUCCESS);
        {
            const bytes_of again{machine.driver, 0};
            CHECK(again.fill(a.address, a.size, 1) == CUDA_SUCCESS);
            CHECK(again.are(a.address, a.size, 1));
        }
        CHECK(on_second.are(b.address, b.size, 2));
        first.deallocate(a);
        CHECK(first.trim() == 4_MiB);
        CHECK(on_second.are(b.address, b.size, 2));
    }
}

TEST_CASE("cuda virtual_memory: the thread's context is preserved") {
    const virtual_memory_machine machine;
    const auto get_current = tests::find<PFN_cuCtxGetCurrent_v4000>("cuCtxGetCurrent");
    const auto current = [get_current] {
        CUcontext found = nullptr;
        CHECK(get_current(&found) == CUDA_SUCCESS);
        return found;
    };
    const auto use = [&current] {
        const CUcontext before = current();
        growing<best_fit> memory{virtual_memory{64_MiB, 0}};
        const auto first = memory.allocate({.size = 100});
        CHECK(current() == before);
        const auto block = memory.allocate({.size = 5_MiB});
        CHECK(current() == before);
        memory.deallocate(block);
        CHECK(memory.trim() > 0);
        CHECK(current() == before);
        CHECK_FALSE(memory.allocate({.size = 1_GiB}));
        CHECK(current() == before);
        memory.deallocate(first);
        CHECK(memory.trim() > 0);
        CHECK(current() == before);
    };
    use();
    const allot::cuda::current_context other{machine.driver, machine.devices() - 1};
    use();
}

TEST_CASE("cuda virtual_memory: greater granules, and alignments above them") {
    const virtual_memory_machine machine;
    {
        const bytes_of bytes{machine.driver};
        growing<best_fit, allot::cuda::basic_virtual_memory<8_MiB>> memory{
            allot::cuda::basic_virtual_memory<8_MiB>{256_MiB}};
        const auto first = memory.allocate({.size = 10, .align = 16_MiB});
        REQUIRE(first);
        CHECK(raw_pointer::position(first.address) % 16_MiB == 0);
        CHECK(memory.size() % 8_MiB == 0);
        const auto block = memory.allocate({.size = 1000, .align = 32_MiB});
        REQUIRE(block);
        CHECK(raw_pointer::position(block.address) % 32_MiB == 0);
        CHECK(bytes.fill(block.address, 1000, 7) == CUDA_SUCCESS);
        CHECK(bytes.are(block.address, 1000, 7));
    }
}

TEST_CASE("cuda virtual_memory: arenas of one region, and use without an arena") {
    const virtual_memory_machine machine;
    {
        const bytes_of bytes{machine.driver};
        allot::arena<virtual_memory, allot::bump<>> scratch{virtual_memory{64_MiB}, 3_MiB};
        CHECK(scratch.size() == 4_MiB);
        const auto a = scratch.allocate({.size = 1000, .align = 256});
        allot::naive<virtual_memory> naive{virtual_memory{64_MiB}};
        const auto b = naive.allocate({.size = 1000, .align = 256});
        REQUIRE((a && b));
        CHECK(bytes.fill(a.address, 1000, 1) == CUDA_SUCCESS);
        CHECK(bytes.fill(b.address, 1000, 2) == CUDA_SUCCESS);
        CHECK(bytes.are(a.address, 1000, 1));
        naive.deallocate(b);
    }
}

TEST_CASE("cuda virtual_memory: storages in a growing arena do not move") {
    const virtual_memory_machine machine;
    {
        const bytes_of bytes{machine.driver};
        growing<best_fit> memory{virtual_memory{1_GiB}};
        const auto first = *allot::alloc_storage(memory, 4096, 256);
        const auto tensor = *allot::alloc_tensor(first, 256, {4, 64}, allot::int32);
        const void* const where = tensor.data();
        CHECK(bytes.fill(where, tensor.size_bytes(), 5) == CUDA_SUCCESS);
        auto second = *allot::alloc_storage(memory, 100'000'000, 4096);
        CHECK(tensor.data() == where);
        second.kill();
        const std::size_t size = memory.size();
        CHECK(memory.trim() == size - 2_MiB);
        CHECK(tensor.data() == where);
        CHECK(bytes.are(where, tensor.size_bytes(), 5));
    }
}
