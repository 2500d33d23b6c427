// SPDX-License-Identifier: BSL-1.0
// allot_torch::cpu_allocator with PyTorch's own base class (libc10): each function that PyTorch calls, and threads.
#include <cpu_allocator.hpp>

#include <allot/allot.hpp>
#include <allot/compose/thread_local_caches.hpp>
#include <allot/host/virtual_memory.hpp>

#include <doctest/doctest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace {

using namespace allot::literals;

constexpr allot::growth_options steps{.step = 64_KiB, .regions = 1};
using arena = allot::arena<allot::host::virtual_memory, allot::best_fit<>, allot::growth::contiguous<steps>>;
using locked = allot::synchronized<arena, std::mutex>;
using cached = allot::thread_local_caches<allot::per_thread<arena, std::mutex>>;
constexpr allot::best_fit_options beside{.store = allot::node_store::side_table};  // blocks have metadata
using table_arena =
    allot::arena<allot::host::virtual_memory, allot::best_fit<beside>, allot::growth::contiguous<steps>>;
using tabled = allot::synchronized<table_arena, std::mutex>;

bool aligned(const void* at) { return reinterpret_cast<std::uintptr_t>(at) % c10::gAlignment == 0; }

template <class Memory>
std::unique_ptr<allot_torch::cpu_allocator<Memory>> make(std::size_t reserve) {
    using inner = std::conditional_t<std::same_as<Memory, tabled>, table_arena, arena>;
    return std::make_unique<allot_torch::cpu_allocator<Memory>>(inner{allot::host::virtual_memory{reserve}});
}

}  // namespace

TEST_CASE_TEMPLATE("cpu_allocator: blocks of all sizes are aligned, apart, and counted", Memory, locked, cached,
                   tabled) {
    const auto memory = make<Memory>(64_MiB);
    c10::Allocator& plain = *memory;
    std::vector<c10::DataPtr> held;
    std::size_t used = 0;
    unsigned char value = 0;
    for (const std::size_t size : {1u, 4u, 63u, 64u, 65u, 1000u, 4097u, 32767u, 77777u, 1000003u}) {
        CAPTURE(size);
        held.push_back(plain.allocate(size));
        const c10::DataPtr& fresh = held.back();
        REQUIRE(fresh.get() != nullptr);
        CHECK(aligned(fresh.get()));
        CHECK(fresh.get() == fresh.get_context());  // a precondition of the raw interface and of lazy clones
        const bool deleter = fresh.get_deleter() == plain.raw_deleter();
        CHECK(deleter);
        CHECK(fresh.device() == c10::Device{c10::DeviceType::CPU});
        std::memset(fresh.get(), ++value, size);
        used += size;
    }
    value = 0;
    for (const c10::DataPtr& each : held) CHECK(*static_cast<unsigned char*>(each.get()) == ++value);
    allot_torch::statistics now = memory->statistics();
    CHECK(now.used == used);
    CHECK(now.peak == used);
    CHECK(now.held >= used);
    CHECK(now.blocks == held.size());
    CHECK(now.requests == held.size());
    CHECK(now.refusals == 0);
    held.clear();
    now = memory->statistics();
    CHECK(now.used == 0);
    CHECK(now.peak == used);
    CHECK(now.blocks == 0);
    memory->reset_peak();
    CHECK(memory->statistics().peak == 0);
}

TEST_CASE_TEMPLATE("cpu_allocator: an empty tensor has no memory", Memory, locked, cached, tabled) {
    const auto memory = make<Memory>(1_MiB);
    c10::Allocator& plain = *memory;
    {
        const c10::DataPtr none = plain.allocate(0);
        CHECK(none.get() == nullptr);
        const bool deleter = none.get_deleter() == plain.raw_deleter();
        CHECK(deleter);
    }
    void* const raw = plain.raw_allocate(0);
    CHECK(raw == nullptr);
    plain.raw_deallocate(raw);
    CHECK(memory->statistics().requests == 0);
}

