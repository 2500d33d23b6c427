// Memory of another driver in CUDA's and HIP's runtimes, on the fake runtime: who owns the descriptor, which memory is
// refused, and in which order it is freed.
#include "../../fakes/payloads.hpp"
#include "../../laws/device_laws.hpp"
#include "fake_gpu.hpp"
#include "machine.hpp"

namespace {

using allot::external::handle_kind;
using vendor::imported_memory;

/// A fresh runtime, and descriptors that are all closed at the end.
struct shared_machine {
    tests::machine machine;
    const std::size_t opened = fake::open_descriptors();
    shared_machine() = default;
    shared_machine(const shared_machine&) = delete;
    shared_machine& operator=(const shared_machine&) = delete;
    ~shared_machine() {
        CHECK(fake_gpu::imports() == 0);
        CHECK(fake::open_descriptors() == opened);
        CHECK(fake::lost_descriptors == 0);
    }
};

/// Memory of another driver on GPU 0.
allot::external::memory payload(std::size_t size, const char* kind = fake::opaque) {
    allot::external::properties about{.kind = handle_kind::opaque_fd, .size = size};
    about.device[0] = 1;
    return {fake::make_payload(kind, size), about};
}

struct device_bytes {
    static void fill(const allot::region<void*>& all, unsigned char value) {
        REQUIRE(gpu::memset(all.base, value, all.size) == gpu::success);
    }
    [[nodiscard]] static bool hold(const allot::region<void*>& all, unsigned char value) {
        std::vector<unsigned char> bytes(all.size);
        REQUIRE(gpu::memcpy(bytes.data(), all.base, bytes.size()) == gpu::success);
        return laws::host_bytes::hold({bytes.data(), bytes.size(), 1}, value);
    }
};
struct descriptors {
    [[nodiscard]] laws::held_resources operator()() const { return {fake::open_descriptors(), fake_gpu::imports()}; }
};

}  // namespace

TEST_CASE_FIXTURE(shared_machine, VENDOR " imported memory: the laws of devices") {
    laws::judge_device([] { return imported_memory{payload(8192)}; }, {}, device_bytes{}, descriptors{});
    tests::machine::seen(VENDOR "::imported_memory");
}

TEST_CASE_FIXTURE(shared_machine, VENDOR " imported memory: kernels see the exporter's bytes at the same offsets") {
    auto from = payload(20'480);
    fake::held_payload exporter{from.duplicate().value().release()};
    std::memset(exporter.data(), 0x42, exporter.size());
    allot::arena<imported_memory, allot::best_fit<>> memory{imported_memory{std::move(from)}};
    REQUIRE(memory.size() == 20'480);
    const auto block = memory.allocate({.size = 3001, .align = 256});
    REQUIRE(block);
    CHECK(device_bytes::hold({block.address, block.size, 1}, 0x42));
    device_bytes::fill({block.address, block.size, 1}, 0x43);
    const std::size_t offset =
        allot::raw_pointer::position(block.address) - allot::raw_pointer::position(memory.regions()[0].base);
    CHECK(exporter.data()[offset] == std::byte{0x43});
    CHECK(exporter.data()[offset + 3000] == std::byte{0x43});
    CHECK(memory.device().source().about().size == 20'480);
}

TEST_CASE_FIXTURE(shared_machine, VENDOR " imported memory: other memory is refused, and each failure gives all back") {
    const auto code_of = [](allot::external::memory from, allot::layout wanted, int device = 0) {
        imported_memory memory{std::move(from), device};
        const auto held = memory.acquire(wanted);
        if (held) memory.release(*held);
        return held ? gpu::success : held.error();
    };
    constexpr allot::layout all{4096, 256};
    CHECK(code_of(payload(4096), all) == gpu::success);
    CHECK(code_of({}, all) == gpu::invalid_value);
    CHECK(code_of(payload(4096), {4097, 1}) == gpu::invalid_value);
    CHECK(code_of(payload(4096), {0, 1}) == gpu::invalid_value);
    CHECK(code_of(payload(4096), {1, 512}) == gpu::invalid_value);
    CHECK(code_of(payload(4096), all, 1) == gpu::invalid_value);  // the other GPU
    CHECK(code_of(payload(4096), all, 2) == gpu::invalid_device);
    CHECK(code_of(payload(4096, fake::dma_buffer), all) == gpu::invalid_value);  // said to be opaque
    auto changed = payload(4096);
    auto about = changed.about();
    about.size = 8192;  // more than there is
    CHECK(code_of({changed.release(), about}, all) == gpu::invalid_value);
    about = {.kind = handle_kind::dma_buf, .size = 4096};
    CHECK(code_of({fake::make_payload(fake::dma_buffer, 4096), about}, all) == gpu::invalid_value);
    about = {.kind = handle_kind::opaque_fd, .size = 4096, .dedicated = true};  // of an unknown GPU
    CHECK(code_of({fake::make_payload(fake::opaque, 4096), about}, all) == gpu::success);
    fake_gpu::refuse_next(gpu::busy);  // the import: the descriptor stays with the program
    CHECK(code_of(payload(4096), all) == gpu::busy);
    fake_gpu::refuse_next_mapping(gpu::busy);  // after the import: the descriptor is the driver's
    CHECK(code_of(payload(4096), all) == gpu::busy);

    imported_memory memory{payload(4096)};
    const auto held = memory.acquire(all);
    REQUIRE(held);
    CHECK(memory.acquire(all).error() == gpu::invalid_value);
    imported_memory moved{std::move(memory)};
    moved.release(*held);
}
