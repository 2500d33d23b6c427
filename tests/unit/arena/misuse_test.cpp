// Misused blocks of checked arenas: the handler is called with the kind of misuse, no state changes, and the arena
// still works.
#include "helpers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

namespace {

using namespace helpers;
using allot::misuse;

constexpr std::size_t capacity = 4096;
constexpr allot::layout small{64, 16};
using some_growth = allot::growth::fixed<allot::growth_options{.step = 512, .regions = 8}>;
using few_slots = allot::pool<allot::pool_options{.slot = 128, .count = 32, .align = 16}>;

template <class Strategy, class Growth = allot::growth::none<>>
struct on_host {
    using arena_type = allot::arena<allot::host::heap, Strategy, Growth, checked, noted>;
    static constexpr bool has_pointers = true;
    static constexpr auto order = Strategy::reclaims;
    static constexpr bool reclaims = order == allot::reclaim::any;
    arena_type arena = make();
    static arena_type make() {
        if constexpr (Growth::regions > 1) {
            return arena_type{};
        } else {
            return arena_type{{}, capacity};
        }
    }
};
template <class Strategy, class Growth = allot::growth::none<>>
struct on_handles {
    using arena_type = allot::arena<handles<>, Strategy, Growth, checked, noted>;
    static constexpr bool has_pointers = false;
    static constexpr auto order = Strategy::reclaims;
    static constexpr bool reclaims = order == allot::reclaim::any;
    supply from{};
    arena_type arena = make();
    arena_type make() {
        if constexpr (Growth::regions > 1) {
            return arena_type{handles<>{from}};
        } else {
            return arena_type{handles<>{from}, capacity};
        }
    }
};

// Every strategy and node store once, every address model, one region and several. Not every combination, because the
// checks do not depend on it and every combination takes a second to compile.
#define ALL_ARENAS                                                                                              \
    on_host<down>, on_host<allot::stack<>>, on_host<allot::ring<>>, on_host<few_slots>,                         \
        on_host<allot::best_fit<in_band>>, on_host<allot::best_fit<side_table>>, on_handles<allot::best_fit<>>, \
        on_host<allot::best_fit<in_band>, some_growth>, on_handles<up, some_growth>,                            \
        on_handles<allot::best_fit<>, some_growth>

template <class Arena>
std::size_t position(const typename Arena::block_type& block) {
    return Arena::address_model::position(block.address);
}

/// Twelve live blocks, filled where possible. `still_works` checks that all of them are unchanged, frees them and
/// checks that the whole arena is free.
template <class Kind>
struct in_use {
    using arena_type = typename Kind::arena_type;
    using block_type = typename arena_type::block_type;

    in_use() {
        noted::take();
        if constexpr (Kind::reclaims) {
            const auto first = kind.arena.allocate(small);
            kind.arena.deallocate(first);
        }
        for (int i = 0; i != 12; ++i) {
            blocks.push_back(kind.arena.allocate(small));
            REQUIRE(blocks.back());
            if constexpr (Kind::has_pointers) std::memset(blocks.back().address, i, small.size);
        }
        REQUIRE(noted::calls.empty());
    }

    void still_works() {
        CHECK(noted::calls.empty());
        for (std::size_t i = 0; i != blocks.size(); ++i) {
            CHECK(kind.arena.owns(blocks[i]));
            CHECK(kind.arena.capacity(blocks[i]) >= blocks[i].size);
            if constexpr (Kind::has_pointers) CHECK(all_bytes(blocks[i].address, small.size, i));
        }
        const auto more = kind.arena.allocate(small);
        REQUIRE(more);
        for (const auto& other : blocks) CHECK(other.address != more.address);
        blocks.push_back(more);
        if (Kind::order == allot::reclaim::lifo) std::reverse(blocks.begin(), blocks.end());
        for (const auto& block : blocks) kind.arena.deallocate(block);
        CHECK(noted::take().empty());
        if constexpr (Kind::reclaims) {
            const std::size_t held = kind.arena.size();
            for (auto& block : blocks) block = kind.arena.allocate(small);
            CHECK(kind.arena.size() == held);
            for (const auto& block : blocks) {
                CHECK(block);
                kind.arena.deallocate(block);
            }
            if constexpr (requires { kind.arena.trim(); }) {
                CHECK(kind.arena.trim() == held);
                CHECK(kind.arena.size() == 0);
            } else {
                Kind fresh;
                CHECK(room_for(kind.arena, small) == room_for(fresh.arena, small));
            }
        }
        CHECK(noted::take().empty());
    }

