// CUDA memory for other drivers, on the fake driver: opaque descriptors and DMA buffers, and the laws of the device.
#include "../../fakes/payloads.hpp"
#include "../../laws/device_laws.hpp"
#include "fake_libcuda.hpp"
#include "virtual_memory_machine.hpp"

#include <allot/cuda/exported_memory.hpp>
#include <allot/dma/imported_memory.hpp>

namespace {

using namespace allot::literals;
using allot::external::handle_kind;
using opaque = allot::cuda::exported_memory<handle_kind::opaque_fd>;
using dma = allot::cuda::exported_memory<handle_kind::dma_buf>;

/// A fresh driver. At the end, everything is freed, and only the fake driver's own descriptors are open.
struct exporting_machine : tests::virtual_memory_machine {
    ~exporting_machine() {
        CHECK(fake::open_descriptors() == opened);
        CHECK(fake_libcuda::lost_descriptors() == 0);
    }
    const std::size_t opened = fake::open_descriptors();
};

struct gpu_bytes {
    static void fill(const allot::region<void*>& all, unsigned char value) {
        REQUIRE(tests::bytes_of{allot::cuda::driver_functions{}}.fill(all.base, all.size, value) == CUDA_SUCCESS);
    }
    [[nodiscard]] static bool hold(const allot::region<void*>& all, unsigned char value) {
        return tests::bytes_of{allot::cuda::driver_functions{}}.are(all.base, all.size, value);
    }
};
struct descriptors {
    [[nodiscard]] laws::held_resources operator()() const { return {fake::open_descriptors(), fake_libcuda::held()}; }
};

}  // namespace

TEST_CASE_TEMPLATE("cuda exported memory: the laws of devices", Device, opaque, dma) {
    const exporting_machine machine;
    laws::judge_device([] { return Device{}; }, {.align = 4_MiB, .at_once = 6}, gpu_bytes{}, descriptors{});
    machine.seen("cuda::exported_memory");
}

TEST_CASE("cuda exported memory: an opaque descriptor has the size and the GPU, and outlives the region") {
    const exporting_machine machine;
    opaque memory{1};
    const auto region = memory.acquire({.size = 3_MiB});
    REQUIRE(region);
    CHECK(region->size == 4_MiB);
    CHECK(tests::bytes_of{machine.driver, 1}.fill(region->base, region->size, 0x5C) == CUDA_SUCCESS);
    auto shared = memory.export_memory(*region);
    REQUIRE(shared);
    CHECK(shared->about().kind == handle_kind::opaque_fd);
    CHECK(shared->about().size == 4_MiB);
    CHECK(shared->about().device[0] == 2);
    CHECK(shared->about().memory_type == ~0u);
    CHECK(fake::is_of_kind(shared->descriptor(), fake::opaque));
    memory.release(*region);
    const fake::held_payload importer{shared->release()};
    CHECK(importer.size() == 4_MiB);
    CHECK(importer.data()[4_MiB - 1] == std::byte{0x5C});
    CHECK(memory.export_memory(*region).error() == CUDA_ERROR_INVALID_VALUE);
    CHECK(memory.export_memory({}).error() == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("cuda exported memory: the host maps a DMA buffer of the GPU") {
    const exporting_machine machine;
    dma memory;
    const auto region = memory.acquire({.size = 1});
    REQUIRE(region);
    auto shared = allot::external::share<allot::dma::imported_memory<>>(memory, *region);
    REQUIRE(shared);
    allot::dma::imported_memory<> here{std::move(*shared)};
    const auto mapped = here.acquire({.size = region->size});
    REQUIRE(mapped);
    gpu_bytes::fill(*region, 0x66);
    CHECK(laws::host_bytes::hold(*mapped, 0x66));
    here.release(*mapped);
    memory.release(*region);
}

TEST_CASE_TEMPLATE("cuda exported memory: a failure at any call gives everything back", Device, opaque, dma) {
    const exporting_machine machine;
    for (std::size_t call = 1;; ++call) {
        Device memory;
        fake_libcuda::refuse_call(call, CUDA_ERROR_UNKNOWN);
        const auto region = memory.acquire({.size = 1});
        if (region) {
            const auto shared = memory.export_memory(*region);
            if (fake_libcuda::is_refusal_pending()) {  // no call is left to fail
                CHECK(shared);
                fake_libcuda::refuse_call(0, CUDA_SUCCESS);
                memory.release(*region);
                CHECK(call > 10);
                break;
            }
            CHECK(shared.error() == CUDA_ERROR_UNKNOWN);
            memory.release(*region);
        } else {
            CHECK(region.error() == CUDA_ERROR_UNKNOWN);
        }
        CHECK(fake_libcuda::held() == 0);
        CHECK(fake_libcuda::reserved() == 0);
    }
}

TEST_CASE("cuda exported memory: a GPU that exports nothing, and a driver with other granules") {
    const exporting_machine machine;
    fake_libcuda::start({.descriptors = false, .dma_buffers = false});
    CHECK(opaque{}.acquire({.size = 1}).error() == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(dma{}.acquire({.size = 1}).error() == CUDA_ERROR_NOT_SUPPORTED);
    fake_libcuda::start({.virtual_memory = false});
    CHECK(opaque{}.acquire({.size = 1}).error() == CUDA_ERROR_NOT_SUPPORTED);
    fake_libcuda::start({.granularity = 4_MiB});
    CHECK(dma{}.acquire({.size = 1}).error() == CUDA_ERROR_INVALID_VALUE);
    fake_libcuda::start({.misalign = 4096});
    CHECK(opaque{}.acquire({.size = 1}).error() == CUDA_ERROR_MISALIGNED_ADDRESS);
    fake_libcuda::start();
    CHECK(opaque{2}.acquire({.size = 1}).error() == CUDA_ERROR_INVALID_DEVICE);
    allot::cuda::exported_memory<handle_kind::opaque_fd, 1> one;
    const auto held = one.acquire({.size = 1});
    REQUIRE(held);
    CHECK(one.acquire({.size = 1}).error() == CUDA_ERROR_INVALID_VALUE);
    one.release(*held);
}
