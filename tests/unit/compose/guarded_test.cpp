#include <allot/adapt/std_allocator.hpp>
#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>

#include "noted_misuse.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

namespace {

using allot::misuse;
using noted::bytes_of, noted::note, noted::scratch;

template <class Allocator, allot::guard_options Options = allot::guard_options{}>
using guarded = allot::guarded<Allocator, Options, note>;

template <class Memory>
void every_write_out_of_bounds_is_found(Memory& memory, std::ptrdiff_t before, std::ptrdiff_t after) {
    for (const std::size_t align : std::initializer_list<std::size_t>{1, 2, 8, 16, 64}) {
        for (const std::size_t size : std::initializer_list<std::size_t>{1, 3, 16, 17, 100}) {
            const auto first = memory.allocate({size, align}), second = memory.allocate({size, align});
            REQUIRE(first);
            REQUIRE(second);
            CHECK(allot::raw_pointer::position(first.address) % align == 0);
            CHECK(first.size == size);
            CHECK(memory.capacity(first) == size);
            std::memset(first.address, 0xEE, size);
            std::memset(second.address, 0x11, size);
            CHECK(memory.check_all() == 0);
            const std::ptrdiff_t end = static_cast<std::ptrdiff_t>(size);
            for (std::ptrdiff_t i = -before; i != end + after; ++i) {
                if (i == 0) i = end;
                unsigned char& byte = bytes_of(first)[i];
                const unsigned char right = byte;
                byte = static_cast<unsigned char>(~right);
                CHECK(memory.check_all() == 1);
                CHECK(note::take() == 1);
                CHECK(note::last == (i < 0 ? misuse::written_before : misuse::written_past));
                CHECK(note::position == allot::raw_pointer::position(first.address));
                CHECK(note::size == size);
                CHECK(!memory.check(first));
                CHECK(memory.check(second));
                memory.deallocate(first);  // has no effect
                CHECK(note::take() == 2);
                byte = right;
                CHECK(memory.check(first));
            }
            memory.deallocate(first);
            memory.deallocate(second);
            CHECK(note::take() == 0);
        }
    }
}

}  // namespace

TEST_CASE("guarded: every changed byte of a guard is found, and the block stays live") {
    guarded<scratch<allot::best_fit<>>> in_band;
    every_write_out_of_bounds_is_found(in_band, 16, 16);
    guarded<scratch<allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>>,
            allot::guard_options{.before = 3, .after = 5, .records = 4}>
        odd;
    every_write_out_of_bounds_is_found(odd, 3, 5);
    guarded<scratch<allot::pool<allot::pool_options{.slot = 256, .count = 16, .align = 64}>>,
            allot::guard_options{.before = 1, .after = 1}>
        slots;
    every_write_out_of_bounds_is_found(slots, 1, 1);
    guarded<allot::naive<allot::host::heap>, allot::guard_options{.before = 0, .after = 9}> naive;
    every_write_out_of_bounds_is_found(naive, 0, 9);
}

TEST_CASE("guarded: random calls report nothing, keep the bytes, and list the requested sizes") {
    guarded<scratch<allot::best_fit<>>> memory;
    struct known {
        decltype(memory)::block_type held;
        unsigned char value;
    };
    std::vector<known> live;
    std::mt19937 random{3};
    const auto is_filled = [](const known& one, std::size_t size) {
        for (std::size_t i = 0; i != size; ++i)
            if (bytes_of(one.held)[i] != one.value) return false;
        return true;
    };
    int resized = 0;
    for (int step = 0; step != 3000; ++step) {
        const std::size_t size = random() % 300;
        switch (random() % 3) {
            case 0:
                if (const auto fresh = memory.allocate({size, std::size_t{1} << random() % 8})) {
                    live.push_back({fresh, static_cast<unsigned char>(step)});
                    std::memset(fresh.address, live.back().value, size);
                } else {
                    CHECK((size == 0 || memory.diagnose({.size = size}).largest_hole < size + 400));
                }
                break;
            case 1:
                if (live.empty()) break;
                std::swap(live[random() % live.size()], live.back());
                CHECK(is_filled(live.back(), live.back().held.size));
                memory.deallocate(live.back().held);
                live.pop_back();
                break;
            default:
                if (live.empty()) break;
                known& one = live[random() % live.size()];
                const std::size_t before = one.held.size;
                if (!memory.resize(one.held, size)) {
                    CHECK(one.held.size == before);
                    break;
                }
                ++resized;
                CHECK(one.held.size == size);
                CHECK(is_filled(one, std::min(before, size)));
                std::memset(one.held.address, one.value, size);
        }
        std::size_t listed = 0;
        memory.for_each_block([&](void* address, std::size_t of) {
            ++listed;
            CHECK(std::any_of(live.begin(), live.end(),
                              [&](const known& one) { return one.held.address == address && one.held.size == of; }));
        });
        CHECK(listed == live.size());
        CHECK(memory.check_all() == 0);
    }
    CHECK(resized > 100);
    CHECK(note::take() == 0);
}