    Kind kind;
    std::vector<block_type> blocks;
};

}  // namespace

TEST_CASE_TEMPLATE("hardening: freeing a block of another arena is reported and changes nothing", Kind, ALL_ARENAS) {
    in_use<Kind> used, other;
    if constexpr (Kind::has_pointers) {
        const auto foreign = other.blocks[3];
        used.kind.arena.deallocate(foreign);
        CHECK(noted::only(misuse::foreign_block, position<typename Kind::arena_type>(foreign), foreign.size));
    } else {
        auto foreign = other.blocks[3];
        foreign.address.handle = 77;  // a buffer that is not in this arena, at an offset that is
        used.kind.arena.deallocate(foreign);
        CHECK(noted::only(misuse::foreign_block, position<typename Kind::arena_type>(foreign), foreign.size));
    }
    used.still_works();
    other.still_works();
}

TEST_CASE_TEMPLATE("hardening: freeing foreign memory is reported and changes nothing", Kind, ALL_ARENAS) {
    in_use<Kind> used;
    typename Kind::arena_type::block_type made_up{};
    made_up.size = 64;  // at a null address, with a null handle
    used.kind.arena.deallocate(made_up);
    CHECK(noted::only(misuse::foreign_block, 0, 64));
    made_up.size = most;
    used.kind.arena.deallocate(made_up);
    CHECK(noted::only(misuse::foreign_block, 0, most));
    if constexpr (Kind::has_pointers) {
        std::byte on_the_stack[64];
        made_up = used.blocks[0];
        made_up.address = on_the_stack;
        used.kind.arena.deallocate(made_up);
        CHECK(noted::only(misuse::foreign_block, allot::raw_pointer::position(on_the_stack), made_up.size));
    }
    used.still_works();
}

TEST_CASE_TEMPLATE("hardening: freeing a block twice is reported and changes nothing", Kind, ALL_ARENAS) {
    in_use<Kind> used;
    const std::size_t which = Kind::order == allot::reclaim::lifo ? 11 : Kind::order == allot::reclaim::fifo ? 0 : 5;
    const auto twice = used.blocks[which];
    used.kind.arena.deallocate(twice);
    CHECK(noted::take().empty());
    used.blocks.erase(used.blocks.begin() + static_cast<std::ptrdiff_t>(which));
    for (std::size_t i = which; i != used.blocks.size(); ++i)
        if constexpr (Kind::has_pointers) std::memset(used.blocks[i].address, static_cast<int>(i), small.size);
    for (int again = 0; again != 3; ++again) {
        used.kind.arena.deallocate(twice);
        CHECK(noted::only(misuse::not_live, position<typename Kind::arena_type>(twice), twice.size));
    }
    used.still_works();
}

TEST_CASE_TEMPLATE("hardening: freeing a block with a wrong size is reported and changes nothing", Kind, ALL_ARENAS) {
    in_use<Kind> used;
    for (const std::size_t size : {std::size_t{1}, small.size - 1, small.size + 1, 2 * small.size, most}) {
        auto wrong = used.blocks[2];
        wrong.size = size;
        used.kind.arena.deallocate(wrong);
        CHECK(noted::only(misuse::wrong_size, position<typename Kind::arena_type>(wrong), size));
    }
    used.still_works();
}

TEST_CASE_TEMPLATE("hardening: freeing an address inside a block is reported and changes nothing", Kind, ALL_ARENAS) {
    in_use<Kind> used;
    auto inside = used.blocks[2];
    inside.address = Kind::arena_type::address_model::locate(inside.address, 16);
    inside.size = 16;
    used.kind.arena.deallocate(inside);
    CHECK(noted::only(misuse::not_live, position<typename Kind::arena_type>(inside), 16));
    used.still_works();
}