TEST_CASE("cpu_allocator: the raw interface and copies") {
    const auto memory = make<locked>(1_MiB);
    c10::Allocator& plain = *memory;
    auto* const raw = static_cast<char*>(plain.raw_allocate(100));
    CHECK(aligned(raw));
    std::memset(raw, 'a', 100);
    const c10::DataPtr other = plain.allocate(100);
    memory->copy_data(other.get(), raw, 100);
    CHECK(static_cast<char*>(other.get())[99] == 'a');
    CHECK(memory->statistics().used == 200);
    plain.raw_deallocate(raw);
    CHECK(memory->statistics().used == 100);
}

TEST_CASE_TEMPLATE("cpu_allocator: a refused request throws PyTorch's exception and changes nothing", Memory, locked,
                   cached, tabled) {
    const auto memory = make<Memory>(1_MiB);
    c10::Allocator& plain = *memory;
    const c10::DataPtr first = plain.allocate(1000);
    for (const std::size_t size : {2_MiB, SIZE_MAX - 100, SIZE_MAX}) {
        CAPTURE(size);
        std::string reason;
        try {
            static_cast<void>(plain.allocate(size));
        } catch (const c10::OutOfMemoryError& why) {
            reason = why.what_without_backtrace();
        }
        const std::string opening = "allot: no memory for a tensor of " + std::to_string(size) + " bytes: ";
        CHECK(reason.substr(0, opening.size()) == opening);
        CHECK(reason.size() > opening.size());
    }
    const allot_torch::statistics now = memory->statistics();
    CHECK(now.refusals == 3);
    CHECK(now.used == 1000);
    CHECK(now.peak == 1000);
    CHECK(plain.allocate(1000).get() != nullptr);  // the allocator goes on
}

TEST_CASE("cpu_allocator: blocks of two allocators return to their own") {
    const auto one = make<locked>(1_MiB), two = make<locked>(1_MiB);
    c10::DataPtr a = one->allocate(100), b = two->allocate(200);
    std::swap(a, b);
    a.clear();
    CHECK(one->statistics().used == 100);
    CHECK(two->statistics().used == 0);
    b.clear();
    CHECK(one->statistics().used == 0);
}

TEST_CASE_TEMPLATE("cpu_allocator: threads free the blocks of other threads", Memory, locked, cached, tabled) {
    const auto memory = make<Memory>(64_MiB);
    constexpr std::size_t threads = 3, rounds = 500;
    std::mutex mutex;
    std::vector<c10::DataPtr> shared;
    std::vector<std::thread> running;
    for (std::size_t t = 0; t != threads; ++t)
        running.emplace_back([&, t] {
            for (std::size_t i = 0; i != rounds; ++i) {
                c10::DataPtr fresh = memory->allocate(1 + (i * 7919 + t * 104729) % 40000), other;
                const std::lock_guard alone{mutex};
                if (shared.size() > 20) {
                    other = std::move(shared[i % shared.size()]);
                    shared[i % shared.size()] = std::move(shared.back());
                    shared.pop_back();
                }
                shared.push_back(std::move(fresh));
            }
        });
    for (std::thread& each : running) each.join();
    CHECK(memory->statistics().blocks == shared.size());
    shared.clear();
    const allot_torch::statistics now = memory->statistics();
    CHECK(now.requests == threads * rounds);
    CHECK(now.used == 0);
    CHECK(now.peak > 0);
    CHECK(memory->trim() == now.held);
    CHECK(memory->statistics().held == 0);
}

TEST_CASE("cpu_allocator: PyTorch's allocator of the CPU is the one of the highest priority") {
    static const auto memory = make<locked>(1_MiB);  // PyTorch keeps the pointer
    c10::Allocator* const before = c10::GetCPUAllocator();
    c10::SetCPUAllocator(memory.get());
    CHECK(c10::GetCPUAllocator() == memory.get());
    const c10::DataPtr data = c10::GetCPUAllocator()->allocate(10);
    CHECK(memory->statistics().used == 10);
    c10::SetCPUAllocator(before);
    CHECK(c10::GetCPUAllocator() == before);
}
