// The laws of a device: the properties of every memory before an arena divides it.
//
//     laws::judge_device([] { return allot::host::pages<>{}; }, {.align = 64_KiB});
//
// In short (core/device.hpp has the contract):
//     a region      has at least the requested bytes and alignment, whole granules, and shares no byte with another one
//     nonsense      no bytes, no alignment, or sizes near the largest number: fails with a code and loses no memory
//     any order     regions are released in the order of their acquisition, in reverse order and in any other order
//     two           devices of one kind share no state
//     moved         a move transfers the regions of a device, and the new object releases them
//     all taken     fails with a code, and released memory can be acquired again
//     out of memory kept regions are released and the device is called once more; the result of that call is reported
//     in the end    the process has no more descriptors and mappings than before
//
// `make` returns a new device, also while another one exists. `Bytes` defines how bytes are written and read.
#pragma once

#include "../bytes.hpp"

#include <allot/allot.hpp>

#include <doctest/doctest.h>

#if defined(__linux__)
#include <fcntl.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace laws {

struct device_limits {
    std::size_t size = 1000;   // of most requests; larger for a device with one window
    std::size_t align = 1;     // supported alignment, if larger than `min_align`
    std::size_t at_once = 10;  // regions that can be held; one for a device with one window
    std::size_t granules = 2;  // granules of a region; with 1, no request is larger than a kept region
};

// ── writing and reading bytes ────────────────────────────────────────────────────────────────────────────────────────

/// By the host: every byte of a region.
struct host_bytes {
    static void fill(const allot::region<void*>& all, unsigned char value) { std::memset(all.base, value, all.size); }
    [[nodiscard]] static bool hold(const allot::region<void*>& all, unsigned char value) {
        return tests::have_value(all.base, all.size, value);
    }
};
/// Constants, which are not written.
struct constant_bytes {
    static void fill(const allot::region<const void*>&, unsigned char) {}
    [[nodiscard]] static bool hold(const allot::region<const void*>&, unsigned char) { return true; }
};

// ── resources of the process ─────────────────────────────────────────────────────────────────────────────────────────

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool under_asan = true;
#elif defined(__has_feature)
inline constexpr bool under_asan = __has_feature(address_sanitizer);
#else
inline constexpr bool under_asan = false;
#endif

struct held_resources {
    std::size_t descriptors = 0, mapped_pages = 0;
    friend bool operator==(const held_resources&, const held_resources&) = default;
};

#if defined(__linux__)
/// Resources that the system counts. The address sanitizer keeps freed memory mapped for a while, so that mappings
/// count as 0 there.
struct process_resources {
    [[nodiscard]] held_resources operator()() const {
        held_resources now;
        for (int i = 0; i != 1024; ++i) now.descriptors += ::fcntl(i, F_GETFD) >= 0;
        if (under_asan) return now;
        const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
        char text[64]{};
        if (::read(file, text, sizeof text - 1) > 0) now.mapped_pages = std::strtoul(text, nullptr, 10);
        ::close(file);
        return now;
    }
};
#endif
/// For drivers and systems that keep resources: nothing is counted.
struct no_resources {
    [[nodiscard]] held_resources operator()() const { return {}; }
};
#if !defined(__linux__)
using process_resources = no_resources;
#endif

// ── a device that runs out ───────────────────────────────────────────────────────────────────────────────────────────

/// State of a `limited` device: its regions, its calls, and the codes of its next failures.
template <class Error>
struct supply {
    std::size_t regions = 0;  // number of regions; further requests fail with `no_more`
    Error no_more{};
    std::deque<Error> refusals{};
    std::size_t attempts = 0, out = 0;
};

/// A device with a limited number of regions.
template <class Device>
class limited : public allot::traits_of<Device> {
public:
    using error = typename Device::error;

    limited(Device device, std::shared_ptr<supply<error>> of) noexcept
        : device_{std::move(device)}, of_{std::move(of)} {}