TEST_CASE_TEMPLATE("hardening: freeing a block of a released region is reported", Kind,
                   on_host<allot::best_fit<in_band>, some_growth>, on_host<allot::best_fit<side_table>, some_growth>,
                   on_handles<allot::best_fit<>, some_growth>) {
    in_use<Kind> used;
    const auto alone = used.kind.arena.allocate({3000, 16});
    REQUIRE(alone);
    used.kind.arena.deallocate(alone);
    REQUIRE(used.kind.arena.trim() > 0);
    used.kind.arena.deallocate(alone);  // `checked` has no record of freed blocks
    CHECK(noted::only(misuse::foreign_block, position<typename Kind::arena_type>(alone), alone.size));
    used.still_works();
}

TEST_CASE_TEMPLATE("hardening: a resized block is live only with its new size", Kind, on_host<allot::best_fit<in_band>>,
                   on_host<allot::best_fit<side_table>>, on_handles<allot::best_fit<>>,
                   on_host<allot::best_fit<in_band>, some_growth>, on_handles<allot::best_fit<>, some_growth>) {
    in_use<Kind> used;
    auto resized = used.kind.arena.allocate({200, 16});
    REQUIRE(resized);
    const auto before = resized;
    REQUIRE(used.kind.arena.resize(resized, 100));
    CHECK(resized.address == before.address);
    CHECK(resized.size == 100);
    used.kind.arena.deallocate(before);
    CHECK(noted::only(misuse::wrong_size, position<typename Kind::arena_type>(before), 200));
    auto stale = before;
    CHECK_FALSE(used.kind.arena.resize(stale, 150));
    CHECK(stale == before);
    CHECK(noted::only(misuse::wrong_size, position<typename Kind::arena_type>(before), 200));
    used.kind.arena.deallocate(resized);
    CHECK(noted::take().empty());
    used.kind.arena.deallocate(resized);
    CHECK(noted::only(misuse::not_live, position<typename Kind::arena_type>(before), 100));
    used.still_works();
}

TEST_CASE_TEMPLATE("hardening: resizing a foreign or freed block is reported and changes nothing", Kind,
                   on_host<allot::best_fit<in_band>>, on_host<allot::best_fit<side_table>>,
                   on_handles<allot::best_fit<>>, on_host<allot::best_fit<in_band>, some_growth>,
                   on_handles<allot::best_fit<>, some_growth>) {
    in_use<Kind> used;
    auto gone = used.kind.arena.allocate({200, 16});
    used.kind.arena.deallocate(gone);
    const auto before = gone;
    CHECK_FALSE(used.kind.arena.resize(gone, 100));
    CHECK(gone == before);
    CHECK(noted::only(misuse::not_live, position<typename Kind::arena_type>(gone), 200));
    typename Kind::arena_type::block_type foreign{};
    foreign.size = 8;
    CHECK_FALSE(used.kind.arena.resize(foreign, 100));
    CHECK(noted::only(misuse::foreign_block, 0, 8));
    typename Kind::arena_type::block_type empty{};
    CHECK_FALSE(used.kind.arena.resize(empty, 100));
    used.still_works();
}

TEST_CASE_TEMPLATE("hardening: a block with the metadata of another is reported and changes nothing", Kind,
                   on_host<allot::best_fit<side_table>>, on_handles<allot::best_fit<>>, on_host<allot::stack<>>,
                   on_host<allot::ring<>>, on_host<allot::best_fit<side_table>, some_growth>,
                   on_handles<allot::best_fit<>, some_growth>) {
    in_use<Kind> used;
    auto mixed = used.blocks[2];
    mixed.metadata = used.blocks[3].metadata;
    used.kind.arena.deallocate(mixed);
    CHECK(noted::only(misuse::wrong_size, position<typename Kind::arena_type>(mixed), mixed.size));
    used.still_works();
}

TEST_CASE_TEMPLATE("hardening: after reset no earlier block is live", Kind, on_host<up>, on_host<down>,
                   on_host<allot::stack<>>, on_host<allot::ring<>>, on_host<up, some_growth>,
                   on_handles<up, some_growth>) {
    in_use<Kind> used;
    used.kind.arena.reset();
    for (const auto& block : used.blocks) {
        used.kind.arena.deallocate(block);
        CHECK(noted::only(misuse::not_live, position<typename Kind::arena_type>(block), block.size));
    }
    const auto next = used.kind.arena.allocate(small);
    CHECK(next.address == used.blocks[0].address);
    used.kind.arena.deallocate(next);
    CHECK(noted::take().empty());
}