TEST_CASE("guarded: a listed hole serves a request of its size") {
    guarded<scratch<allot::best_fit<>, 1000>> memory;
    const auto first = memory.allocate({.size = 100, .align = 1});
    REQUIRE(memory.allocate({.size = 50, .align = 1}));
    memory.deallocate(first);
    std::vector<std::size_t> holes;
    memory.for_each_hole([&](void*, std::size_t size) { holes.push_back(size); });
    REQUIRE(holes.size() == 2);
    CHECK(memory.diagnose({.size = 1}).largest_hole == std::max(holes[0], holes[1]));
    for (const std::size_t size : holes) {
        const auto block = memory.allocate({.size = size, .align = 1});
        CHECK(block);
    }
    CHECK(!memory.allocate({.size = 1, .align = 1}));
    CHECK(memory.diagnose({.size = 1}).reason == allot::refusal::exhausted);
}

TEST_CASE("guarded: a block that is not live, or of another size, is reported and changes nothing") {
    guarded<scratch<allot::best_fit<>>> memory;
    const auto block = memory.allocate({.size = 40}), freed = memory.allocate({.size = 40});
    memory.deallocate(freed);
    memory.deallocate({});
    CHECK(note::take() == 0);
    memory.deallocate(freed);
    CHECK(note::take() == 1);
    CHECK(note::last == misuse::not_live);
    auto other = block;
    other.size = 41;
    CHECK(!memory.check(other));
    CHECK(note::last == misuse::wrong_size);
    CHECK(!memory.resize(other, 20));
    CHECK(note::take() == 2);
    other = {block.address, 40, {}};
    memory.deallocate(other);
    CHECK(note::last == misuse::not_live);
    CHECK(note::take() == 1);
    CHECK(memory.check(block));

    bytes_of(block)[40] ^= 1U;
    auto grown = block;
    CHECK(!memory.resize(grown, 60));
    CHECK(grown == block);
    CHECK(note::last == misuse::written_past);
    CHECK(note::take() == 1);
}

TEST_CASE("guarded: reset and rollback check the blocks that they free") {
    guarded<scratch<allot::stack<>>> memory;
    const auto old = memory.allocate({.size = 10});
    const auto mark = memory.mark();
    const auto damaged = memory.allocate({.size = 20}), newest = memory.allocate({.size = 30});
    bytes_of(damaged)[-1] ^= 1U;
    bytes_of(old)[10] ^= 1U;
    memory.rollback(mark);
    CHECK(note::take() == 1);
    CHECK(note::size == 20);
    CHECK(!memory.check(newest));
    CHECK(note::take() == 1);
    memory.reset();
    CHECK(note::take() == 1);
    CHECK(note::size == 10);
    CHECK(memory.check_all() == 0);
    CHECK(memory.allocate({.size = 8192 - 32, .align = 1}));
}

