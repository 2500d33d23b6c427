// SPDX-License-Identifier: BSL-1.0
// allot_torch::device_allocator with PyTorch's own base class (libc10), for two devices whose memory no host can
// access.
#include <device_allocator.hpp>

#include <allot/allot.hpp>
#include <allot/compose/thread_local_caches.hpp>

#include <doctest/doctest.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include <sys/mman.h>

namespace {

using namespace allot::literals;

constexpr auto type = c10::DeviceType::PrivateUse1;

/// The driver: mappings that each access would end the test, of at most 64 KiB in all.
class accelerator : public allot::pointer_memory_traits<accelerator, false> {
public:
    using error = int;
    static constexpr std::size_t min_align = 4096, granularity = 4096;

    allot::acquired<accelerator> acquire(allot::layout wanted) noexcept {
        if (wanted.align > min_align || wanted.size > left_) return allot::acquired<accelerator>::failure(ENOMEM);
        const std::size_t size = allot::align_up(wanted.size, granularity);
        void* const base = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base == MAP_FAILED) return allot::acquired<accelerator>::failure(errno);
        left_ -= size;
        return allot::region<void*>{base, size, min_align};
    }
    void release(allot::region<void*> held) noexcept {
        ::munmap(held.base, held.size);
        left_ += held.size;
    }

private:
    std::size_t left_ = 64_KiB;
};

/// The guard of a backend: the device that the thread has selected.
thread_local c10::DeviceIndex current = 0;
struct guard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override { return ::type; }
    c10::Device getDevice() const override { return {::type, current}; }
    c10::Device exchangeDevice(c10::Device to) const override {
        const c10::Device from = getDevice();
        current = to.index();
        return from;
    }
    void setDevice(c10::Device to) const override { current = to.index(); }
    void uncheckedSetDevice(c10::Device to) const noexcept override { current = to.index(); }
    c10::Stream getStream(c10::Device of) const noexcept override { return c10::Stream{c10::Stream::DEFAULT, of}; }
    c10::Stream exchangeStream(c10::Stream to) const noexcept override { return to; }
    c10::DeviceIndex deviceCount() const noexcept override { return 2; }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, guard)

constexpr allot::growth_options steps{.step = 16_KiB};
using arena = allot::arena<accelerator, allot::best_fit<>, allot::growth::fixed<steps>>;
using locked = allot::synchronized<arena, std::mutex>;
using cached = allot::thread_local_caches<allot::per_thread<arena, std::mutex>>;

constexpr c10::DeviceIndex both[] = {0, 1};

template <class Memory>
auto make = [](c10::DeviceIndex) { return Memory{arena{accelerator{}}}; };

}  // namespace

TEST_CASE_TEMPLATE("device_allocator: tensors are on the current device, apart, and counted", Memory, locked, cached) {
    allot_torch::device_allocator<Memory, 256> memory{2, make<Memory>};
    c10::Allocator& plain = memory;
    std::vector<c10::DataPtr> held;
    std::map<std::uintptr_t, std::size_t> ranges;
    std::size_t used[2]{};
    for (const std::size_t size : {1u, 4u, 255u, 256u, 257u, 1000u, 5001u}) {
        for (const c10::DeviceIndex device : both) {
            CAPTURE(size);
            current = device;
            held.push_back(plain.allocate(size));
            const c10::DataPtr& fresh = held.back();
            const auto at = reinterpret_cast<std::uintptr_t>(fresh.get());
            REQUIRE(at != 0);
            CHECK(at % 256 == 0);
            CHECK(fresh.device() == c10::Device{type, device});
            used[device] += size;
            ranges.emplace(at, size);
        }
    }
    CHECK(ranges.size() == held.size());
    for (auto each = ranges.begin(), next = std::next(each); next != ranges.end(); each = next++)
        CHECK(each->first + each->second <= next->first);
    for (const c10::DeviceIndex device : both) {
        const allot_torch::statistics now = memory.statistics(device);
        CHECK(now.used == used[device]);
        CHECK(now.peak == used[device]);
        CHECK(now.blocks == 7);
        CHECK(now.requests == 7);
        CHECK(now.held % 4096 == 0);
        CHECK(now.held >= used[device]);
    }
    current = 0;  // a tensor returns to the device that it is on
    held.clear();
    for (const c10::DeviceIndex device : both) {
        memory.reset_peak(device);
        const allot_torch::statistics now = memory.statistics(device);
        CHECK(now.used == 0);
        CHECK(now.peak == 0);
        CHECK(memory.trim(device) == now.held);
        CHECK(memory.statistics(device).held == 0);
    }
}

TEST_CASE("device_allocator: an empty tensor has no memory, and the raw interface is absent") {
    current = 1;
    const allot_torch::device_allocator<locked> memory{2, make<locked>};
    const c10::DataPtr none = memory.allocate(0);
    CHECK(none.get() == nullptr);
    CHECK(none.device() == c10::Device{type, 1});
    CHECK(memory.statistics(1).requests == 0);
    const bool absent = memory.raw_deleter() == nullptr;
    CHECK(absent);
    CHECK_THROWS_AS(memory.copy_data(nullptr, nullptr, 1), c10::NotImplementedError);
}

TEST_CASE("device_allocator: a refused request names the reason, and other devices go on") {
    current = 0;
    allot_torch::device_allocator<locked> memory{2, make<locked>};
    const c10::DataPtr first = memory.allocate(40000);
    std::string reason;
    try {
        static_cast<void>(memory.allocate(30000));
    } catch (const c10::OutOfMemoryError& why) {
        reason = why.what_without_backtrace();
    }
    CHECK(reason == "allot: no memory for a tensor of 30000 bytes: the device refused to give memory");
    CHECK(memory.statistics(0).refusals == 1);
    CHECK(memory.statistics(0).used == 40000);
    current = 1;
    CHECK(memory.allocate(30000).get() != nullptr);
    current = 2;
    CHECK_THROWS_AS(static_cast<void>(memory.allocate(1)), c10::IndexError);
    CHECK_THROWS_AS(static_cast<void>(memory.statistics(-1)), c10::IndexError);
}

TEST_CASE("device_allocator: a thread frees the tensors of another one") {
    current = 0;
    allot_torch::device_allocator<cached> memory{2, make<cached>};
    for (int round = 0; round != 200; ++round) {
        c10::DataPtr one;
        std::thread{[&] {
            current = 1;
            one = memory.allocate(9000);
        }}.join();
        CHECK(memory.statistics(1).used == 9000);
    }
    CHECK(memory.statistics(1).used == 0);
    CHECK(memory.statistics(0).requests == 0);
}

TEST_CASE("device_allocator: PyTorch's allocator of the backend is the one of the highest priority") {
    static allot_torch::device_allocator<locked> backend{2, make<locked>}, ours{2, make<locked>};
    c10::SetAllocator(type, &backend);
    c10::SetAllocator(type, &ours, 1);
    c10::SetAllocator(type, &backend);
    CHECK(c10::GetAllocator(type) == &ours);
}