TEST_CASE_TEMPLATE("hardening: after rollback only earlier blocks are live", Kind, on_host<up>, on_host<down>,
                   on_host<allot::stack<>>, on_host<up, some_growth>, on_handles<up, some_growth>) {
    in_use<Kind> used;
    const auto mark = used.kind.arena.mark();
    std::vector<typename Kind::arena_type::block_type> later;
    for (int i = 0; i != 12; ++i) later.push_back(used.kind.arena.allocate(small));
    used.kind.arena.rollback(mark);
    for (const auto& block : later) {
        used.kind.arena.deallocate(block);
        CHECK(noted::only(misuse::not_live, position<typename Kind::arena_type>(block), block.size));
    }
    used.still_works();
}

TEST_CASE("hardening: an unchecked arena stores no records") {
    using plain = allot::arena<allot::host::heap, up>;
    using with_handler = allot::arena<allot::host::heap, up, allot::growth::none<>, allot::arena_options{}, noted>;
    using with_checks = allot::arena<allot::host::heap, up, allot::growth::none<>, checked, noted>;
    CHECK(sizeof(plain) == sizeof(with_handler));
    CHECK(sizeof(plain) < sizeof(with_checks));
}

TEST_CASE_TEMPLATE("hardening: a block freed out of order is reported and stays live", Strategy, allot::stack<>,
                   allot::stack<allot::stack_options{.large = 100}>, allot::ring<>) {
    noted::take();
    allot::arena<allot::host::heap, Strategy, allot::growth::none<>, checked, noted> arena{{}, 1000};
    const auto a = arena.allocate({33, 1}), b = arena.allocate({55, 8}), c = arena.allocate({77, 4});
    REQUIRE((a && b && c));
    const bool newest_first = Strategy::reclaims == allot::reclaim::lifo;
    const auto next = newest_first ? c : a, last = newest_first ? a : c;
    for (const auto& wrong : {b, last}) {
        arena.deallocate(wrong);
        CHECK(noted::only(misuse::out_of_order, allot::raw_pointer::position(wrong.address), wrong.size));
    }
    for (const auto& right : {next, b, last}) arena.deallocate(right);
    CHECK(noted::take().empty());
    CHECK(arena.allocate({1000, 1}));
}

TEST_CASE_TEMPLATE("hardening: a stale block is reported after its address was allocated again at the same size", Kind,
                   on_host<few_slots>, on_host<allot::best_fit<in_band>>, on_host<allot::best_fit<side_table>>,
                   on_host<allot::deferred<allot::best_fit<in_band>>>, on_handles<allot::best_fit<>>,
                   on_host<allot::best_fit<in_band>, some_growth>, on_handles<allot::best_fit<>, some_growth>) {
    in_use<Kind> used;
    const allot::layout words{small.size, sizeof(void*)};
    const auto stale = used.kind.arena.allocate(words);
    used.kind.arena.deallocate(stale);
    const auto fresh = used.kind.arena.allocate(words);
    REQUIRE(fresh.address == stale.address);
    used.kind.arena.deallocate(stale);
    CHECK(noted::only(misuse::not_live, position<typename Kind::arena_type>(stale), stale.size));
    CHECK(used.kind.arena.capacity(stale) == 0);
    CHECK(noted::only(misuse::not_live, position<typename Kind::arena_type>(stale), stale.size));
    auto by_hand = fresh;
    by_hand.metadata.number = 0;  // constructed from an address and a size: matches the live block there
    used.kind.arena.deallocate(by_hand);
    used.still_works();
}

TEST_CASE_TEMPLATE("hardening: the capacity of a block that is not live is 0 and is reported", Kind, ALL_ARENAS) {
    in_use<Kind> used;
    auto inside = used.blocks[2];
    inside.address = Kind::arena_type::address_model::locate(inside.address, 16);
    inside.size = 16;
    CHECK(used.kind.arena.capacity(inside) == 0);
    CHECK(noted::only(misuse::not_live, position<typename Kind::arena_type>(inside), 16));
    CHECK(used.kind.arena.capacity({}) == 0);
    used.still_works();
}