    [[nodiscard]] allot::acquired<limited> acquire(allot::layout wanted) noexcept {
        ++of_->attempts;
        if (!of_->refusals.empty()) {
            const error reason = of_->refusals.front();
            of_->refusals.pop_front();
            return allot::acquired<limited>::failure(reason);
        }
        if (of_->out == of_->regions) return allot::acquired<limited>::failure(of_->no_more);
        const allot::acquired<Device> answer = device_.acquire(wanted);
        if (!answer) return allot::acquired<limited>::failure(answer.error());
        ++of_->out;
        return *answer;
    }
    void release(allot::region_of<Device> back) noexcept {
        --of_->out;
        device_.release(back);
    }

private:
    Device device_;
    std::shared_ptr<supply<error>> of_;
};

// ── the laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────

template <class Make, class Bytes>
class device_judge {
    using device = decltype(std::declval<Make&>()());
    using region = allot::region_of<device>;
    using model = typename device::address_model;
    static constexpr bool bounded = allot::bounded_device<device>;
    static constexpr std::size_t most = std::numeric_limits<std::size_t>::max(), half = most / 2 + 1;

    Make& make_;
    const device_limits limits_;
    Bytes bytes_;
    const std::size_t least_ = std::max(limits_.size, device::granularity);

public:
    device_judge(Make& make, const device_limits& limits, Bytes bytes) : make_{make}, limits_{limits}, bytes_{bytes} {}

    void judge() {
        regions_are_as_asked();
        nonsense_is_refused();
        regions_go_back_in_any_order();
        two_have_nothing_in_common();
        if constexpr (std::is_move_constructible_v<device>) {
            regions_move_with_the_device();
            if (bounded || limits_.granules > 1) out_of_memory();
        }
    }

private:
    /// Acquires a region and checks it against the contract.
    void check(const region& held, allot::layout wanted) const {
        CHECK(held.size >= wanted.size);
        CHECK(held.size % device::granularity == 0);
        CHECK(allot::is_alignment(held.align));
        CHECK(held.align >= wanted.align);
        CHECK(held.align >= device::min_align);
        CHECK(model::position(held.base) % held.align == 0);
    }
    region take(device& from, allot::layout wanted) const {
        const auto answer = from.acquire(wanted);
        INFO("size ", wanted.size, ", alignment ", wanted.align);
        REQUIRE(answer);
        check(*answer, wanted);
        return *answer;
    }

    void regions_are_as_asked() {
        device it = make_();
        for (std::size_t align = 1; align <= std::max(limits_.align, device::min_align); align *= 2) {
            for (const std::size_t size : {std::size_t{1}, limits_.size - 1, limits_.size}) {
                const region held = take(it, {size, align});
                bytes_.fill(held, 0x5A);
                CHECK(bytes_.hold(held, 0x5A));
                it.release(held);
            }
        }
    }

    /// Checks that the request fails with a code, or succeeds as every other request if it is only large.
    void ask(device& it, allot::layout wanted, bool may_be_served) {
        const auto answer = it.acquire(wanted);
        INFO("size ", wanted.size, ", alignment ", wanted.align);
        if (answer) {
            CHECK(may_be_served);
            check(*answer, wanted);
            it.release(*answer);
        } else {
            CHECK(static_cast<long>(answer.error()) != 0);
        }
    }

