// contiguous_pages on the huge pages of this machine. Needs root, which fills the system's reserve during each test.
#include "huge_pages.hpp"
#include "../../in_child.hpp"

#include <allot/allot.hpp>
#include <allot/host/contiguous_pages.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace {

using namespace allot::literals;
using contiguous = allot::host::contiguous_pages<>;
using region = allot::region<void*>;
using huge_pages::reserve;

/// Returns the frame of a page, as the kernel reports it now.
std::uint64_t frame_of(const void* address) {
    const int pagemap = ::open("/proc/self/pagemap", O_RDONLY);
    std::uint64_t entry = 0;
    const auto at = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(address) / 4096 * 8);
    if (::pread(pagemap, &entry, sizeof entry, at) != sizeof entry) entry = 0;
    ::close(pagemap);
    return entry & ((std::uint64_t{1} << 55) - 1);
}

/// Checks that every page of a region has the frame of its bus address.
void check(const contiguous& device, const region& held, std::uint64_t bus_offset = 0) {
    auto* const bytes = static_cast<std::byte*>(held.base);
    const auto bus = device.bus_address(held.base, held.size);
    REQUIRE(bus);
    CHECK(*bus % 2_MiB == bus_offset % 2_MiB);
    std::size_t wrong = 0;
    for (std::size_t at = 0; at != held.size; at += 4096)
        wrong += frame_of(bytes + at) * 4096 + bus_offset + 100 != *device.bus_address(bytes + at + 100, 4);
    CHECK(wrong == 0);
}

/// Acquires all free huge pages, one for each region, and sorts them by bus address.
template <class Device>
std::vector<region> take_all(Device& device) {
    std::vector<region> all;
    for (auto one = device.acquire({.size = 1}); one; one = device.acquire({.size = 1})) all.push_back(*one);
    std::sort(all.begin(), all.end(),
              [&](region a, region b) { return *device.bus_address(a.base, 1) < *device.bus_address(b.base, 1); });
    return all;
}

}  // namespace

