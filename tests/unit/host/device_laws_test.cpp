// The laws of devices, for every host device: its guarantees to an arena, and its answer when memory is exhausted.
#include "../../laws/device_laws.hpp"
#include "huge_pages.hpp"
#include "../../in_child.hpp"
#include "../../devices_used.hpp"

#include <allot/compose/adopted.hpp>
#include <allot/host/contiguous_pages.hpp>
#include <allot/host/pages.hpp>
#include <allot/host/pinned_pages.hpp>
#include <allot/host/shared_memory.hpp>
#include <allot/host/virtual_memory.hpp>

#include <sys/resource.h>

namespace {

using namespace allot::literals;
namespace host = allot::host;
using laws::judge_device;

/// Returns two windows in turn, so that two devices never share one. They begin 64 bytes after a page boundary.
void* window() {
    alignas(4096) static std::byte bytes[2][8192];
    static std::size_t turn = 0;
    return bytes[++turn % 2] + 64;
}
constexpr std::size_t window_size = 8000;

void leave(const void*) noexcept {}
template <class Kind>
using adopted = allot::adopted<Kind, void (*)(const void*) noexcept>;

host::shared_memory shared() { return std::move(*host::shared_memory::create(64_KiB)); }
bool may_lock(std::size_t bytes) {
    const auto answer = host::pinned_pages{}.acquire({.size = bytes});
    if (answer) host::pinned_pages{}.release(*answer);
    else std::printf("skipped: this process may lock %zu bytes only\n", host::pinned_pages::limit());
    return static_cast<bool>(answer);
}

/// Returns whether the reserve has two adjacent huge pages.
bool has_neighbours() {
    host::contiguous_pages<> device;
    const auto two = device.acquire({.size = 4_MiB});
    if (two) device.release(*two);
    return static_cast<bool>(two);
}

/// Limits this process to `more` bytes of addresses above its current use.
bool limit_addresses(std::size_t more) {
    const std::size_t have = laws::process_resources{}().mapped_pages * 4096;
    const rlimit limits{have + more, have + more};
    return ::setrlimit(RLIMIT_AS, &limits) == 0;
}
/// Exhausts a device in a child process that is limited to 64 MiB of additional addresses.
template <class Make>
void exhaust(Make make) {
    CHECK(processes::in_child([&] {
              if (!limit_addresses(64_MiB)) return 100;
              return laws::exhaust(make(), 4_MiB, 100);
          }) == 0);
}

}  // namespace

TEST_CASE("device laws: heap, buffer, static_storage, and tightly_coupled") {
    judge_device([] { return host::heap{}; }, {.align = 64_KiB}, laws::host_bytes{}, laws::no_resources{});
    judge_device([] { return host::buffer{window(), window_size}; }, {.align = 4096});
    judge_device([] { return host::static_storage<4096, 64>{}; });
    judge_device([] { return allot::host::tightly_coupled{window(), window_size}; }, {.align = 2048});
    for (const char* device : {"host::heap", "host::buffer", "host::static_storage"}) tests::seen(device);
    tests::seen_on_fake_driver("host::tightly_coupled");  // a window of host memory
}

TEST_CASE("device laws: adopted memory and adopted constants") {
    judge_device([] { return adopted<host::buffer>{window(), window_size, leave}; }, {.align = 64});
    judge_device([] { return adopted<allot::read_only<host::buffer>>{window(), window_size, leave}; }, {.align = 64},
                 laws::constant_bytes{});
    tests::seen("adopted");
}

TEST_CASE("device laws: pages, advised huge pages, and virtual_memory") {
    judge_device([] { return host::pages<>{}; }, {.align = 4_MiB});
    judge_device([] { return host::pages<host::pages_options{.huge = host::huge_pages::advised}>{}; },
                 {.align = 4_MiB, .at_once = 3});
    judge_device([] { return host::virtual_memory{1_MiB}; });
    tests::seen("host::pages");
    tests::seen("host::virtual_memory");
}

TEST_CASE("device laws: pinned_pages") {
    if (!may_lock(192_KiB)) return;
    judge_device([] { return host::pinned_pages{}; }, {.align = 64_KiB});
    tests::seen("host::pinned_pages");
}

TEST_CASE("device laws: required huge pages and contiguous_pages") {
    const huge_pages::reserve pages{64};  // enough that some are neighbors
    if (!pages) return;
    const auto free = [] {
        return laws::held_resources{laws::process_resources{}().descriptors, huge_pages::reserve::free()};
    };
    using huge = host::pages<host::pages_options{.huge = host::huge_pages::required}>;
    judge_device([] { return huge{}; }, {.at_once = 3}, laws::host_bytes{}, free);
    const bool two = has_neighbours();
    if (!two) std::puts("skipped: no larger contiguous region, because no huge pages of this system are neighbors");
    judge_device([] { return host::contiguous_pages<>{}; }, {.at_once = 3, .granules = two ? 2U : 1U},
                 laws::host_bytes{}, free);
    tests::seen("host::contiguous_pages");
}

TEST_CASE("device laws: shared_memory") {
    judge_device([] { return shared(); });
    tests::seen("host::shared_memory");
}

TEST_CASE("device laws: cached, over several devices") {
    judge_device([] { return allot::cached<host::pages<>>{}; }, {.align = 64_KiB});
    judge_device([] { return allot::cached<host::pages<>, allot::cached_options{.regions = 3}>{}; });
    judge_device([] { return allot::cached<host::buffer>{host::buffer{window(), window_size}}; },
                 {.size = 5000, .at_once = 1});
}

TEST_CASE("device laws: exhausted memory is an error, and a retry after trim succeeds") {
    if (laws::under_asan) {
        std::puts("skipped: addresses cannot be limited under the address sanitizer");
        return;
    }
    exhaust([] { return host::heap{}; });
    exhaust([] { return host::pages<>{}; });
    exhaust([] { return host::pages<host::pages_options{.huge = host::huge_pages::advised}>{}; });
    exhaust([] { return host::virtual_memory{8_MiB}; });
    if (may_lock(64_MiB)) exhaust([] { return host::pinned_pages{}; });
    const huge_pages::reserve pages{64};
    if (!pages) return;
    using huge = host::pages<host::pages_options{.huge = host::huge_pages::required}>;
    CHECK(laws::exhaust(huge{}, 2_MiB, 200) == 0);
    using many = host::contiguous_pages<host::contiguous_options{.regions = 256}>;
    if (has_neighbours()) CHECK(laws::exhaust(many{}, 2_MiB, 200) == 0);
    else std::puts("skipped: no larger contiguous region, because no huge pages of this system are neighbors");
}