    void nonsense_is_refused() {
        device it = make_();
        const std::size_t size = limits_.size;
        const std::size_t align = std::max({limits_.align, device::min_align, std::size_t{16}});
        constexpr allot::layout none[] = {{0, 1}, {0, 64}, {0, 0}, {0, 3}, {0, half}};
        const allot::layout no_alignment[] = {{size, 0},        {size, 3},    {size, 24},
                                              {size, half - 1}, {size, most}, {most, 0}};
        const allot::layout too_large[] = {{most, 1},
                                           {most, align},
                                           {most, half},
                                           {most - 4095, 1},
                                           {most - align, align},
                                           {most - align + 1, align},
                                           {most - device::granularity + 1, 1}};
        const allot::layout large[] = {{half, 1}, {half, align}, {half, half}, {size, half}, {1, half}};
        const auto ask_all = [&] {
            for (const allot::layout wanted : none) ask(it, wanted, false);
            for (const allot::layout wanted : no_alignment) ask(it, wanted, false);
            for (const allot::layout wanted : too_large) ask(it, wanted, false);
            for (const allot::layout wanted : large) ask(it, wanted, true);
        };
        ask_all();
        const region held = take(it, {size, 1});  // nothing was lost
        bytes_.fill(held, 0x33);
        ask_all();
        CHECK(bytes_.hold(held, 0x33));
        it.release(held);
        it.release(take(it, {size, align > 16 ? align : 1}));

        if constexpr (std::is_move_constructible_v<device>) {  // an allocator reports the reason
            allot::naive<device> memory{make_()};
            for (const allot::layout wanted : too_large) {
                INFO("size ", wanted.size, ", alignment ", wanted.align);
                CHECK_FALSE(memory.allocate(wanted));
                CHECK(memory.diagnose(wanted).reason != allot::refusal::none);
            }
            const auto block = memory.allocate({size, 1});
            CHECK(block);
            memory.deallocate(block);
        }
    }

    void regions_go_back_in_any_order() {
        device it = make_();
        const std::size_t count = bounded ? 1 : limits_.at_once;
        std::mt19937 random{7};
        for (int round = 0; round != 4; ++round) {
            std::vector<std::pair<region, unsigned char>> held;
            for (std::size_t i = 0; i != count; ++i) {
                const auto mark = static_cast<unsigned char>(i + 1);
                held.emplace_back(take(it, {limits_.size - i % limits_.size / 2, 1}), mark);
                bytes_.fill(held.back().first, mark);
            }
            if constexpr (bounded) {  // all are acquired
                const auto second = it.acquire({1, 1});
                CHECK_FALSE(second);
                CHECK(static_cast<long>(second.error()) != 0);
            }
            if (round == 1) std::reverse(held.begin(), held.end());
            if (round > 1) std::shuffle(held.begin(), held.end(), random);
            while (!held.empty()) {
                for (const auto& [each, mark] : held) CHECK(bytes_.hold(each, mark));
                it.release(held.back().first);
                held.pop_back();
                if (round != 3 || held.empty()) continue;
                it.release(held.front().first);  // room for one region
                held.front() = {take(it, {limits_.size, 1}), 0xEE};
                bytes_.fill(held.front().first, 0xEE);
            }
        }
    }

    void two_have_nothing_in_common() {
        device one = make_(), other = make_();
        const region a = take(one, {limits_.size, 1}), b = take(other, {limits_.size, 1});
        CHECK(a.base != b.base);
        bytes_.fill(a, 1);
        bytes_.fill(b, 2);
        CHECK(bytes_.hold(a, 1));
        ask(other, {0, 1}, false);
        one.release(a);
        CHECK(bytes_.hold(b, 2));
        const region again = take(one, {limits_.size, 1});
        bytes_.fill(again, 3);
        CHECK(bytes_.hold(b, 2));
        other.release(b);
        CHECK(bytes_.hold(again, 3));
        one.release(again);
    }

    void regions_move_with_the_device() {
        device first = make_();
        const region held = take(first, {limits_.size, 1});
        bytes_.fill(held, 9);
        device second{std::move(first)};
        if constexpr (bounded) CHECK_FALSE(second.acquire({1, 1}));
        device third{std::move(second)};
        CHECK(bytes_.hold(held, 9));
        third.release(held);
        third.release(take(third, {limits_.size, 1}));
    }