TEST_CASE("contiguous pages: the frames match the bus addresses") {
    const reserve pages{8};
    if (!pages) return;
    contiguous device, other{0x8000'0000};
    const std::size_t free = reserve::free();
    const auto one = device.acquire({.size = 1}), two = other.acquire({.size = 2_MiB, .align = 2_MiB});
    REQUIRE(one);
    REQUIRE(two);
    CHECK(one->size == 2_MiB);
    check(device, *one);
    check(other, *two, 0x8000'0000);
    CHECK(allot::raw_pointer::position(one->base) % 2_MiB == 0);
    const auto* const bytes = static_cast<unsigned char*>(one->base);
    for (std::size_t i = 0; i != one->size; ++i) REQUIRE(bytes[i] == 0);
    std::memset(one->base, 1, one->size);
    CHECK(reserve::free() == free - 2);

    CHECK(device.bus_address(two->base, 1).error() == EFAULT);  // a device has records of its own regions only
    CHECK(device.bus_address(static_cast<std::byte*>(one->base) + 2_MiB - 4, 4));
    CHECK(device.bus_address(static_cast<std::byte*>(one->base) + 2_MiB - 4, 5).error() == EFAULT);
    CHECK(device.bus_address(static_cast<std::byte*>(one->base) - 1, 1).error() == EFAULT);
    device.release(*one);
    CHECK(device.bus_address(one->base, 1).error() == EFAULT);
    other.release(*two);
    CHECK(reserve::free() == free);
}

TEST_CASE("contiguous pages: a region of several huge pages consists of neighbors") {
    const reserve pages{64};
    if (!pages) return;
    contiguous device;
    allot::host::contiguous_pages<allot::host::contiguous_options{.regions = 512}> rest;
    std::vector<region> all = take_all(rest);
    REQUIRE(all.size() >= 8);
    CHECK(reserve::free() == 0);
    const auto at = [&](std::size_t i) { return *rest.bus_address(all[i].base, 1); };

    // No huge page is free.
    CHECK((device.acquire({.size = 1}).error() == ENOSPC || device.acquire({.size = 1}).error() == ENOMEM));

    // No two free huge pages are neighbors.
    for (std::size_t i = 0; i < all.size(); i += 2) rest.release(std::exchange(all[i], {}));
    const std::size_t free = reserve::free();
    REQUIRE(free >= 4);
    CHECK(device.acquire({.size = 4_MiB}).error() == contiguous::not_adjacent);
    CHECK(reserve::free() == free);
    const auto single = device.acquire({.size = 2_MiB});
    REQUIRE(single);
    device.release(*single);
    for (region& held : all) {
        if (held) rest.release(std::exchange(held, {}));
    }

    // Two neighbors are free. The reserve returns them in either order, with a distant page between them.
    for (const bool upwards : {true, false}) {
        all = take_all(rest);
        std::size_t lower = 0;
        while (lower + 1 != all.size() && at(lower + 1) != at(lower) + 2_MiB) ++lower;
        if (lower + 1 == all.size()) {
            std::puts("skipped: no huge pages of this system are neighbors");
        } else {
            const std::size_t far = lower > 2 ? 0 : all.size() - 1;
            rest.release(std::exchange(all[upwards ? lower : lower + 1], {}));
            rest.release(std::exchange(all[far], {}));
            rest.release(std::exchange(all[upwards ? lower + 1 : lower], {}));
            const auto pair = device.acquire({.size = 2_MiB + 1});
            REQUIRE(pair);
            CHECK(pair->size == 4_MiB);
            CHECK(reserve::free() == 1);
            check(device, *pair);
            std::memset(pair->base, 0x5A, pair->size);
            device.release(*pair);
            CHECK(reserve::free() == 3);
        }
        for (const region& held : all) {
            if (held) rest.release(held);
        }
    }
}

TEST_CASE("contiguous pages: a failed acquire reports the reason and holds nothing") {
    contiguous device;
    CHECK(device.acquire({.size = 0}).error() == EINVAL);
    CHECK(device.acquire({.size = 1, .align = 3}).error() == EINVAL);
    CHECK(device.acquire({.size = 1, .align = 4_MiB}).error() == EINVAL);
    CHECK(device.acquire({.size = static_cast<std::size_t>(-1)}).error() == ENOMEM);
    CHECK(device.acquire({.size = 128 * 2_MiB + 1}).error() == contiguous::over_limit);

    const reserve pages{4};
    if (!pages) return;
    const std::size_t free = reserve::free();
    CHECK(processes::in_child([] {
              if (!processes::drop_capability(CAP_SYS_ADMIN)) return 1;
              return contiguous{}.acquire({.size = 1}).error() == contiguous::frames_hidden ? 0 : 2;
          }) == 0);
    CHECK(reserve::free() == free);

    allot::host::contiguous_pages<allot::host::contiguous_options{.candidates = 2, .regions = 1}> small;
    CHECK(small.acquire({.size = 3 * 2_MiB}).error() == contiguous::over_limit);
    const auto only = small.acquire({.size = 1});
    REQUIRE(only);
    CHECK(small.acquire({.size = 1}).error() == contiguous::over_limit);
    small.release(*only);
    CHECK(reserve::free() == free);
}

TEST_CASE("contiguous pages: blocks have bus addresses, in several regions and after a move of the arena") {
    const reserve pages{4};
    if (!pages) return;
    constexpr allot::growth_options step{.step = 2_MiB};
    using arena = allot::arena<contiguous, allot::best_fit<>, allot::growth::fixed<step>>;
    arena first{contiguous{0x8000'0000}};
    const auto a = first.allocate({.size = 1_MiB + 1, .align = 4096});
    const auto b = first.allocate({.size = 1_MiB + 1, .align = 64});
    REQUIRE(a);
    REQUIRE(b);
    CHECK(first.size() == 4_MiB);
    arena memory{std::move(first)};
    for (const auto& block : {a, b}) {
        const auto bus = memory.device().bus_address(block);
        REQUIRE(bus);
        const std::size_t in_page = allot::raw_pointer::position(block.address) % 4096;
        CHECK(*bus == frame_of(block.address) * 4096 + in_page + 0x8000'0000);
    }
    memory.deallocate(a);
    CHECK(memory.trim() == 2_MiB);
    CHECK(memory.device().bus_address(b));
    CHECK(!memory.device().bus_address(a));
    while (memory.allocate({.size = 2_MiB - 4096})) {}
    const allot::diagnosis error = memory.diagnose({.size = 2_MiB - 4096});
    CHECK(error.reason == allot::refusal::device_refused);
    // The system's reserve is empty, or the device holds all the regions that it can.
    CHECK(
        (error.device_error == ENOSPC || error.device_error == ENOMEM || error.device_error == contiguous::over_limit));
}
