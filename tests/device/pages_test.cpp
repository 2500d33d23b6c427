#include <allot/allot.hpp>
#include <allot/device/pages.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>

namespace {

using namespace allot::literals;
namespace host = allot::host;

}  // namespace

TEST_CASE("pages are whole, zeroed and aligned as asked, also beyond a page") {
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

TEST_CASE("pages refuse with the system's error what cannot be mapped") {
    host::pages<> device;
    CHECK(device.acquire({.size = 0}).error() == EINVAL);
    CHECK(device.acquire({.size = 1, .align = 3}).error() == EINVAL);
    CHECK(device.acquire({.size = static_cast<std::size_t>(-1)}).error() == ENOMEM);
    CHECK(device.acquire({.size = static_cast<std::size_t>(-1) - 65535}).error() == ENOMEM);

    allot::arena<host::pages<>, allot::best_fit<>> arena{{}, static_cast<std::size_t>(-1) - 65535};
    CHECK(arena.diagnose({.size = 1}) == allot::diagnosis{allot::refusal::device_refused, 0, ENOMEM});
}

TEST_CASE("required huge pages are huge or refused") {
    host::pages<host::pages_options{.huge = host::huge_pages::required}> device;
    const auto answer = device.acquire({.size = 1});
    if (!answer) {
        MESSAGE("skipped: the system's reserve of huge pages is empty");
        CHECK(answer.error() == ENOMEM);
        return;
    }
    CHECK(answer->size == 2_MiB);
    CHECK(allot::raw_pointer::position(answer->base) % 2_MiB == 0);
    std::memset(answer->base, 1, answer->size);
    device.release(*answer);
}

TEST_CASE("advised huge pages are ordinary ones where a huge one could lie") {
    allot::arena<host::pages<host::pages_options{.huge = host::huge_pages::advised}>, allot::best_fit<>> arena{{}, 3_MiB};
    CHECK(arena.size() == 4_MiB);
    const auto block = arena.allocate({.size = 1_MiB, .align = 1_MiB});
    REQUIRE(block);
    std::memset(block.address, 1, block.size);
    arena.deallocate(block);
}