TEST_CASE_TEMPLATE("hardening: a write past the end into the next record in band is reported before the record is used",
                   Strategy, allot::best_fit<in_band>, allot::deferred<allot::best_fit<in_band>>) {
    noted::take();
    const auto reported = [](std::size_t size, unsigned char value, bool next_is_live, bool next_is_freed) {
        allot::arena<allot::host::heap, Strategy, allot::growth::none<>, checked, noted> arena{{}, 8192};
        const auto a = arena.allocate({size, 8}), b = arena.allocate({size, 8});
        REQUIRE((a && b));
        if (!next_is_live) arena.deallocate(b);
        const std::size_t room = arena.capacity(a);
        std::byte saved[16];  // the seal of the block, and the record
        std::byte* const behind = static_cast<std::byte*>(a.address) + room;
        std::memcpy(saved, behind, sizeof saved);
        std::memset(behind, value, sizeof saved);
        arena.deallocate(next_is_freed ? b : a);
        const auto calls = noted::take();
        std::memcpy(behind, saved, sizeof saved);  // the report has changed nothing
        arena.deallocate(a);
        if (next_is_live) arena.deallocate(b);
        const auto whole = arena.allocate({8000, 8});
        CHECK(whole);
        arena.deallocate(whole);
        CHECK(noted::take().empty());
        const auto& about = next_is_freed ? b : a;
        return calls.size() == 1 &&
               calls[0] == noted::call{misuse::overwritten, allot::raw_pointer::position(about.address), size};
    };
    for (const std::size_t size : {std::size_t{24}, std::size_t{77}, std::size_t{3001}}) {
        for (const int value : {0x00, 0x41, 0xDD, 0xFF}) {
            CHECK(reported(size, static_cast<unsigned char>(value), true, false));
            CHECK(reported(size, static_cast<unsigned char>(value), true, true));
            CHECK(reported(size, static_cast<unsigned char>(value), false, false));
        }
    }
}

TEST_CASE_TEMPLATE("hardening: a small number in the record in front of a block is reported", Strategy,
                   allot::best_fit<in_band>, allot::deferred<allot::best_fit<in_band>>) {
    noted::take();
    using word = typename Strategy::offset_type;
    for (const std::size_t skipped : {std::size_t{0}, sizeof(word)}) {
        alignas(16) std::byte bytes[9000];
        allot::arena<allot::host::buffer, Strategy, allot::growth::none<>, checked, noted> arena{
            allot::host::buffer{bytes + skipped, sizeof bytes - skipped}};
        const auto first = arena.allocate({40, 8}), second = arena.allocate({40, 8}), third = arena.allocate({40, 8});
        REQUIRE((first && second && third));
        arena.deallocate(third);  // the arena knows the region now
        for (const auto& block : {first, second}) {
            std::byte* const record = static_cast<std::byte*>(block.address) - sizeof(word);
            word intact;
            std::memcpy(&intact, record, sizeof intact);
            for (word damaged = 0; damaged != 4 * sizeof(word); ++damaged) {
                std::memcpy(record, &damaged, sizeof damaged);
                arena.deallocate(block);
                CHECK(noted::only(misuse::overwritten, allot::raw_pointer::position(block.address), 40));
            }
            std::memcpy(record, &intact, sizeof intact);
        }
        arena.deallocate(first);
        arena.deallocate(second);
        CHECK(arena.allocate({8900, 1}));
        CHECK(noted::take().empty());
    }
}

