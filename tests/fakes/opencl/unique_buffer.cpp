// Owners of bytes in buffers, on a driver whose calls fail one by one, and on one that reports no alignment.
#include "driver.hpp"

#include <allot/allot.hpp>
#include <allot/opencl/imported.hpp>
#include <allot/opencl/tensor.hpp>
#include <allot/opencl/texture_pool.hpp>
#include <allot/opencl/unique_buffer.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

namespace {

using allot::opencl::make_buffer;
using buffer_arena = allot::arena<allot::opencl::buffer, allot::best_fit<>>;
using buffer_naive = allot::naive<allot::opencl::buffer>;

/// A fresh driver. At the end, checks that every buffer is released and no call was invalid.
struct machine {
    machine() { fake::start(); }
    ~machine() {
        CHECK(fake::book().violations.empty());
        CHECK(fake::book().buffers == 0);
        CHECK(fake::book().images == 0);
    }
};

allot::opencl::buffer device() { return {fake::context(), fake::device()}; }

}  // namespace

TEST_CASE("opencl unique_buffer: bytes of an arena have the device's alignment and are freed by their owner") {
    const machine running;
    buffer_arena memory{device(), 1 << 16};
    const std::uint64_t all = memory.diagnose({1, 1}).largest_hole;
    {
        auto first = make_buffer(memory, 100), second = make_buffer(memory, 1000);
        REQUIRE((first && second));
        CHECK(second->size() == 1000);
        CHECK(second->handle() == memory.regions()[0].base.handle);
        CHECK(second->offset() % 128 == 0);
        CHECK(second->address() == second->block().address);
        {
            const auto part = second->sub_buffer(fake::device());
            REQUIRE(part);
            CHECK(fake::book().buffers == 2);
        }
        CHECK(fake::book().buffers == 1);
        auto moved = std::move(*first);
        CHECK_FALSE(*first);
        CHECK(first->handle() == nullptr);
        CHECK(first->sub_buffer(fake::device()).error() == CL_INVALID_MEM_OBJECT);
        const std::size_t kept = second->offset();
        moved = std::move(*second);
        CHECK(moved.offset() == kept);
        auto& same = moved;
        moved = std::move(same);
        CHECK(moved.size() == 1000);
        moved.reset();
        moved.reset();
        CHECK_FALSE(moved);
        const auto odd = make_buffer(memory, 8, 8), odd_too = make_buffer(memory, 8, 8);
        REQUIRE((odd && odd_too));
        CHECK(odd_too->sub_buffer(fake::device()).error() == CL_MISALIGNED_SUB_BUFFER_OFFSET);
    }
    CHECK(memory.diagnose({1, 1}).largest_hole == all);
}

TEST_CASE("opencl unique_buffer: a failed call returns its code and leaves nothing") {
    const machine running;
    buffer_arena memory{device(), 4096};
    buffer_naive each{device()};
    CHECK(make_buffer(memory, 0).error() == CL_INVALID_BUFFER_SIZE);
    CHECK(make_buffer(each, 0).error() == CL_INVALID_BUFFER_SIZE);
    CHECK(make_buffer(memory, 4097).error() == CL_MEM_OBJECT_ALLOCATION_FAILURE);
    CHECK(make_buffer(memory, 16, 3).error() == CL_MEM_OBJECT_ALLOCATION_FAILURE);
    CHECK(make_buffer(each, 1 << 25).error() == CL_INVALID_BUFFER_SIZE);
    CHECK(make_buffer(each, 16, 256).error() == CL_MISALIGNED_SUB_BUFFER_OFFSET);
    fake::rule().buffers_left = 0;
    const auto none = make_buffer(each, 1000);
    CHECK_FALSE(none);
    CHECK(none.error() == CL_MEM_OBJECT_ALLOCATION_FAILURE);
    fake::rule().buffers_left = 10;
    const auto one = make_buffer(each, 2000);
    REQUIRE(one);
    fake::rule().refuse_sub_buffer = CL_OUT_OF_RESOURCES;
    CHECK(one->sub_buffer(fake::device()).error() == CL_OUT_OF_RESOURCES);
    fake::rule().refuse_sub_buffer = CL_SUCCESS;
    CHECK(one->sub_buffer(fake::device()));
    CHECK(fake::book().buffers == 2);
}

TEST_CASE("opencl unique_buffer: imported bytes") {
    const machine running;
    alignas(128) static unsigned char bytes[4096];
    allot::arena<allot::opencl::imported, allot::best_fit<>> memory{{fake::context(), fake::device(), bytes, 4096}};
    const auto first = make_buffer(memory, 100), second = make_buffer(memory, 100);
    REQUIRE((first && second));
    CHECK(second->offset() % 128 == 0);
    CHECK(second->sub_buffer(fake::device()));
}

TEST_CASE("opencl: a device that reports an alignment of fewer than 8 bits is rejected without a division by 0") {
    const machine running;
    buffer_arena memory{device(), 4096};
    const auto storage = *allot::alloc_storage(memory, 1024, 64);
    const auto tensor = *allot::alloc_tensor(storage, 256, {4, 4}, allot::int32);
    const auto owner = *make_buffer(memory, 64);
    allot::arena<allot::host::heap, allot::best_fit<>> host{{}, 4096};
    const auto of_host = *allot::alloc_tensor(*allot::alloc_storage(host, 1024, 64), 0, {4, 4}, allot::int32);
    fake::rule().base_align = 0;
    CHECK(device().base_align() == 0);
    CHECK(device().acquire({64, 64}).error() == CL_INVALID_DEVICE);
    CHECK(allot::opencl::sub_buffer(tensor, fake::device()).error() == CL_INVALID_DEVICE);
    CHECK(allot::opencl::as_buffer(tensor, fake::queue()).error() == CL_INVALID_DEVICE);
    CHECK(allot::opencl::as_buffer(of_host, fake::queue()).error() == CL_INVALID_DEVICE);
    CHECK(owner.sub_buffer(fake::device()).error() == CL_INVALID_DEVICE);
    CHECK_FALSE(allot::copy_tensor(of_host, tensor, allot::opencl::import_copy{fake::queue()}));
    CHECK_FALSE(allot::copy_tensor(of_host, tensor, allot::opencl::queue_copy{fake::queue()}));
    // Without an alignment for sub-buffers, the pool uses images of the driver.
    allot::opencl::texture_pool<buffer_arena> textures{memory, fake::context(), fake::device()};
    CHECK_FALSE(textures.shares_bytes());
    fake::rule().base_align = 128;
}
