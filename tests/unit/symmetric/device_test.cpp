// Windows and the symmetric heap as devices: every rank gets a part with the same size and alignment, or the same
// error.
#include "../../laws/device_laws.hpp"
#include "../../devices_used.hpp"
#include "all_ranks.hpp"

#include <allot/allot.hpp>

namespace {

using machine::device;
using machine::ranks;
using region = allot::region<device::address>;

/// Each rank writes and reads its own part.
struct own_bytes {
    static void fill(const region& all, unsigned char value) { std::memset(device::local(all.base), value, all.size); }
    [[nodiscard]] static bool hold(const region& all, unsigned char value) {
        return laws::host_bytes::hold({device::local(all.base), all.size, all.align}, value);
    }
};

}  // namespace

TEST_CASE("symmetric device: satisfies the device laws on all ranks") {
    laws::judge_device([] { return device{ranks()}; }, {.align = 4096}, own_bytes{}, laws::no_resources{});
    if (ranks().rank() == 0) tests::seen(machine::device_name, machine::driver());
}

TEST_CASE("symmetric device: a displacement has the same alignment on all ranks") {
    device memory{ranks()};
    for (const std::size_t align : {1U, 64U, 4096U, 65536U}) {
        const auto held = memory.acquire({.size = 100, .align = align});
        REQUIRE_ON_ALL(static_cast<bool>(held));
        CHECK(held->align >= align);
        CHECK(reinterpret_cast<std::uintptr_t>(device::local(held->base)) % held->align == 0);
        CHECK(are_equal_on_all_ranks({held->base.offset, held->size, held->align}));
        memory.release(*held);
    }
}

TEST_CASE("symmetric device: different requests fail on all ranks and hold nothing") {
    if (ranks().size() == 1) return;
    device memory{ranks()};
    const bool other = ranks().rank() == ranks().size() - 1;
    CHECK(memory.acquire({.size = other ? 128U : 64U, .align = 64}).error() == machine::not_the_same);
    CHECK(memory.acquire({.size = 64, .align = other ? 128U : 64U}).error() == machine::not_the_same);
    CHECK(memory.acquire({.size = other ? 0U : 64U, .align = 64}).error() == machine::not_the_same);
    const auto held = memory.acquire({.size = 64, .align = 64});
    REQUIRE_ON_ALL(static_cast<bool>(held));
    memory.release(*held);
}

TEST_CASE("symmetric device: a too large arena holds nothing and reports the code") {
    allot::arena<device, allot::best_fit<>> memory{ranks(), std::size_t{1} << 46};
    CHECK_FALSE(memory.allocate({.size = 64}));
    const auto error = memory.diagnose({.size = 64});
    CHECK(error.reason == allot::refusal::device_refused);
    CHECK(are_equal_on_all_ranks({static_cast<std::uint64_t>(error.device_error)}));
}
