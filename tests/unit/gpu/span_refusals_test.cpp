// Owners of arrays when the runtime fails: no allocation is left. On the fake runtime only.
#include "fake_gpu.hpp"
#include "machine.hpp"

#include <allot/allot.hpp>

TEST_CASE_TEMPLATE(VENDOR " make_span: a failed call of the runtime leaves no allocation", Device,
                   vendor::device_memory, vendor::pinned, vendor::managed, vendor::async_memory) {
    const tests::machine machine;
    {
        allot::naive<Device> memory{tests::make<Device>()};
        for (const gpu::error code : {gpu::out_of_memory, gpu::not_supported, gpu::busy}) {
            fake_gpu::refuse_next(code);
            CHECK_FALSE(vendor::make_span<float>(memory, 1000));
            CHECK(memory.diagnose({4000, 256}).device_error == code);
            CHECK(gpu::peek_at_last_error() == gpu::success);
        }
        const auto span = vendor::make_span<float>(memory, 1000);
        CHECK(span);
        CHECK(fake_gpu::live() == 1);
    }
    REQUIRE(gpu::device_synchronize() == gpu::success);
    CHECK(fake_gpu::live() == 0);
}
