// Owners of arrays in device memory, on the fake runtime and on a GPU.
#include "machine.hpp"

#include <allot/allot.hpp>

#include <vector>

namespace {

constexpr std::size_t kib = 1024;
using vendor::async_memory;
using vendor::device_memory;
using vendor::managed;
using vendor::pinned;

struct point {
    float x, y, z;
};

}  // namespace

TEST_CASE_TEMPLATE(VENDOR " make_span: an array holds copied elements and is freed by its owner", Device, device_memory,
                   pinned, managed, async_memory) {
    const tests::machine machine;
    allot::arena<Device, allot::best_fit<>> memory{tests::make<Device>(), 64 * kib};
    const std::uint64_t all = memory.diagnose({1, 1}).largest_hole;
    {
        auto points = vendor::make_span<point>(memory, 100);
        REQUIRE(points);
        CHECK(points.size() == 100);
        CHECK(points.size_bytes() == 1200);
        CHECK(points.allocator() == &memory);
        CHECK(points.block().size == 1200);
        CHECK(allot::raw_pointer::position(points.data()) % 256 == 0);
        std::vector<point> sent(100, point{1, 2, 3}), back(100);
        REQUIRE(gpu::memcpy(points.data(), sent.data(), points.size_bytes()) == gpu::success);
        REQUIRE(gpu::memcpy(back.data(), points.data(), points.size_bytes()) == gpu::success);
        CHECK(back[99].z == 3);

        vendor::unique_span<point, decltype(memory)> taken;
        CHECK_FALSE(taken);
        CHECK(taken.data() == nullptr);
        taken = vendor::make_span<point>(memory, 7);
        point* const kept = points.data();
        taken = std::move(points);  // frees the seven points
        CHECK_FALSE(points);
        CHECK(points.data() == nullptr);
        CHECK(points.size() == 0);
        CHECK(taken.data() == kept);
        auto& same = taken;
        taken = std::move(same);
        CHECK(taken.data() == kept);
        const auto last = std::move(taken);
        CHECK(last.size() == 100);
        CHECK(last.data() == kept);
    }
    CHECK(memory.diagnose({1, 1}).largest_hole == all);
}

TEST_CASE(VENDOR " make_span: every device frees its memory with naive, at the requested alignment") {
    const tests::machine machine;
    allot::naive<device_memory> memory;
    for (std::size_t align = 1; align <= 4 * kib; align *= 2) {
        const auto span = vendor::make_span<double>(memory, 3, align);
        REQUIRE(span);
        CHECK(allot::raw_pointer::position(span.data()) % align == 0);
        CHECK(allot::raw_pointer::position(span.data()) % alignof(double) == 0);
    }
}

TEST_CASE(VENDOR " make_span: an invalid request returns an empty span") {
    const tests::machine machine;
    allot::arena<device_memory, allot::best_fit<>> memory{device_memory{}, 64 * kib};
    CHECK_FALSE(vendor::make_span<float>(memory, 0));
    CHECK_FALSE(vendor::make_span<float>(memory, 17 * kib));
    CHECK(memory.diagnose({68 * kib, 256}).reason == allot::refusal::exhausted);
    CHECK_FALSE(vendor::make_span<point>(memory, ~std::size_t{0} / 12 + 1));
    CHECK_FALSE(vendor::make_span<point>(memory, ~std::size_t{0}));
    CHECK_FALSE(vendor::make_span<float>(memory, 1, 0));
    CHECK_FALSE(vendor::make_span<float>(memory, 1, 3));
    auto empty = vendor::make_span<float>(memory, 0);
    empty.reset();
    CHECK(empty.allocator() == nullptr);
}

TEST_CASE(VENDOR " make_span: any allocator of raw pointers works") {
    allot::arena<allot::host::heap, allot::pool<allot::pool_options{.slot = 512, .align = 256}>> memory{{}, 4 * kib};
    auto span = vendor::make_span<int>(memory, 128);
    REQUIRE(span);
    span.data()[127] = 5;
    CHECK(span.data()[127] == 5);
    CHECK_FALSE(vendor::make_span<int>(memory, 129));
}