TEST_CASE_TEMPLATE("hardening: a wrong size in the record of a block is reported up to the end of the region", Strategy,
                   allot::best_fit<in_band>, allot::deferred<allot::best_fit<in_band>>) {
    noted::take();
    using word = typename Strategy::offset_type;
    constexpr std::size_t granule = 2 * sizeof(word);
    alignas(16) std::byte bytes[3000];
    std::byte* const end = bytes + 2000;
    using arena_type = allot::arena<allot::host::buffer, Strategy, allot::growth::none<>, checked, noted>;
    arena_type arena{allot::host::buffer{bytes, 2000}};
    std::vector<typename arena_type::block_type> blocks;
    while (const auto fresh = arena.allocate({40, 8})) blocks.push_back(fresh);
    REQUIRE(blocks.size() > 20);
    arena.deallocate(blocks.front());  // the arena knows the region now
    blocks.erase(blocks.begin());
    for (const auto& block : blocks) {
        std::byte* const record = static_cast<std::byte*>(block.address) - sizeof(word);
        word intact;
        std::memcpy(&intact, record, sizeof intact);
        std::byte seal[8];
        std::memcpy(seal, static_cast<std::byte*>(block.address) + arena.capacity(block), sizeof seal);
        const word flags = intact % granule;
        for (word granules = 1; record + granules * granule + sizeof(word) <= bytes + sizeof bytes; ++granules) {
            const word damaged = granules * granule + flags;
            if (damaged == intact) continue;
            std::memcpy(record, &damaged, sizeof damaged);
            // Behind the region, the seal of the block and the record of another one follow.
            if (std::byte* const above = record + granules * granule; above - sizeof seal >= end) {
                std::memcpy(above - sizeof seal, seal, sizeof seal);
                std::memcpy(above, &flags, sizeof flags);
            }
            arena.deallocate(block);
            CHECK(noted::only(misuse::overwritten, allot::raw_pointer::position(block.address), 40));
        }
        std::memcpy(record, &intact, sizeof intact);
    }
    for (const auto& block : blocks) arena.deallocate(block);
    CHECK(arena.allocate({1900, 1}));
    CHECK(noted::take().empty());
}

// ── debug ────────────────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE_TEMPLATE("hardening debug: exactly the bytes of a freed block are overwritten", Strategy, up, down,
                   allot::stack<>, allot::ring<>, allot::best_fit<side_table>) {
    noted::take();
    alignas(64) std::byte bytes[1024];
    {
        allot::arena<allot::host::buffer, Strategy, allot::growth::none<>, debug, noted> arena{
            allot::host::buffer{bytes}};
        const auto a = arena.allocate({100, 16}), b = arena.allocate({100, 16}), c = arena.allocate({100, 16});
        REQUIRE((a && b && c));
        std::memset(bytes, 0x11, sizeof bytes);
        const bool newest_first = Strategy::reclaims == allot::reclaim::lifo;
        const auto freed = newest_first ? c : a;  // the oldest
        arena.deallocate(freed);
        const auto* const first = static_cast<std::byte*>(freed.address);
        CHECK(all_bytes(first, 100, 0xDD));
        CHECK(all_bytes(bytes, static_cast<std::size_t>(first - bytes), 0x11));
        CHECK(all_bytes(first + 100, static_cast<std::size_t>(bytes + sizeof bytes - first) - 100, 0x11));
        arena.deallocate(b);
        arena.deallocate(newest_first ? a : c);
        CHECK(noted::take().empty());
    }
    CHECK(noted::take().empty());
}

TEST_CASE("hardening debug: freed bytes are overwritten except for records in band") {
    noted::take();
    allot::arena<allot::host::heap, allot::best_fit<in_band>, allot::growth::none<>, debug, noted> arena{{}, 4096};
    const auto guard = arena.allocate({64, 16});
    const auto block = arena.allocate({1024, 16});
    const auto above = arena.allocate({64, 16});
    REQUIRE((guard && block && above));
    std::memset(guard.address, 0x11, 64);
    std::memset(block.address, 0x22, 1024);
    std::memset(above.address, 0x33, 64);
    arena.deallocate(block);
    CHECK(all_bytes(static_cast<std::byte*>(block.address) + 2 * sizeof(void*), 1024 - 3 * sizeof(void*), 0xDD));
    CHECK(all_bytes(guard.address, 64, 0x11));
    CHECK(all_bytes(above.address, 64, 0x33));
    arena.deallocate(guard);
    arena.deallocate(above);
    CHECK(noted::take().empty());
}

