#include "huge_pages.hpp"

#include <allot/allot.hpp>
#include <allot/host/pages.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace {

using namespace allot::literals;
namespace host = allot::host;
using huge_pages::reserve;
using required = host::pages<host::pages_options{.huge = host::huge_pages::required}>;

/// Returns the size in bytes of the pages at an address, as the kernel reports it now. Returns 0 if nothing is mapped.
std::size_t page_size_at(const void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    std::ifstream maps{"/proc/self/smaps"};
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words{line};
        std::size_t from = 0, to = 0, kilobytes = 0;
        char dash = 0;
        std::string name;
        if (words >> std::hex >> from >> dash >> to && dash == '-') inside = from <= at && at < to;
        words = std::istringstream{line};
        if (inside && words >> name >> kilobytes && name == "KernelPageSize:") return kilobytes * 1024;
    }
    return 0;
}

}  // namespace

TEST_CASE("pages: whole, zeroed, and aligned as requested, also above a page") {
    host::pages<> device;
    for (const std::size_t align : {1_B, 4096_B, 64_KiB, 4_MiB}) {
        const auto answer = device.acquire({.size = 5000, .align = align});
        REQUIRE(answer);
        CHECK(answer->size >= 8192);
        CHECK(answer->size % 4096 == 0);
        CHECK(answer->align >= align);
        CHECK(allot::raw_pointer::position(answer->base) % (align < 4096 ? 4096 : align) == 0);
        auto* const bytes = static_cast<unsigned char*>(answer->base);
        for (std::size_t i = 0; i != answer->size; ++i) REQUIRE(bytes[i] == 0);
        std::memset(bytes, 1, answer->size);
        device.release(*answer);
    }
}

TEST_CASE("pages: acquire fails with the system's error") {
    host::pages<> device;
    CHECK(device.acquire({.size = 0}).error() == EINVAL);
    CHECK(device.acquire({.size = 1, .align = 3}).error() == EINVAL);
    CHECK(device.acquire({.size = static_cast<std::size_t>(-1)}).error() == ENOMEM);
    CHECK(device.acquire({.size = static_cast<std::size_t>(-1) - 65535}).error() == ENOMEM);

    allot::arena<host::pages<>, allot::best_fit<>> arena{{}, static_cast<std::size_t>(-1) - 65535};
    CHECK(arena.diagnose({.size = 1}) == allot::diagnosis{allot::refusal::device_refused, 0, ENOMEM});
}

TEST_CASE("required huge pages: acquired from a filled reserve (needs root)") {
    const reserve pages{4};
    if (!pages) return;
    required device;
    const std::size_t free = reserve::free();
    const auto one = device.acquire({.size = 1}), two = device.acquire({.size = 2_MiB + 1, .align = 2_MiB});
    REQUIRE(one);
    REQUIRE(two);
    CHECK(one->size == 2_MiB);
    CHECK(two->size == 4_MiB);
    for (const auto& held : {*one, *two}) {
        CHECK(held.align == 2_MiB);
        CHECK(allot::raw_pointer::position(held.base) % 2_MiB == 0);
        const auto* const bytes = static_cast<unsigned char*>(held.base);
        CHECK(std::count(bytes, bytes + held.size, 0) == static_cast<std::ptrdiff_t>(held.size));
        std::memset(held.base, 1, held.size);
        CHECK(page_size_at(held.base) == 2_MiB);
    }
    CHECK(reserve::free() == free - 3);
    CHECK(device.acquire({.size = 1, .align = 4_MiB}).error() == EINVAL);
    CHECK(device.acquire({.size = (free + 1) * 2_MiB}).error() == ENOMEM);
    CHECK(reserve::free() == free - 3);
    device.release(*two);
    device.release(*one);
    CHECK(reserve::free() == free);

    allot::arena<required, allot::best_fit<>> arena{{}, 3_MiB};
    CHECK(arena.size() == 4_MiB);
    const auto block = arena.allocate({.size = 3_MiB, .align = 4096});
    REQUIRE(block);
    CHECK(page_size_at(block.address) == 2_MiB);
}

TEST_CASE("required huge pages: an empty reserve is an error") {
    if (reserve::free() != 0) {
        std::puts("skipped: the system's reserve of huge pages is not empty");
        return;
    }
    const auto answer = required{}.acquire({.size = 1});
    CHECK(answer.error() == ENOMEM);
    allot::arena<required, allot::best_fit<>> arena{{}, 2_MiB};
    CHECK(arena.diagnose({.size = 1}) == allot::diagnosis{allot::refusal::device_refused, 0, ENOMEM});
}

TEST_CASE("required huge pages: pages of another size do not serve an unsupported size") {
    const reserve pages{2};  // of 2 MiB
    if (!pages) return;
    const std::size_t free = reserve::free();
    host::pages<host::pages_options{.huge = host::huge_pages::required, .huge_size = 64_KiB}> device;
    if (const auto answer = device.acquire({.size = 1})) {  // some processors support this size
        std::memset(answer->base, 1, answer->size);
        CHECK(page_size_at(answer->base) == 64_KiB);
        device.release(*answer);
    } else {
        CHECK((answer.error() == EINVAL || answer.error() == ENOMEM));
    }
    CHECK(reserve::free() == free);
}

TEST_CASE("advised huge pages: ordinary pages at the alignment of a huge page") {
    allot::arena<host::pages<host::pages_options{.huge = host::huge_pages::advised}>, allot::best_fit<>> arena{{},
                                                                                                               3_MiB};
    CHECK(arena.size() == 4_MiB);
    const auto block = arena.allocate({.size = 1_MiB, .align = 1_MiB});
    REQUIRE(block);
    std::memset(block.address, 1, block.size);
    arena.deallocate(block);
}