TEST_CASE("guarded: allocate_at needs the bytes of the guards") {
    guarded<scratch<allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>, 1000>> memory;
    CHECK(!memory.allocate_at({15, 10}));
    CHECK(memory.diagnose_at({15, 10}).reason == allot::refusal::not_free);
    CHECK(!memory.allocate_at({980, 10}));
    CHECK(memory.diagnose_at({980, 10}).reason != allot::refusal::none);
    const auto block = memory.allocate_at({100, 10});
    REQUIRE(block);
    CHECK(allot::raw_pointer::position(block.address) - allot::raw_pointer::position(memory.regions()[0].base) == 100);
    CHECK(memory.diagnose_at({125, 10}).reason == allot::refusal::not_free);
    CHECK(memory.diagnose_at({142, 10}).reason == allot::refusal::none);
    REQUIRE(memory.allocate_at({142, 10}));
    CHECK(!memory.allocate_at({~std::size_t{0} - 20, 40}));
    CHECK(memory.diagnose_at({5, 0}).reason == allot::refusal::empty_layout);
    CHECK(memory.check_all() == 0);
}

TEST_CASE("guarded: limits, invalid layouts, and compositions") {
    guarded<scratch<allot::best_fit<>>, allot::guard_options{.records = 2}> memory;
    CHECK(!memory.allocate({.size = 0}));
    CHECK(memory.diagnose({.size = 0}).reason == allot::refusal::empty_layout);
    CHECK(!memory.allocate({.size = 1, .align = 3}));
    CHECK(memory.diagnose({.size = 1, .align = 3}).reason == allot::refusal::bad_alignment);
    CHECK(!memory.allocate({.size = ~std::size_t{0} - 5, .align = 1}));
    CHECK(memory.diagnose({.size = ~std::size_t{0} - 5, .align = 1}).reason == allot::refusal::over_limit);
    REQUIRE(memory.allocate({.size = 8}));
    const auto second = memory.allocate({.size = 8});
    CHECK(memory.owns(second));
    CHECK(!memory.allocate({.size = 8}));
    CHECK(memory.diagnose({.size = 8}).reason == allot::refusal::out_of_records);

    using grows = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>>;
    guarded<grows> general;
    {
        std::vector<int, allot::std_allocator<int, guarded<grows>>> values{general};
        for (int i = 0; i != 1000; ++i) values.push_back(i);
        CHECK(general.check_all() == 0);
        CHECK(general.trim() == 0);
    }
    CHECK(general.trim() != 0);
    scratch<allot::best_fit<>, 512> small;
    guarded<allot::fallback<scratch<allot::best_fit<>, 512>&, grows&>> both{
        allot::fallback{small, const_cast<grows&>(general.inner())}};
    const auto a = both.allocate({.size = 300}), b = both.allocate({.size = 300});
    REQUIRE(b);
    CHECK(both.check_all() == 0);
    bytes_of(b)[-1] ^= 1U;
    CHECK(both.check_all() == 1);
    bytes_of(b)[-1] ^= 1U;
    const auto held = b;
    guarded<allot::fallback<scratch<allot::best_fit<>, 512>&, grows&>> moved{std::move(both)};
    moved.deallocate(a);
    moved.deallocate(held);
    CHECK(note::take() == 1);
    CHECK(both.check_all() == 0);
}

TEST_CASE("guarded: a block that is freed out of order in a hardened stack or ring stays known") {
    const auto play = []<class Strategy>(std::type_identity<Strategy>, bool newest_first) {
        guarded<allot::arena<allot::host::static_storage<1000>, Strategy, allot::growth::none<>,
                             allot::arena_options{.hardening = allot::hardening::checked}, note>>
            memory;
        const auto first = memory.allocate({.size = 50}), second = memory.allocate({.size = 60});
        memory.deallocate(newest_first ? first : second);
        CHECK(note::take() == 1);
        CHECK(note::last == misuse::out_of_order);
        CHECK(memory.check_all() == 0);
        memory.deallocate(newest_first ? second : first);
        memory.deallocate(newest_first ? first : second);
        std::size_t live = 0;
        memory.for_each_block([&](const auto&, std::size_t) { ++live; });
        CHECK(live == 0);
        CHECK(memory.allocate({.size = 60}));
    };
    play(std::type_identity<allot::stack<>>{}, true);
    play(std::type_identity<allot::ring<>>{}, false);
}