TEST_CASE_TEMPLATE("hardening debug: every block that is live at destruction is reported once", Strategy,
                   allot::stack<>, allot::ring<>, few_slots, allot::best_fit<in_band>, allot::best_fit<side_table>) {
    noted::take();
    noted::call leaked[2] = {};
    {
        allot::arena<allot::host::heap, Strategy, allot::growth::none<>, debug, noted> arena{{}, 4096};
        const auto a = arena.allocate({10, 16}), b = arena.allocate({20, 16}), c = arena.allocate({30, 16});
        REQUIRE((a && b && c));
        const auto first = Strategy::reclaims == allot::reclaim::fifo ? b : a;
        const auto freed = Strategy::reclaims == allot::reclaim::fifo   ? a
                           : Strategy::reclaims == allot::reclaim::lifo ? c
                                                                        : b;
        const auto second = Strategy::reclaims == allot::reclaim::lifo ? b : c;
        arena.deallocate(freed);
        leaked[0] = {misuse::leaked, allot::raw_pointer::position(first.address), first.size};
        leaked[1] = {misuse::leaked, allot::raw_pointer::position(second.address), second.size};
        CHECK(noted::take().empty());
    }
    const auto calls = noted::take();
    REQUIRE(calls.size() == 2);
    CHECK(calls[0] == leaked[0]);
    CHECK(calls[1] == leaked[1]);
}

TEST_CASE_TEMPLATE("hardening debug: blocks of a bump are not reported as leaks", Strategy, up, down) {
    noted::take();
    {
        allot::arena<allot::host::heap, Strategy, allot::growth::none<>, debug, noted> arena{{}, 4096};
        REQUIRE(arena.allocate({13, 16}));
    }
    CHECK(noted::take().empty());
}

namespace {
template <class Strategy, class Growth = allot::growth::none<>>
struct debugged {
    using arena_type = allot::arena<allot::host::heap, Strategy, Growth, debug, noted>;
    static arena_type make() {
        if constexpr (Growth::regions > 1) return arena_type{};
        else return arena_type{{}, 16384};
    }
};
}  // namespace

TEST_CASE_TEMPLATE("hardening debug: a write after free is reported when the bytes are allocated again", Kind,
                   debugged<down>, debugged<up>, debugged<allot::stack<>>, debugged<allot::ring<>>, debugged<few_slots>,
                   debugged<allot::best_fit<in_band>>, debugged<allot::best_fit<side_table>>,
                   debugged<allot::deferred<allot::best_fit<in_band>>>,
                   debugged<allot::best_fit<in_band>, some_growth>) {
    noted::take();
    {
        auto arena = Kind::make();
        const auto block = arena.allocate({99, 8});
        REQUIRE(block);
        arena.deallocate(block);
        static_cast<unsigned char*>(block.address)[47] = 3;
        CHECK(noted::take().empty());
        if constexpr (requires { arena.reset(); }) arena.reset();
        const auto again = arena.allocate({99, 8});
        CHECK(again.address == block.address);
        CHECK(noted::only(misuse::written_after_free, allot::raw_pointer::position(block.address), 99));
        arena.deallocate(again);
    }
    CHECK(noted::take().empty());
}

TEST_CASE_TEMPLATE("hardening debug: a write after free is reported when a block grows over the bytes", Kind,
                   debugged<allot::best_fit<in_band>>, debugged<allot::best_fit<side_table>>) {
    noted::take();
    auto arena = Kind::make();
    auto block = arena.allocate({96, 8});
    const auto above = arena.allocate({99, 8});
    REQUIRE((block && above && above.address > block.address));
    arena.deallocate(above);
    static_cast<unsigned char*>(above.address)[47] = 3;
    CHECK(noted::take().empty());
    const std::size_t all =
        allot::raw_pointer::position(above.address) - allot::raw_pointer::position(block.address) + 99;
    CHECK(arena.resize(block, all));
    CHECK(noted::only(misuse::written_after_free, allot::raw_pointer::position(above.address), 99));
    arena.deallocate(block);
    CHECK(noted::take().empty());
}

namespace {
/// A strategy whose blocks have no usable bytes after their size.
struct without_spare_bytes : allot::best_fit<side_table> {
    using base = allot::best_fit<side_table>;
    [[nodiscard]] base::offset_type capacity(base::allocation_type given) const noexcept { return given.where.size; }
};
}  // namespace

TEST_CASE("hardening debug: a write after free is reported in the bytes that a resize added") {
    noted::take();
    std::size_t at = 0;
    {
        auto arena = debugged<without_spare_bytes>::make();
        auto block = arena.allocate({64, 8});
        REQUIRE(arena.resize(block, 128));
        at = allot::raw_pointer::position(block.address);
        arena.deallocate(block);
        static_cast<unsigned char*>(block.address)[100] = 3;
    }
    CHECK(noted::only(misuse::written_after_free, at, 128));
}

