// windows::pages: whole, zeroed and aligned pages, large pages, and the errors of the system.
#include "kernel.hpp"

#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <cstring>

namespace {

using namespace allot::literals;
namespace windows = allot::windows;
using required = windows::pages<windows::pages_options{.huge = windows::huge_pages::required}>;
constexpr auto most = static_cast<std::size_t>(-1);

/// Allows large pages. Returns false, and prints the reason, if this account may not lock pages.
bool may_lock() {
#if !defined(_WIN32)
    fake_kernel::state().may_lock = true;
#endif
    const auto refused = windows::allow_large_pages();
    const auto answer = required{}.acquire({.size = 1});
    if (answer) required{}.release(*answer);
    else std::printf("skipped: no large pages: %s\n", windows::to_string(refused != 0 ? refused : answer.error()));
    return static_cast<bool>(answer);
}

}  // namespace

TEST_CASE("windows pages: whole, zeroed, and aligned as requested, also above 64 KiB") {
    windows::pages<> device;
    for (const std::size_t align : {1_B, 4096_B, 64_KiB, 128_KiB, 4_MiB}) {
        const auto answer = device.acquire({.size = 5000, .align = align});
        REQUIRE(answer);
        CHECK(answer->size == 8192);
        CHECK(answer->align >= std::max(align, 64_KiB));
        CHECK(allot::raw_pointer::position(answer->base) % answer->align == 0);
        auto* const bytes = static_cast<unsigned char*>(answer->base);
        for (std::size_t i = 0; i != answer->size; ++i) REQUIRE(bytes[i] == 0);
        std::memset(bytes, 1, answer->size);
        CHECK(kernel::is_committed(bytes + 8191));
        CHECK_FALSE(kernel::is_committed(bytes + 8192));
        device.release(*answer);
        CHECK_FALSE(kernel::is_committed(bytes));
    }
}

TEST_CASE("windows pages: acquire fails with a code of Windows") {
    windows::pages<> device;
    CHECK(device.acquire({.size = 0}).error() == windows::invalid_parameter);
    CHECK(device.acquire({.size = 1, .align = 3}).error() == windows::invalid_parameter);
    CHECK(device.acquire({.size = most}).error() == windows::not_enough_memory);
    CHECK(device.acquire({.size = most - 65535, .align = 128_KiB}).error() == windows::not_enough_memory);
    CHECK_FALSE(device.acquire({.size = most - 65535}));  // the code is that of the system
    CHECK_FALSE(device.acquire({.size = 1, .align = most / 2 + 1}));

    allot::arena<windows::pages<>, allot::best_fit<>> arena{{}, most - 65535};
    CHECK(arena.diagnose({.size = 1}).reason == allot::refusal::device_refused);
    CHECK(arena.diagnose({.size = 1}).device_error != 0);
}

TEST_CASE("windows pages: without the privilege, large pages fail with a code that says so") {
#if defined(_WIN32)
    CHECK(required{}.acquire({.size = 1, .align = 4_MiB}).error() == windows::invalid_parameter);
    if (const auto answer = required{}.acquire({.size = 1})) required{}.release(*answer);
    else CHECK(answer.error() != 0);
#else
    fake_kernel::state().locks_pages = false;
    CHECK(required{}.acquire({.size = 1}).error() == windows::privilege_not_held);
    allot::arena<required, allot::best_fit<>> arena{{}, 2_MiB};
    CHECK(arena.diagnose({.size = 1}) ==
          allot::diagnosis{allot::refusal::device_refused, 0, static_cast<long>(windows::privilege_not_held)});
    fake_kernel::state().may_lock = false;
    CHECK(windows::allow_large_pages() == windows::not_all_assigned);
    CHECK(required{}.acquire({.size = 1}).error() == windows::privilege_not_held);
    CHECK(fake_kernel::state().open_handles == 0);
#endif
}

TEST_CASE("windows pages: large pages, with the privilege") {
    if (!may_lock()) return;
    required device;
    const auto one = device.acquire({.size = 1}), two = device.acquire({.size = 2_MiB + 1, .align = 2_MiB});
    REQUIRE(one);
    REQUIRE(two);
    CHECK(one->size == 2_MiB);
    CHECK(two->size == 4_MiB);
    for (const auto& held : {*one, *two}) {
        CHECK(held.align >= 2_MiB);
        CHECK(allot::raw_pointer::position(held.base) % 2_MiB == 0);
        std::memset(held.base, 1, held.size);
    }
    CHECK(device.acquire({.size = 1, .align = 4_MiB}).error() == windows::invalid_parameter);
    device.release(*two);
    device.release(*one);
}

TEST_CASE("windows pages: large pages of another size are not supported") {
    windows::pages<windows::pages_options{.huge = windows::huge_pages::required, .huge_size = 64_KiB}> device;
    CHECK(device.acquire({.size = 1}).error() == windows::not_supported);
}

#if !defined(_WIN32)
TEST_CASE("windows pages: a full page file is an error, and nothing stays reserved") {
    windows::pages<> device;
    auto& kernel = fake_kernel::state();
    const std::size_t before = kernel.reserved, limit = kernel.commit_limit;
    kernel.commit_limit = kernel.committed + 1_MiB;
    for (const std::size_t align : {1_B, 4_MiB}) {
        CHECK(device.acquire({.size = 2_MiB, .align = align}).error() == windows::commitment_limit);
        CHECK(kernel.reserved == before);
    }
    const auto answer = device.acquire({.size = 1_MiB});
    REQUIRE(answer);
    device.release(*answer);
    CHECK(kernel.reserved == before);
    CHECK(kernel.violations == 0);
    kernel.commit_limit = limit;
}
#endif

TEST_CASE("windows pages: device laws") {
    laws::judge_device([] { return windows::pages<>{}; }, {.align = 4_MiB}, laws::host_bytes{}, kernel::resources{});
    kernel::seen("windows::pages");
    if (may_lock())
        laws::judge_device([] { return required{}; }, {.at_once = 3}, laws::host_bytes{}, kernel::resources{});
}
