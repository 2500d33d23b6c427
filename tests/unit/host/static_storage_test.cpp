// Static storage and static buffers: untouched before use, and without work at program exit.
#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>

#include "../../devices_used.hpp"
#include "../../texts.hpp"

#include <doctest/doctest.h>

#include <sys/mman.h>

#include <memory>
#include <new>
#include <type_traits>

using namespace allot::literals;

// A global arena registers nothing with atexit unless its device needs its memory back or the arena reports leaks.
// With a sanitizer, the destructor states that the bytes are no longer an arena's.
template <class Device, class Strategy, allot::arena_options Options = allot::arena_options{.annotate = false}>
constexpr bool ends_in_silence =
    std::is_trivially_destructible_v<allot::arena<Device, Strategy, allot::growth::none<>, Options>>;
using kilobyte = allot::host::static_storage<1_KiB>;
static_assert(ends_in_silence<kilobyte, allot::bump<>> && ends_in_silence<kilobyte, allot::best_fit<>>);
static_assert(ends_in_silence<kilobyte, allot::pool<allot::pool_options{.slot = 32}>>);
static_assert(ends_in_silence<allot::host::buffer, allot::bump<>> &&
              ends_in_silence<allot::host::tightly_coupled, allot::bump<>>);
static_assert(!ends_in_silence<allot::host::heap, allot::bump<>>);
static_assert(!ends_in_silence<kilobyte, allot::bump<>,
                               allot::arena_options{.hardening = allot::hardening::debug, .annotate = false}>);

TEST_CASE("static storage: an arena does not touch the bytes before they are allocated") {
    using arena = allot::arena<allot::host::static_storage<1_MiB>, allot::bump<>>;
    constexpr std::size_t page = 4096, pages = sizeof(arena) / page + 1;
    void* const fresh = ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(fresh != MAP_FAILED);
    auto* const scratch = ::new (fresh) arena;
    unsigned char touched[pages]{};
    REQUIRE(::mincore(fresh, pages * page, touched) == 0);
    std::size_t count = 0;
    for (const unsigned char each : touched) count += each & 1;
    CHECK(count < 8);  // only the arena's own members

    *static_cast<char*>(scratch->allocate({.size = 100}).address) = 1;
    REQUIRE(::mincore(fresh, pages * page, touched) == 0);
    std::size_t after = 0;
    for (const unsigned char each : touched) after += each & 1;
    CHECK(after > 0);
    CHECK(after <= count + 1);
    std::destroy_at(scratch);
    ::munmap(fresh, pages * page);
}

namespace {
struct alignas(256) object {
    std::byte bytes[4_KiB];
};
object plain;
}  // namespace

TEST_CASE("static buffer: the window is the whole object, and the arena contains none of it") {
    using device = allot::host::static_buffer<plain>;
    static_assert(allot::embedded_device<device> && device::capacity() == 4_KiB && device::min_align == 256);
    static_assert(sizeof(allot::arena<device, allot::bump<>>) < 64);
    {
        allot::arena<device, allot::bump<>> arena;
        CHECK(arena.size() == 4_KiB);
        const auto first = arena.allocate({.size = 1, .align = 256});
        REQUIRE(first);
        CHECK(arena.allocate({.size = 4_KiB - 256, .align = 256}).address == &plain);  // from the top down
        CHECK(first.address == plain.bytes + 4_KiB - 256);
        CHECK_FALSE(arena.allocate({.size = 1}));
    }
    device alone;
    CHECK(alone.acquire({4_KiB + 1, 1}).error() == allot::host::window_error::too_small);
    CHECK(alone.acquire({1, 512}).error() == allot::host::window_error::too_small);
    const auto all = alone.acquire({1, 1});
    REQUIRE(all);
    CHECK(*all == allot::region<void*>{&plain, 4_KiB, 256});
    CHECK(alone.acquire({1, 1}).error() == allot::host::window_error::in_use);
    alone.release(*all);
    CHECK(alone.acquire({4_KiB, 256}));
    tests::seen("host::static_buffer");
}

TEST_CASE("host memory: every error has its own text") {
    texts::check_distinct_up_to(allot::host::heap::error::no_memory);
    texts::check_distinct_up_to(allot::host::window_error::too_small);
}
