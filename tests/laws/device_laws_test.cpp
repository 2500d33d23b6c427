// The laws of every device of the host: what each promises before an arena cuts it, and what it answers when there is
// no more.
#include "device_laws.hpp"
#include "../unit/host/huge_pages.hpp"
#include "../in_child.hpp"
#include "../seen.hpp"

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

/// Two windows of the test's own, in turn, so that two devices never have the same. They begin 64 bytes behind a page.
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

/// Whether huge pages of the reserve lie side by side.
bool has_neighbours() {
    host::contiguous_pages<> device;
    const auto two = device.acquire({.size = 4_MiB});
    if (two) device.release(*two);
    return static_cast<bool>(two);
}

/// Lets this process have so many bytes of addresses more than it has.
bool limit_addresses(std::size_t more) {
    const std::size_t have = laws::process_resources{}().mapped_pages * 4096;
    const rlimit limits{have + more, have + more};
    return ::setrlimit(RLIMIT_AS, &limits) == 0;
}
/// In a process of its own, which may have 64 MiB more.
template <class Make>
void exhaust(Make make) {
    CHECK(processes::in_child([&] {
              if (!limit_addresses(64_MiB)) return 100;
              return laws::exhaust(make(), 4_MiB, 100);
          }) == 0);
}

}  // namespace

TEST_CASE("devices of the host: the heap, the caller's bytes, static storage and a tightly coupled window") {
    judge_device([] { return host::heap{}; }, {.align = 64_KiB}, laws::host_bytes{}, laws::no_resources{});
    judge_device([] { return host::buffer{window(), window_size}; }, {.align = 4096});
    judge_device([] { return host::static_storage<4096, 64>{}; });
    judge_device([] { return allot::host::tightly_coupled{window(), window_size}; }, {.align = 2048});
    for (const char* device : {"host::heap", "host::buffer", "host::static_storage"}) tests::seen(device);
    tests::seen_on_fake_driver("tightly_coupled");  // a window of the host's memory
}

TEST_CASE("devices of the host: adopted memory, and constants") {
    judge_device([] { return adopted<host::buffer>{window(), window_size, leave}; }, {.align = 64});
    judge_device([] { return adopted<allot::read_only<host::buffer>>{window(), window_size, leave}; }, {.align = 64},
                 laws::constant_bytes{});
    tests::seen("adopted");
}

TEST_CASE("devices of the host: pages, those that are joined where they can be, and reserved addresses") {
    judge_device([] { return host::pages<>{}; }, {.align = 4_MiB});
    judge_device([] { return host::pages<host::pages_options{.huge = host::huge_pages::advised}>{}; },
                 {.align = 4_MiB, .at_once = 3});
    judge_device([] { return host::virtual_memory{1_MiB}; });
    tests::seen("host::pages");
    tests::seen("host::virtual_memory");
}

TEST_CASE("devices of the host: pinned pages") {
    if (!may_lock(192_KiB)) return;
    judge_device([] { return host::pinned_pages{}; }, {.align = 64_KiB});
    tests::seen("host::pinned_pages");
}

TEST_CASE("devices of the host: huge pages, and contiguous ones") {
    const huge_pages::reserve pages{64};  // so many that some are neighbours
    if (!pages) return;
    const auto free = [] { return laws::held_resources{laws::process_resources{}().descriptors, huge_pages::reserve::free()}; };
    using huge = host::pages<host::pages_options{.huge = host::huge_pages::required}>;
    judge_device([] { return huge{}; }, {.at_once = 3}, laws::host_bytes{}, free);
    const bool two = has_neighbours();
    if (!two) std::puts("skipped: no larger contiguous region, since the system's huge pages have no neighbours");
    judge_device([] { return host::contiguous_pages<>{}; }, {.at_once = 3, .granules = two ? 2U : 1U}, laws::host_bytes{},
                 free);
    tests::seen("host::contiguous_pages");
}

TEST_CASE("devices of the host: memory that processes share") {
    judge_device([] { return shared(); });
    tests::seen("host::shared_memory");
}

TEST_CASE("devices of the host: one that keeps regions is a device like the one below it") {
    judge_device([] { return allot::cached<host::pages<>>{}; }, {.align = 64_KiB});
    judge_device([] { return allot::cached<host::pages<>, allot::cached_options{.regions = 3}>{}; });
    judge_device([] { return allot::cached<host::buffer>{host::buffer{window(), window_size}}; },
                 {.size = 5000, .at_once = 1});
}

TEST_CASE("memory that is really exhausted: an answer, a trim, a retry") {
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
    else std::puts("skipped: no larger contiguous region, since the system's huge pages have no neighbours");
}
