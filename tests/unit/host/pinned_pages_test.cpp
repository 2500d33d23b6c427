#include "../../in_child.hpp"

#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>
#include <allot/host/pinned_pages.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace {

using namespace allot::literals;
using allot::host::pinned_pages;
using by_64_KiB = allot::growth::fixed<allot::growth_options{.step = 64_KiB}>;
using arena = allot::arena<pinned_pages, allot::best_fit<>, by_64_KiB>;

/// Returns the number of bytes that this process has locked, as the kernel counts them.
std::size_t locked() {
    std::ifstream status{"/proc/self/status"};
    for (std::string word; status >> word;) {
        if (word != "VmLck:") continue;
        std::size_t kilobytes = 0;
        status >> kilobytes;
        return kilobytes * 1024;
    }
    return 0;
}

/// Limits this process to `bytes` locked bytes.
bool limit_to(std::size_t bytes) {
    rlimit limits{bytes, bytes};
    return processes::drop_capability(CAP_IPC_LOCK) && ::setrlimit(RLIMIT_MEMLOCK, &limits) == 0;
}

/// Returns whether this process may lock enough memory for the tests. Prints the reason if not.
bool may_lock() {
    const std::size_t before = locked();
    const auto answer = pinned_pages{}.acquire({.size = 192_KiB});
    const bool is_locked = locked() == before + 192_KiB;
    if (answer) pinned_pages{}.release(*answer);
    if (!answer) std::printf("skipped: this process may lock %zu bytes only\n", pinned_pages::limit());
    else if (!is_locked) std::puts("skipped: mlock has no effect here, as under the address sanitizer");
    return is_locked;
}

}  // namespace

TEST_CASE("pinned pages: locked, zeroed, and aligned, and unlocked on release") {
    if (!may_lock()) return;
    const std::size_t before = locked();
    pinned_pages device;
    for (const std::size_t align : {1_B, 4096_B, 64_KiB}) {
        const auto answer = device.acquire({.size = 5000, .align = align});
        REQUIRE(answer);
        CHECK(answer->size == 8192);
        CHECK(locked() == before + 8192);
        CHECK(answer->align >= align);
        CHECK(allot::raw_pointer::position(answer->base) % (align < 4096 ? 4096 : align) == 0);
        const auto* const bytes = static_cast<unsigned char*>(answer->base);
        for (std::size_t i = 0; i != answer->size; ++i) REQUIRE(bytes[i] == 0);
        std::memset(answer->base, 1, answer->size);
        device.release(*answer);
        CHECK(locked() == before);
    }
}

TEST_CASE("pinned pages: acquire fails with the system's error") {
    pinned_pages device;
    CHECK(device.acquire({.size = 0}).error() == EINVAL);
    CHECK(device.acquire({.size = 1, .align = 3}).error() == EINVAL);
    CHECK(device.acquire({.size = static_cast<std::size_t>(-1)}).error() == ENOMEM);
    if constexpr (sizeof(std::size_t) == 8)
        CHECK(device.acquire({.size = static_cast<std::size_t>(-1) / 2}).error() == ENOMEM);
}

TEST_CASE("pinned pages: above the limit acquire fails, and nothing stays mapped or locked") {
    if (!may_lock()) return;
    CHECK(processes::in_child([] {
              if (!limit_to(128_KiB) || pinned_pages::limit() != 128_KiB) return 1;
              arena memory;
              const auto first = memory.allocate({.size = 50'000});
              const auto second = memory.allocate({.size = 50'000});
              if (!first || !second || locked() != 128_KiB) return 2;
              if (memory.allocate({.size = 50'000})) return 3;
              if (memory.diagnose({.size = 50'000}) !=
                  allot::diagnosis{allot::refusal::device_refused, memory.diagnose({.size = 1}).largest_hole, ENOMEM})
                  return 4;
              if (locked() != 128_KiB) return 5;
              memory.deallocate(first);
              if (memory.trim() != 64_KiB || locked() != 64_KiB) return 6;
              return memory.allocate({.size = 50'000}) ? 0 : 7;
          }) == 0);
    CHECK(processes::in_child([] {
              if (!limit_to(0) || pinned_pages::limit() != 0) return 1;
              return pinned_pages{}.acquire({.size = 1}).error() == EPERM && locked() == 0 ? 0 : 2;
          }) == 0);
}

TEST_CASE("pinned pages: an allocator over another device does not free a pinned block") {
    if (!may_lock()) return;
    static int reports;
    struct count {
        void operator()(allot::misuse what, std::size_t, std::size_t) const noexcept {
            reports += what == allot::misuse::foreign_block ? 1 : 100;
        }
    };
    reports = 0;
    const std::size_t before = locked();
    using hardened = allot::naive<pinned_pages, allot::hardening::checked, count>;
    using other = allot::naive<allot::host::pages<>, allot::hardening::checked, count>;
    static_assert(!std::is_convertible_v<hardened&, other&>);
    static_assert(!std::is_convertible_v<pinned_pages, allot::host::pages<>>);
    hardened one, two;  // two allocators of the same type
    other pageable;
    const auto a = one.allocate({.size = 4096}), b = two.allocate({.size = 8192}), c = one.allocate({.size = 4096});
    REQUIRE(a);
    REQUIRE(b);
    REQUIRE(c);
    CHECK(locked() == before + 16384);
    pageable.deallocate(a);
    two.deallocate(a);
    one.deallocate(b);
    CHECK(reports == 3);
    CHECK(locked() == before + 16384);
    std::memset(a.address, 1, a.size);
    one.deallocate(a);  // in an order other than that of allocation
    two.deallocate(b);
    one.deallocate(c);
    CHECK(locked() == before);
}
