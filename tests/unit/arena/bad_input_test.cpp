// Requests that must fail, for every kind of arena: the block is empty, `diagnose` returns the reason, and the arena is
// unchanged.
#include "helpers.hpp"

#include <doctest/doctest.h>

namespace {

using namespace helpers;
using allot::refusal;

constexpr std::size_t capacity = 4096;
using some_growth = allot::growth::fixed<allot::growth_options{.step = 1024, .limit = capacity, .regions = 4}>;
using few_slots = allot::pool<allot::pool_options{.slot = 64, .count = 16, .align = 16}>;

/// An arena of at most `capacity` bytes, in host memory aligned to 64 or in handles.
template <class Strategy, class Growth = allot::growth::none<>>
struct on_host {
    static constexpr bool has_pointers = true;
    static constexpr bool reclaims = allot::reclaim::any == Strategy::reclaims;
    alignas(64) std::byte bytes[capacity];
    allot::arena<allot::host::buffer, Strategy> arena{allot::host::buffer{bytes}};
};
template <class Strategy>
struct on_host<Strategy, some_growth> {
    static constexpr bool has_pointers = true;
    static constexpr bool reclaims = allot::reclaim::any == Strategy::reclaims;
    allot::arena<modest_heap, Strategy, some_growth> arena;
};
template <class Strategy, class Growth = allot::growth::none<>>
struct on_handles {
    static constexpr bool has_pointers = false;
    static constexpr bool reclaims = allot::reclaim::any == Strategy::reclaims;
    supply from{};
    allot::arena<handles<>, Strategy, Growth> arena = make();

    auto make() {
        if constexpr (Growth::regions > 1) {
            return allot::arena<handles<>, Strategy, Growth>{handles<>{from}};
        } else {
            return allot::arena<handles<>, Strategy, Growth>{handles<>{from}, capacity};
        }
    }
};

#define ALL_ARENAS                                                                                                     \
    on_host<up>, on_host<down>, on_host<allot::stack<>>, on_host<allot::ring<>>, on_host<few_slots>,                   \
        on_host<allot::best_fit<in_band>>, on_host<allot::best_fit<side_table>>, on_handles<up>, on_handles<down>,     \
        on_handles<allot::stack<>>, on_handles<allot::ring<>>, on_handles<few_slots>, on_handles<allot::best_fit<>>,   \
        on_host<up, some_growth>, on_host<down, some_growth>, on_host<allot::best_fit<in_band>, some_growth>,          \
        on_host<allot::best_fit<side_table>, some_growth>, on_handles<up, some_growth>, on_handles<down, some_growth>, \
        on_handles<allot::best_fit<>, some_growth>

/// Checks that the request fails for this reason, also after another allocation, and changes nothing.
template <class Kind>
void refuses(allot::layout wanted, refusal reason) {
    Kind kind;
    CHECK_FALSE(kind.arena.allocate(wanted));
    CHECK(kind.arena.diagnose(wanted).reason == reason);
    const auto first = kind.arena.allocate({48, 8});
    REQUIRE(first);
    const std::size_t held = kind.arena.size();
    for (int i = 0; i != 3; ++i) {
        CHECK_FALSE(kind.arena.allocate(wanted));
        CHECK(kind.arena.diagnose(wanted).reason == reason);
    }
    CHECK(kind.arena.size() == held);
    const auto second = kind.arena.allocate({48, 8});
    REQUIRE(second);
    CHECK(second.address != first.address);

    // The next block is where it would be without the failed request.
    Kind untouched;
    const auto expected_first = untouched.arena.allocate({48, 8});
    const auto expected_second = untouched.arena.allocate({48, 8});
    const auto distance = [](auto a, auto b) {
        using model = typename decltype(kind.arena)::address_model;
        return model::position(a.address) - model::position(b.address);
    };
    CHECK(distance(second, first) == distance(expected_second, expected_first));
}

}  // namespace

TEST_CASE_TEMPLATE("arena: size 0 is rejected", Kind, ALL_ARENAS) {
    refuses<Kind>({0, 1}, refusal::empty_layout);
    refuses<Kind>({0, 16}, refusal::empty_layout);
    refuses<Kind>({0, 0}, refusal::empty_layout);
    refuses<Kind>({0, most}, refusal::empty_layout);
}

TEST_CASE_TEMPLATE("arena: alignment 0 is rejected", Kind, ALL_ARENAS) {
    refuses<Kind>({1, 0}, refusal::bad_alignment);
    refuses<Kind>({most, 0}, refusal::bad_alignment);
}