TEST_CASE_TEMPLATE("hardening debug: a write after free is reported at destruction and by trim", Kind,
                   debugged<allot::best_fit<side_table>>, debugged<allot::best_fit<in_band>, some_growth>) {
    noted::take();
    for (const bool trimmed : {false, true}) {
        std::size_t at = 0;
        {
            auto arena = Kind::make();
            const auto block = arena.allocate({301, 8});
            at = allot::raw_pointer::position(block.address);
            arena.deallocate(block);
            static_cast<unsigned char*>(block.address)[60] = 0;
            if constexpr (requires { arena.trim(); }) {
                if (trimmed) {
                    CHECK(arena.trim() != 0);
                    CHECK(noted::only(misuse::written_after_free, at, 301));
                    continue;
                }
            }
        }
        CHECK(noted::only(misuse::written_after_free, at, 301));
    }
}

TEST_CASE_TEMPLATE(
    "hardening debug: the arena's own writes to freed blocks are not reported", Kind, debugged<few_slots>,
    debugged<allot::stack<>>, debugged<allot::ring<>>, debugged<allot::best_fit<in_band>>,
    debugged<allot::best_fit<side_table>>, debugged<allot::deferred<allot::best_fit<in_band>>>,
    debugged<allot::best_fit<allot::best_fit_options{.store = allot::node_store::in_band, .large = 200}>>,
    debugged<allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table, .granule = 64}>>,
    debugged<allot::best_fit<in_band>, some_growth>, debugged<allot::best_fit<side_table>, some_growth>) {
    noted::take();
    {
        auto arena = Kind::make();
        using arena_type = typename Kind::arena_type;
        std::vector<typename arena_type::block_type> live;
        std::uint32_t random = 1;
        const auto below = [&](std::size_t n) {
            random = random * 1664525 + 1013904223;
            return static_cast<std::size_t>(random >> 8) % n;
        };
        for (int round = 0; round != 4000; ++round) {
            if (const auto block = arena.allocate({1 + below(below(3) == 0 ? 700 : 90), std::size_t{1} << below(6)})) {
                std::memset(block.address, static_cast<int>(below(256)), arena.capacity(block));
                live.push_back(block);
            }
            while (!live.empty() && (live.size() > 60 || below(3) == 0)) {
                const std::size_t which = arena_type::reclaims == allot::reclaim::lifo   ? live.size() - 1
                                          : arena_type::reclaims == allot::reclaim::fifo ? 0
                                                                                         : below(live.size());
                if constexpr (requires { arena.resize(live[which], 1); }) {
                    if (below(3) == 0 && arena.resize(live[which], 1 + below(300)))
                        std::memset(live[which].address, 7, arena.capacity(live[which]));
                }
                arena.deallocate(live[which]);
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
            }
            if constexpr (requires { arena.trim(); }) {
                if (below(100) == 0) arena.trim();
            }
            if (!noted::calls.empty()) break;
        }
        CHECK(noted::take().empty());
        while (!live.empty()) {
            const bool newest = arena_type::reclaims == allot::reclaim::lifo;
            arena.deallocate(newest ? live.back() : live.front());
            live.erase(newest ? live.end() - 1 : live.begin());
        }
    }
    CHECK(noted::take().empty());
}

TEST_CASE("hardening debug: leaks in handles and in several regions are reported by offset") {
    noted::take();
    supply from;
    {
        allot::arena<handles<>, allot::best_fit<>, some_growth, debug, noted> arena{handles<>{from}};
        REQUIRE(arena.allocate({512, 16}));
        REQUIRE(arena.allocate({512, 16}));
    }
    CHECK(noted::take() == std::vector<noted::call>{{misuse::leaked, 0, 512}, {misuse::leaked, 0, 512}});
    CHECK(from.held == 0);
}

TEST_CASE("hardening debug: no leak is reported after reset or by a checked arena") {
    noted::take();
    {
        allot::arena<allot::host::heap, up, allot::growth::none<>, debug, noted> arena{{}, 4096};
        REQUIRE(arena.allocate({10, 16}));
        arena.reset();
        allot::arena<allot::host::heap, up, allot::growth::none<>, checked, noted> other{{}, 4096};
        REQUIRE(other.allocate({10, 16}));
    }
    CHECK(noted::take().empty());
}
