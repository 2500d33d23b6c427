// Memory of another driver in OpenCL, over a fake kernel and a fake driver: no OpenCL of Debian has
// cl_khr_external_memory.
#include "../../laws/device_laws.hpp"
#include "../../devices_used.hpp"
#include "../../unit/dma/fake_ioctl.hpp"
#include "driver.hpp"

#include <allot/allot.hpp>
#include <allot/dma.hpp>
#include <allot/opencl/imported_memory.hpp>

#include <optional>

namespace {

using allot::external::handle_kind;
using allot::opencl::imported_memory;
using heap = allot::dma::heap<"reserved">;

/// A DMA heap of a fake kernel, and a fresh OpenCL driver. Counts descriptors.
struct machines {
    machines() { fake::start(); }
    machines(const machines&) = delete;
    machines& operator=(const machines&) = delete;
    ~machines() {
        frames.reset();
        CHECK(fake::book().buffers == 0);
        CHECK(fake::open_descriptors() == opened);
        CHECK(fake::lost_descriptors == 0);
        for (const std::string& each : fake::book().violations) FAIL_CHECK(each);
    }

    [[nodiscard]] imported_memory import_from(allot::region<void*> held) const {
        auto shared = allot::external::share<imported_memory>(*frames, held);
        REQUIRE(shared);
        return {fake::context(), fake::device(), std::move(*shared)};
    }

    tests::fake_kernel kernel;
    const std::size_t opened = fake::open_descriptors();
    std::optional<heap> frames{kernel.heaps()};
};

/// Bytes of a buffer, which a command uses while it is acquired.
struct acquired_bytes {
    using region = allot::region<allot::handle_offset<cl_mem>::address>;
    template <class Use>
    static void in_opencl(cl_mem handle, Use use) {
        REQUIRE(clEnqueueAcquireExternalMemObjectsKHR(fake::queue()(), 1, &handle, 0, nullptr, nullptr) == CL_SUCCESS);
        use();
        REQUIRE(clEnqueueReleaseExternalMemObjectsKHR(fake::queue()(), 1, &handle, 0, nullptr, nullptr) == CL_SUCCESS);
    }
    static void fill(const region& all, unsigned char value) {
        const std::vector<unsigned char> bytes(all.size, value);
        in_opencl(all.base.handle, [&] {
            clEnqueueWriteBuffer(fake::queue()(), all.base.handle, CL_TRUE, 0, all.size, bytes.data(), 0, nullptr,
                                 nullptr);
        });
    }
    [[nodiscard]] static bool hold(const region& all, unsigned char value) {
        std::vector<unsigned char> bytes(all.size);
        in_opencl(all.base.handle, [&] {
            clEnqueueReadBuffer(fake::queue()(), all.base.handle, CL_TRUE, 0, all.size, bytes.data(), 0, nullptr,
                                nullptr);
        });
        return laws::host_bytes::hold({bytes.data(), bytes.size(), 1}, value);
    }
};
struct descriptors {
    [[nodiscard]] laws::held_resources operator()() const { return {fake::open_descriptors(), fake::book().buffers}; }
};

}  // namespace

TEST_CASE_FIXTURE(machines, "opencl external memory: the laws of devices") {
    const auto one = frames->acquire({.size = 8192}), other = frames->acquire({.size = 8192});
    REQUIRE(one);
    REQUIRE(other);
    bool turn = false;
    laws::judge_device([&] { return import_from((turn = !turn) ? *one : *other); }, {.align = 128}, acquired_bytes{},
                       descriptors{});
    frames->release(*one);
    frames->release(*other);
    tests::seen_on_fake_driver("opencl::imported_memory");
}

TEST_CASE_FIXTURE(machines, "opencl external memory: the host and a queue see the same bytes") {
    const auto region = frames->acquire({.size = 5000});
    REQUIRE(region);
    std::memset(region->base, 0x21, region->size);
    {
        allot::arena<imported_memory, allot::best_fit<>> memory{import_from(*region)};
        REQUIRE(memory.size() == 8192);
        const auto x = memory.allocate({.size = 1001, .align = 128});
        REQUIRE(x);
        auto queue = fake::queue();
        cl::Event done;
        CHECK(memory.device().enqueue_acquire(queue, nullptr, &done) == CL_SUCCESS);
        const std::vector<cl::Event> after{done};
        unsigned char seen[1001]{};
        CHECK(clEnqueueReadBuffer(queue(), x.address.handle, CL_TRUE, x.address.offset, sizeof seen, seen, 0, nullptr,
                                  nullptr) == CL_SUCCESS);
        CHECK(laws::host_bytes::hold({seen, sizeof seen, 1}, 0x21));
        seen[1000] = 0x99;
        CHECK(clEnqueueWriteBuffer(queue(), x.address.handle, CL_TRUE, x.address.offset, sizeof seen, seen, 0, nullptr,
                                   nullptr) == CL_SUCCESS);
        CHECK(memory.device().enqueue_release(queue, &after) == CL_SUCCESS);
        const auto* const here = static_cast<unsigned char*>(
            allot::external::counterpart<imported_memory, heap>(x.address, memory.regions()[0], *region));
        CHECK(here[1000] == 0x99);
        CHECK(fake::book().acquires == 1);
        CHECK(fake::book().releases == 1);
    }
    frames->release(*region);
}