TEST_CASE_TEMPLATE("arena: alignment 3 is rejected", Kind, ALL_ARENAS) {
    refuses<Kind>({1, 3}, refusal::bad_alignment);
    refuses<Kind>({most, 3}, refusal::bad_alignment);
    refuses<Kind>({1, most}, refusal::bad_alignment);
    refuses<Kind>({1, most / 2 + 2}, refusal::bad_alignment);
}

TEST_CASE_TEMPLATE("arena: size SIZE_MAX is rejected", Kind, ALL_ARENAS) {
    for (const std::size_t align : {std::size_t{1}, std::size_t{16}}) {
        Kind kind;
        CHECK_FALSE(kind.arena.allocate({most, align}));
        const refusal reason = kind.arena.diagnose({most, align}).reason;
        CHECK((reason == refusal::exhausted || reason == refusal::over_limit));
        refuses<Kind>({most, align}, reason);
    }
}

TEST_CASE_TEMPLATE("arena: size SIZE_MAX - 1 with a large alignment is rejected", Kind, ALL_ARENAS) {
    for (const std::size_t align : {std::size_t{16}, std::size_t{4096}, most / 2 + 1}) {
        for (const std::size_t size : {most - 1, most - 15, most / 2 + 1}) {
            Kind kind;
            CHECK_FALSE(kind.arena.allocate({size, align}));
            const refusal reason = kind.arena.diagnose({size, align}).reason;
            CHECK((reason == refusal::exhausted || reason == refusal::over_limit || reason == refusal::misaligned ||
                   reason == refusal::device_refused));
            CHECK(kind.arena.allocate({48, 8}));
        }
    }
}

TEST_CASE_TEMPLATE("arena: one byte at the largest alignment fails or is aligned", Kind, ALL_ARENAS) {
    Kind kind;
    CHECK_FALSE(kind.arena.allocate({1, most / 2 + 1}));
    CHECK(kind.arena.diagnose({1, most / 2 + 1}).reason != refusal::none);
    CHECK(kind.arena.allocate({48, 8}));
}

TEST_CASE_TEMPLATE("arena: a block is never less aligned than requested", Kind, ALL_ARENAS) {
    for (std::size_t align = 1; align <= 2 * capacity; align *= 2) {
        Kind kind;
        for (int i = 0; i != 3; ++i) {
            const auto before = kind.arena.diagnose({40, align});
            const auto block = kind.arena.allocate({40, align});
            if (!block) {
                CHECK(kind.arena.diagnose({40, align}).reason != refusal::none);
                continue;
            }
            CHECK(before.reason == refusal::none);
            CHECK(is_aligned(block.address, align));
            if (!Kind::has_pointers) CHECK(align <= supply{}.align);
        }
    }
}

TEST_CASE("arena: an alignment above that of a handle's base is misaligned for every strategy") {
    const auto ask = [](auto kind) {
        CHECK_FALSE(kind.arena.allocate({1, 128}));
        CHECK(kind.arena.diagnose({1, 128}).reason == refusal::misaligned);
        CHECK_FALSE(kind.arena.allocate({capacity, most / 2 + 1}));
        CHECK(kind.arena.diagnose({capacity, most / 2 + 1}).reason == refusal::misaligned);
        CHECK(kind.arena.allocate({1, 16}));
    };
    ask(on_handles<up>{});
    ask(on_handles<down>{});
    ask(on_handles<allot::stack<>>{});
    ask(on_handles<allot::ring<>>{});
    ask(on_handles<few_slots>{});
    ask(on_handles<allot::best_fit<>>{});
}

TEST_CASE("arena: an alignment above that of a pointer's base is satisfied if there is room") {
    alignas(512) std::byte bytes[1024];
    allot::host::buffer odd{bytes + 1, 1000};
    allot::arena<allot::host::buffer, up> room{odd};
    const auto block = room.allocate({40, 512});
    REQUIRE(block);
    CHECK(is_aligned(block.address, 512));

    allot::host::buffer short_of_it{bytes + 1, 500};
    allot::arena<allot::host::buffer, up> no_room{short_of_it};
    CHECK_FALSE(no_room.allocate({40, 512}));
    CHECK(no_room.diagnose({40, 512}).reason == refusal::fragmented);
    CHECK(no_room.diagnose({40, 512}).largest_hole == 500);
}

TEST_CASE_TEMPLATE("arena: deallocate ignores an empty block", Kind, ALL_ARENAS) {
    Kind kind;
    kind.arena.deallocate({});
    const auto block = kind.arena.allocate({48, 8});
    REQUIRE(block);
    kind.arena.deallocate({});
    auto emptied = block;
    emptied.size = 0;
    kind.arena.deallocate(emptied);
    const auto next = kind.arena.allocate({48, 8});
    REQUIRE(next);
    CHECK(next.address != block.address);
    CHECK(kind.arena.capacity({}) == 0);
    CHECK_FALSE(kind.arena.owns({}));
}
