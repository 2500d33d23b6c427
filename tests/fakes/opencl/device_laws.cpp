// The device laws on OpenCL buffers and imported bytes, over the fake driver. It counts unreleased objects and invalid
// calls: see driver.hpp.
#include "../../laws/device_laws.hpp"
#include "../../laws/opencl_bytes.hpp"
#include "driver.hpp"

#include <allot/opencl/buffer.hpp>
#include <allot/opencl/imported.hpp>

namespace {

/// The number of live buffers, in place of open descriptors.
struct live_buffers {
    [[nodiscard]] laws::held_resources operator()() const {
        CHECK(fake::book().buffers == 0);
        CHECK(fake::book().violations.empty());
        return {fake::book().buffers, 0};
    }
};

}  // namespace

TEST_CASE("opencl, strict driver: buffers satisfy the device laws at the driver's alignment") {
    for (const cl_uint align : {64U, 128U, 4096U}) {
        fake::start();
        fake::rule().base_align = align;
        laws::judge_device([] { return allot::opencl::buffer{fake::context(), fake::device()}; }, {.align = align},
                           laws::buffer_bytes{fake::queue()()}, live_buffers{});
    }
}

TEST_CASE("opencl, strict driver: imported bytes satisfy the device laws") {
    fake::start();
    alignas(4096) static std::byte bytes[2][4096];
    std::size_t turn = 0;
    laws::judge_device(
        [&] { return allot::opencl::imported{fake::context(), fake::device(), bytes[++turn % 2], 4096}; },
        {.align = 128}, laws::buffer_bytes{fake::queue()()}, live_buffers{});
}

TEST_CASE("opencl, strict driver: exhausted memory yields an error, a trim, a retry, and the code") {
    fake::start();
    fake::rule().buffers_left = 1;
    allot::naive<allot::cached<allot::opencl::buffer>> memory{
        allot::cached<allot::opencl::buffer>{{fake::context(), fake::device()}}};
    const auto block = memory.allocate({1000, 64});
    REQUIRE(block);
    memory.deallocate(block);
    CHECK(fake::book().buffers == 1);  // cached
    CHECK_FALSE(memory.allocate({9000, 64}));
    CHECK(fake::book().buffers == 0);  // freed by the retry, which was not enough
    CHECK(memory.diagnose({9000, 64}) ==
          allot::diagnosis{allot::refusal::device_refused, 0, CL_MEM_OBJECT_ALLOCATION_FAILURE});
    fake::rule().buffers_left = 1;
    const auto later = memory.allocate({9000, 64});
    CHECK(later);
    memory.deallocate(later);
    CHECK(memory.trim() == 9000);
    CHECK(fake::book().buffers == 0);
    CHECK(fake::book().violations.empty());
}