TEST_CASE_FIXTURE(machines, "opencl external memory: what the driver does not import is refused, and nothing is lost") {
    const auto region = frames->acquire({.size = 4096});
    REQUIRE(region);
    const auto why_not = [&](allot::layout wanted) {
        auto device = import_from(*region);
        return device.acquire(wanted).error();
    };
    CHECK(why_not({.size = 0}) == CL_INVALID_BUFFER_SIZE);
    CHECK(why_not({.size = 4097}) == CL_INVALID_BUFFER_SIZE);
    CHECK(why_not({.size = 1, .align = 256}) == CL_MISALIGNED_SUB_BUFFER_OFFSET);
    fake::rule().refuse_import = CL_OUT_OF_RESOURCES;
    CHECK(why_not({.size = 1}) == CL_OUT_OF_RESOURCES);
    fake::rule().refuse_import = CL_SUCCESS;
    fake::rule().imports_dma_buffers = false;
    CHECK(why_not({.size = 1}) == CL_INVALID_DEVICE);
    fake::rule().imports_opaque = true;
    CHECK(why_not({.size = 1}) == CL_INVALID_DEVICE);
    fake::rule().imports_dma_buffers = true;
    {  // the stated size exceeds the memory
        auto shared = frames->export_memory(*region);
        REQUIRE(shared);
        imported_memory device{fake::context(), fake::device(), {shared->release(), {.size = 8192}}};
        CHECK(device.acquire({.size = 1}).error() == CL_INVALID_BUFFER_SIZE);
    }
    CHECK(imported_memory{fake::context(), fake::device(), {}}.acquire({.size = 1}).error() == CL_INVALID_PROPERTY);
    auto device = import_from(*region);
    auto queue = fake::queue();
    CHECK(device.enqueue_acquire(queue) == CL_INVALID_OPERATION);  // no region yet
    const auto held = device.acquire({.size = 1});
    REQUIRE(held);
    CHECK(device.acquire({.size = 1}).error() == CL_INVALID_OPERATION);
    fake::rule().has_external_commands = false;
    CHECK(device.enqueue_acquire(queue) == CL_INVALID_OPERATION);
    device.release(*held);
    frames->release(*region);
}

TEST_CASE_FIXTURE(machines, "opencl external memory: an opaque descriptor belongs to one device") {
    fake::rule().imports_opaque = true;
    const auto code_of = [](unsigned char exporter) {
        allot::external::properties about{.kind = handle_kind::opaque_fd, .size = 4096};
        about.device[0] = exporter;
        imported_memory device{fake::context(), fake::device(), {fake::make_payload(fake::opaque, 4096), about}};
        const auto held = device.acquire({.size = 4096});
        if (held) device.release(*held);
        return held ? CL_SUCCESS : held.error();
    };
    CHECK(code_of(7) == CL_SUCCESS);  // the driver reports no identifier, and checks itself
    fake::rule().device_uuid = 7;
    CHECK(code_of(7) == CL_SUCCESS);
    CHECK(code_of(8) == CL_INVALID_DEVICE);
    CHECK(code_of(0) == CL_SUCCESS);
}

TEST_CASE_FIXTURE(machines, "opencl external memory: the fake driver notices use without an acquire") {
    const auto region = frames->acquire({.size = 4096});
    REQUIRE(region);
    auto device = import_from(*region);
    const auto held = device.acquire({.size = 1});
    REQUIRE(held);
    unsigned char byte = 0;
    clEnqueueReadBuffer(fake::queue()(), held->base.handle, CL_TRUE, 0, 1, &byte, 0, nullptr, nullptr);
    CHECK(fake::book().violations.size() == 1);
    fake::book().violations.clear();
    device.release(*held);
    frames->release(*region);
}