    /// A pooled allocator over an exhausted device: see `cached`.
    void out_of_memory() {
        using error = typename device::error;
        using pooled = allot::cached<limited<device>, allot::cached_options{.regions = 16, .waste = 1}>;
        constexpr auto no_more = static_cast<error>(2), another = static_cast<error>(3);
        const auto left = std::make_shared<supply<error>>();
        left->regions = bounded ? 2 : limits_.at_once;  // a window fails at its second acquisition
        left->no_more = no_more;
        allot::naive<pooled> memory{pooled{limited<device>{make_(), left}}};
        const allot::layout small{least_, 1}, large{bounded ? least_ : least_ + device::granularity, 1};

        std::vector<typename allot::naive<pooled>::block_type> blocks;
        while (const auto block = memory.allocate(small)) blocks.push_back(block);
        CHECK(blocks.size() == (bounded ? 1 : limits_.at_once));
        CHECK(left->attempts == blocks.size() + 1);  // no region was kept, so the device was called once
        CHECK(memory.diagnose(small).reason == allot::refusal::device_refused);
        if (!bounded) CHECK(memory.diagnose(small).device_error == static_cast<long>(no_more));
        const auto as_region = [](const auto& block) {
            return region{block.address, block.metadata.size, block.metadata.align};
        };
        for (std::size_t i = 0; i != blocks.size(); ++i)
            bytes_.fill(as_region(blocks[i]), static_cast<unsigned char>(i));
        left->refusals = {no_more};
        CHECK_FALSE(memory.allocate(large));
        for (std::size_t i = 0; i != blocks.size(); ++i)
            CHECK(bytes_.hold(as_region(blocks[i]), static_cast<unsigned char>(i)));

        // Kept regions are released, and the device is called again.
        for (const auto& block : blocks) memory.deallocate(block);
        CHECK(left->out == blocks.size());
        std::size_t asked = left->attempts;
        const auto fresh = memory.allocate(large);
        REQUIRE(fresh);
        CHECK(left->attempts == asked + 2);
        CHECK(left->out == 1);
        bytes_.fill(as_region(fresh), 0x77);
        CHECK(bytes_.hold(as_region(fresh), 0x77));

        // The second result is reported, even if it differs.
        memory.deallocate(fresh);
        left->refusals = {no_more, another};
        asked = left->attempts;
        CHECK_FALSE(memory.allocate(small));
        CHECK(left->attempts == asked + 2);
        CHECK(memory.diagnose(small) ==
              allot::diagnosis{allot::refusal::device_refused, 0, static_cast<long>(another)});
        CHECK(left->out == 0);
        const auto later = memory.allocate(small);
        CHECK(later);
        CHECK(memory.diagnose(small).reason == allot::refusal::none);
        memory.deallocate(later);
    }
};

/// Checks every law of the device that `make` returns.
template <class Make, class Bytes = host_bytes, class Resources = process_resources>
void judge_device(Make make, const device_limits& limits = {}, Bytes bytes = {}, Resources resources = {}) {
    device_judge<Make, Bytes>{make, limits, bytes}.judge();  // the first run also grows the C library
    const held_resources before = resources();
    device_judge<Make, Bytes>{make, limits, bytes}.judge();
    const held_resources after = resources();
    CHECK(after.descriptors == before.descriptors);
    CHECK(after.mapped_pages == before.mapped_pages);
}

/// Acquires memory until a device is exhausted. Checks that it then reports an error, that live blocks are unchanged,
/// and that released regions are kept and make room for a larger request. Returns 0, or the number of the failed check.
template <class Device>
[[nodiscard]] int exhaust(Device device, std::size_t part, std::size_t most_parts) {
    using pooled = allot::cached<Device, allot::cached_options{.regions = 256}>;
    allot::naive<pooled> memory{pooled{std::move(device)}};
    typename allot::naive<pooled>::block_type blocks[256];
    std::size_t count = 0;
    while (count != most_parts && count != 256 && (blocks[count] = memory.allocate({part, 1}))) ++count;
    if (count < 2 || count == most_parts || count == 256) return 1;
    const allot::diagnosis error = memory.diagnose({part, 1});
    if (error.reason != allot::refusal::device_refused || error.device_error == 0) return 2;
    const auto again = [&](std::size_t i) {  // one back, one served
        memory.deallocate(blocks[i]);
        return static_cast<bool>(blocks[i] = memory.allocate({part, 1}));
    };
    if (!again(0) || !again(count - 1)) return 3;
    for (std::size_t i = 0; i != count; ++i) memory.deallocate(blocks[i]);
    const auto large = memory.allocate({2 * part, 1});
    if (!large) return 4;
    if (memory.device().size() != 0) return 5;  // kept regions were released
    memory.deallocate(large);
    return 0;
}

}  // namespace laws
