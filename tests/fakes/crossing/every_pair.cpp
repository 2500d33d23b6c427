// Every pair of an exporter and an importer with a common kind of handle, on fake drivers: both see the same bytes at
// the same offsets, either can be destroyed first, and no descriptor is lost.
#include "../../laws/device_laws.hpp"
#include "../../unit/cuda/fake_libcuda.hpp"
#include "../../unit/dma/fake_ioctl.hpp"
#include "../../unit/gpu/fake_gpu.hpp"
#include "../../unit/xrt/fake_xrt.hpp"
#include "../vulkan/driver.hpp"

#include <allot/allot.hpp>
#include <allot/cuda.hpp>
#include <allot/dma.hpp>
#include <allot/opencl/imported_memory.hpp>
#include <allot/vulkan.hpp>
#include <allot/xrt.hpp>

#include <optional>

namespace fake {  // of ../opencl/driver.hpp
cl::Context context();
cl::CommandQueue queue();
}  // namespace fake

namespace crossing {

void start_opencl();
std::size_t opencl_violations();

namespace {

using allot::external::handle_kind;
using allot::external::memory;
constexpr auto dma = handle_kind::dma_buf, opaque = handle_kind::opaque_fd;
constexpr VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;

/// All machines, fresh. At the end, nothing is held and no rule is broken.
struct machines {
    machines() {
        fake::now = {};
        fake::now.heap = fake::now.largest = std::size_t{1} << 26;
        fake::now.most_allocations = 16;
        gpu.emplace(&fake::get, fake::instance, fake::physical, fake::device);
        start_opencl();
        fake_gpu::start();
        fake_libcuda::start();
        fake_xrt::now = {};
        fake_xrt::now.settings.is_board = true;
        opened = fake::open_descriptors();
    }
    machines(const machines&) = delete;
    machines& operator=(const machines&) = delete;
    ~machines() {
        CHECK(fake::open_descriptors() == opened);
        CHECK(fake::lost_descriptors + fake_libcuda::lost_descriptors() == 0);
        CHECK(fake::now.memory.empty());
        CHECK(fake::now.broken == std::vector<std::string>{});
        CHECK(opencl_violations() == 0);
        CHECK(fake_gpu::imports() + fake_gpu::live() + fake_gpu::wrong_frees() == 0);
        CHECK(fake_libcuda::held() + fake_libcuda::wrong_calls() == 0);
        CHECK(fake_xrt::now.objects.empty());
        CHECK(fake_xrt::now.violations.empty());
    }
    tests::fake_kernel kernel;
    std::optional<allot::vulkan::logical_device> gpu;
    std::size_t opened = 0;
};

// ── how each side is made, and how its bytes are reached ─────────────────────────────────────────────────────────────

/// Bytes that the host reaches through an accessor with periods.
struct by_host {
    template <class Device>
    static void write(Device& device, const allot::region<void*>& all, unsigned char value) {
        auto access = device.access(all.base, all.size, allot::dma::cpu_use::write);
        REQUIRE(access);
        std::memset(all.base, value, all.size);
        CHECK(access.end() == 0);
    }
    template <class Device>
    static bool read(Device& device, const allot::region<void*>& all, unsigned char value) {
        auto access = device.access(all.base, all.size, allot::dma::cpu_use::read);
        REQUIRE(access);
        return laws::host_bytes::hold(all, value);
    }
};
struct by_vulkan {
    template <class Device, class Region>
    static void write(Device&, const Region& all, unsigned char value) {
        std::memset(fake::now.memory.at(all.base.handle).data(), value, all.size);
    }
    template <class Device, class Region>
    static bool read(Device&, const Region& all, unsigned char value) {
        return laws::host_bytes::hold({fake::now.memory.at(all.base.handle).data(), all.size, 1}, value);
    }
};
/// Through buffers of the host, by a function of the driver in each direction.
template <class Write, class Read>
struct by_copies {
    template <class Device, class Region>
    static void write(Device& device, const Region& all, unsigned char value) {
        const std::vector<unsigned char> bytes(all.size, value);
        Write{}(device, all, bytes.data());
    }
    template <class Device, class Region>
    static bool read(Device& device, const Region& all, unsigned char value) {
        std::vector<unsigned char> bytes(all.size, static_cast<unsigned char>(~value));
        Read{}(device, all, bytes.data());
        return laws::host_bytes::hold({bytes.data(), bytes.size(), 1}, value);
    }
};
struct write_opencl {
    template <class Region>
    void operator()(allot::opencl::imported_memory& device, const Region& all, const void* from) const {
        const auto queue = fake::queue();
        REQUIRE(device.enqueue_acquire(queue) == CL_SUCCESS);
        clEnqueueWriteBuffer(queue(), all.base.handle, CL_TRUE, 0, all.size, from, 0, nullptr, nullptr);
        REQUIRE(device.enqueue_release(queue) == CL_SUCCESS);
    }
};
struct read_opencl {
    template <class Region>
    void operator()(allot::opencl::imported_memory& device, const Region& all, void* to) const {
        const auto queue = fake::queue();
        REQUIRE(device.enqueue_acquire(queue) == CL_SUCCESS);
        clEnqueueReadBuffer(queue(), all.base.handle, CL_TRUE, 0, all.size, to, 0, nullptr, nullptr);
        REQUIRE(device.enqueue_release(queue) == CL_SUCCESS);
    }
};
struct write_cuda {
    template <class Device>
    void operator()(Device&, const allot::region<void*>& all, const void* from) const {
        REQUIRE(cudaMemcpy(all.base, from, all.size, cudaMemcpyDefault) == cudaSuccess);
    }
};
struct read_cuda {
    template <class Device>
    void operator()(Device&, const allot::region<void*>& all, void* to) const {
        REQUIRE(cudaMemcpy(to, all.base, all.size, cudaMemcpyDefault) == cudaSuccess);
    }
};
/// By CUDA's driver, on the primary context of GPU 0.
struct by_driver {
    template <class Device>
    static void write(Device&, const allot::region<void*>& all, unsigned char value) {
        const allot::cuda::driver_functions driver;
        const allot::cuda::current_context there{driver, 0};
        REQUIRE(cuMemsetD8_v2(allot::raw_pointer::position(all.base), value, all.size) == CUDA_SUCCESS);
    }
    template <class Device>
    static bool read(Device&, const allot::region<void*>& all, unsigned char value) {
        const allot::cuda::driver_functions driver;
        const allot::cuda::current_context there{driver, 0};
        std::vector<unsigned char> bytes(all.size);
        REQUIRE(cuMemcpyDtoH_v2(bytes.data(), allot::raw_pointer::position(all.base), all.size) == CUDA_SUCCESS);
        return laws::host_bytes::hold({bytes.data(), bytes.size(), 1}, value);
    }
};

template <class Device>
struct side;
template <>
struct side<allot::dma::heap<"reserved">> : by_host {
    static allot::dma::heap<"reserved"> make(machines& on) { return allot::dma::heap<"reserved">{on.kernel.heaps()}; }
};
template <>
struct side<allot::dma::udmabuf<>> : by_host {
    static allot::dma::udmabuf<> make(machines& on) { return allot::dma::udmabuf<>{on.kernel.udmabuf()}; }
};
template <>
struct side<allot::dma::imported_memory<>> : by_host {
    static allot::dma::imported_memory<> make(machines&, memory from) {
        return allot::dma::imported_memory<>{std::move(from)};
    }
};
template <handle_kind Kind>
struct side<allot::vulkan::exported_memory<Kind>> : by_vulkan {
    static allot::vulkan::exported_memory<Kind> make(machines& on) { return {*on.gpu, fake::coherent, usage}; }
};
template <handle_kind Kind>
struct side<allot::vulkan::imported_memory<Kind>> : by_vulkan {
    static allot::vulkan::imported_memory<Kind> make(machines& on, memory from) {
        return {*on.gpu, std::move(from), usage};
    }
};
template <>
struct side<allot::opencl::imported_memory> : by_copies<write_opencl, read_opencl> {
    static allot::opencl::imported_memory make(machines&, memory from) {
        const cl::Device device{fake::queue().getInfo<CL_QUEUE_DEVICE>()};
        return {fake::context(), device, std::move(from)};
    }
};
template <>
struct side<allot::cuda::imported_memory> : by_copies<write_cuda, read_cuda> {
    static allot::cuda::imported_memory make(machines&, memory from) {
        return allot::cuda::imported_memory{std::move(from)};
    }
};
template <handle_kind Kind>
struct side<allot::cuda::exported_memory<Kind>> : by_driver {
    static allot::cuda::exported_memory<Kind> make(machines&) { return allot::cuda::exported_memory<Kind>{}; }
};
template <>
struct side<allot::xrt::buffers<>> : by_host {
    static allot::xrt::buffers<> make(machines&) { return {fake_xrt::calls, fake_xrt::board, 0}; }
};
template <>
struct side<allot::xrt::imported_memory> : by_host {
    static allot::xrt::imported_memory make(machines&, memory from) {
        return {fake_xrt::calls, fake_xrt::board, std::move(from)};
    }
};

template <class From, class To>
constexpr bool crosses =
    (From::exports.dma_buf && To::imports.dma_buf) || (From::exports.opaque_fd && To::imports.opaque_fd);

/// Returns whether the pair has a common kind of handle.
template <class From, class To>
bool cross() {
    if constexpr (!crosses<From, To>) {
        return false;
    } else {
        for (const bool exporter_first : {true, false}) {
            machines on;
            INFO(__PRETTY_FUNCTION__);
            std::optional<From> from{std::in_place, side<From>::make(on)};
            const auto here = from->acquire({.size = 9000});
            REQUIRE(here);
            side<From>::write(*from, *here, 0x11);
            auto shared = allot::external::share<To>(*from, *here);
            REQUIRE(shared);
            std::optional<To> to{std::in_place, side<To>::make(on, std::move(*shared))};
            const auto there = to->acquire({.size = here->size});
            REQUIRE(there);
            CHECK(there->size == here->size);
            CHECK(side<To>::read(*to, *there, 0x11));
            side<To>::write(*to, *there, 0x22);
            CHECK(side<From>::read(*from, *here, 0x22));
            if (exporter_first) {
                from->release(*here);
                from.reset();
                CHECK(side<To>::read(*to, *there, 0x22));  // the bytes live on
                to->release(*there);
            } else {
                to->release(*there);
                to.reset();
                CHECK(side<From>::read(*from, *here, 0x22));
                from->release(*here);
            }
        }
        return true;
    }
}
template <class From, class... To>
std::size_t cross_all() {
    return (std::size_t{cross<From, To>()} + ...);
}
template <class From>
std::size_t to_every_importer() {
    return cross_all<From, allot::dma::imported_memory<>, allot::vulkan::imported_memory<dma>,
                     allot::vulkan::imported_memory<opaque>, allot::opencl::imported_memory,
                     allot::cuda::imported_memory, allot::xrt::imported_memory>();
}

}  // namespace

TEST_CASE("crossing: DMA buffers of the kernel reach the host, Vulkan, OpenCL and XRT") {
    CHECK(to_every_importer<allot::dma::heap<"reserved">>() == 4);
    CHECK(to_every_importer<allot::dma::udmabuf<>>() == 4);
}
TEST_CASE("crossing: Vulkan's memory reaches every importer by one of two kinds") {
    CHECK(to_every_importer<allot::vulkan::exported_memory<dma>>() == 4);
    CHECK(to_every_importer<allot::vulkan::exported_memory<opaque>>() == 3);
}
TEST_CASE("crossing: CUDA's memory reaches every importer by one of two kinds") {
    CHECK(to_every_importer<allot::cuda::exported_memory<dma>>() == 4);
    CHECK(to_every_importer<allot::cuda::exported_memory<opaque>>() == 3);
}
TEST_CASE("crossing: XRT's buffers reach the host, Vulkan, OpenCL and another card") {
    CHECK(to_every_importer<allot::xrt::buffers<>>() == 4);
}

}  // namespace crossing
