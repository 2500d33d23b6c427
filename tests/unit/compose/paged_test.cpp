// paged: rows from one allocator and the table from another, all or nothing.
#include "../arena/helpers.hpp"

#include <allot/allot.hpp>
#include <allot/host/virtual_memory.hpp>

#include <doctest/doctest.h>

#include <random>
#include <set>

namespace {

using namespace helpers;
using allot::refusal;

constexpr std::size_t row_bytes = 256;
using pointers = allot::pointer_table<row_bytes>;
using host_rows = allot::arena<allot::host::heap, allot::best_fit<side_table>>;
using host_tables = allot::arena<allot::host::heap, allot::best_fit<side_table>>;
using device_rows = allot::arena<handles<>, allot::best_fit<>>;
template <class Integer>
using offset_table = allot::pointer_table<row_bytes, allot::row_offset<Integer>, allot::handle_offset<int>>;
template <class Integer>
using index_table = allot::pointer_table<row_bytes, allot::row_index<Integer>, allot::handle_offset<int>>;

template <class Rows, class Tables>
constexpr allot::reclaim back =
    allot::paged<allot::arena<allot::host::heap, Rows>, allot::arena<allot::host::heap, Tables>, pointers>::reclaims;
static_assert(back<allot::best_fit<>, allot::best_fit<>> == allot::reclaim::any);
static_assert(back<allot::best_fit<>, allot::bump<>> == allot::reclaim::never);
static_assert(back<allot::bump<>, allot::best_fit<>> == allot::reclaim::never);
static_assert(back<allot::stack<>, allot::best_fit<>> == allot::reclaim::lifo);
static_assert(back<allot::best_fit<>, allot::ring<>> == allot::reclaim::fifo);
static_assert(back<allot::ring<>, allot::ring<>> == allot::reclaim::fifo);
static_assert(back<allot::stack<>, allot::ring<>> == allot::reclaim::never);
static_assert(back<allot::ring<>, allot::stack<>> == allot::reclaim::never);

// Returns whether the whole arena is one hole.
template <class Arena>
bool is_whole(const Arena& arena) {
    return arena.diagnose({arena.size(), 1}).reason == refusal::none;
}

}  // namespace

TEST_CASE("paged: rows of a tensor use separate holes") {
    host_rows rows{{}, 8 * row_bytes};
    host_tables tables{{}, 1024};
    allot::paged<host_rows&, host_tables&, pointers> tensors{rows, tables};
    std::vector<host_rows::block_type> spots;
    for (int i = 0; i != 8; ++i) spots.push_back(rows.allocate({row_bytes, 1}));
    for (const std::size_t free : std::initializer_list<std::size_t>{1, 3, 5, 6}) rows.deallocate(spots[free]);
    CHECK_FALSE(rows.allocate({3 * row_bytes, 1}));  // no hole is large enough

    const auto tensor = tensors.allocate({3 * row_bytes + 1, 1});
    REQUIRE(tensor);
    CHECK(tensor.size == 3 * row_bytes + 1);
    REQUIRE(tensor.address.size() == 4);
    std::set<void*> used;
    for (std::size_t row = 0; row != 4; ++row) used.insert(tensor.address[row]);
    CHECK(used == std::set<void*>{spots[1].address, spots[3].address, spots[5].address, spots[6].address});
    for (std::size_t n = 0; n != 4 * row_bytes; ++n)
        *static_cast<unsigned char*>(pointers::locate(tensor.address, n)) = static_cast<unsigned char>(n * 31);
    for (std::size_t n = 0; n != 4 * row_bytes; ++n)
        REQUIRE(*static_cast<unsigned char*>(pointers::locate(tensor.address, n)) ==
                static_cast<unsigned char>(n * 31));

    tensors.deallocate(tensor);
    CHECK(is_whole(tables));
    for (const std::size_t live : std::initializer_list<std::size_t>{0, 2, 4, 7}) rows.deallocate(spots[live]);
    CHECK(is_whole(rows));
}

TEST_CASE("paged: every row has the requested alignment") {
    for (std::size_t align = 1; align <= 4096; align *= 2) {
        allot::arena<allot::host::heap, allot::best_fit<>> rows{{}, 64 * 1024}, tables{{}, 4096};
        allot::paged<decltype(rows)&, decltype(tables)&, pointers> tensors{rows, tables};
        const auto odd = rows.allocate({13, 1});
        const auto tensor = tensors.allocate({1000, align});
        REQUIRE(tensor);
        for (std::size_t row = 0; row != tensor.address.size(); ++row) CHECK(is_aligned(tensor.address[row], align));
        tensors.deallocate(tensor);
        rows.deallocate(odd);
    }
    supply from{.align = 64};
    device_rows rows{handles<>{from}, 64 * 1024};
    host_tables tables{{}, 4096};
    allot::paged<device_rows&, host_tables&, offset_table<std::uint32_t>> tensors{rows, tables, {1, 0}};
    CHECK(tensors.allocate({1000, 64}));
    CHECK_FALSE(tensors.allocate({1000, 128}));
    CHECK(tensors.diagnose({1000, 128}).reason == refusal::misaligned);
}

TEST_CASE("paged: rows of a handle with metadata, in entries that count bytes or rows") {
    supply from;
    device_rows rows{handles<>{from}, 64 * row_bytes};
    host_tables tables{{}, 8192};
    const auto plays = [&]<class Table>(Table) {
        allot::paged<device_rows&, host_tables&, Table> tensors{rows, tables, rows.regions()[0].base};
        std::vector<typename decltype(tensors)::block_type> live;
        for (std::size_t round = 0; round != 200; ++round) {
            const std::size_t size = 1 + (round * 613) % (5 * row_bytes);
            if (const auto tensor = tensors.allocate({size, 64})) live.push_back(tensor);
            if (live.size() > 7 || round % 3 == 0) {
                const std::size_t victim = round * 7 % live.size();
                tensors.deallocate(live[victim]);
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
            }
            std::set<std::size_t> offsets;
            std::size_t count = 0;
            for (const auto& tensor : live) {
                for (std::size_t row = 0; row != tensor.address.size(); ++row, ++count) {
                    REQUIRE(tensor.address[row].handle == 1);
                    REQUIRE(tensor.address[row].offset % row_bytes == 0);
                    REQUIRE(tensor.address[row].offset < rows.size());
                    offsets.insert(tensor.address[row].offset);
                }
            }
            REQUIRE(offsets.size() == count);
        }
        for (const auto& tensor : live) tensors.deallocate(tensor);
        CHECK(is_whole(rows));
        CHECK(is_whole(tables));
    };
    plays(offset_table<std::uint32_t>{});
    plays(index_table<std::uint16_t>{});
}

TEST_CASE("paged: metadata of rows in a growing arena leads back to their regions") {
    supply from;
    using growing = allot::arena<handles<>, allot::best_fit<>,
                                 allot::growth::fixed<allot::growth_options{.step = 2 * row_bytes, .regions = 8}>>;
    growing rows{handles<>{from}};
    host_tables tables{{}, 4096};
    {
        // Entries count from one buffer: rows in the next buffer cannot be named, and are deallocated.
        allot::paged<growing&, host_tables&, offset_table<std::uint32_t>> tensors{rows, tables, {1, 0}};
        const auto tensor = tensors.allocate({2 * row_bytes, 64});
        REQUIRE(tensor);
        CHECK_FALSE(tensors.allocate({row_bytes, 64}));
        CHECK(tensors.diagnose({row_bytes, 64}).reason == refusal::over_limit);
        tensors.deallocate(tensor);
    }
    CHECK(rows.trim() == 2 * row_bytes);  // the regions of failed requests are already released
    CHECK(from.held == 0);
    CHECK(is_whole(tables));

    using host_growing = allot::arena<allot::host::heap, allot::best_fit<side_table>,
                                      allot::growth::fixed<allot::growth_options{.step = 2 * row_bytes, .regions = 8}>>;
    host_growing anywhere;
    allot::paged<host_growing&, host_tables&, pointers> tensors{anywhere, tables};
    const auto tensor = tensors.allocate({7 * row_bytes, 16});
    REQUIRE(tensor);
    CHECK(anywhere.size() == 8 * row_bytes);
    tensors.deallocate(tensor);
    CHECK(anywhere.trim() == 8 * row_bytes);
    CHECK(is_whole(tables));
}

// ── failure midway ───────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("paged: a failure midway deallocates the rows and the table") {
    for (std::size_t wanted = 5; wanted != 12; ++wanted) {
        host_rows rows{{}, 4 * row_bytes};
        host_tables tables{{}, 1024};
        allot::paged<host_rows&, host_tables&, pointers> tensors{rows, tables};
        CHECK_FALSE(tensors.allocate({wanted * row_bytes, 1}));
        CHECK(tensors.diagnose({wanted * row_bytes, 1}).reason == refusal::exhausted);
        CHECK(is_whole(rows));
        CHECK(is_whole(tables));
        CHECK(tensors.allocate({4 * row_bytes, 1}));
    }
}

TEST_CASE("paged: a failure of the table allocates no rows") {
    host_rows rows{{}, 64 * row_bytes};
    host_tables tables{{}, 64};
    allot::paged<host_rows&, host_tables&, pointers> tensors{rows, tables};
    CHECK_FALSE(tensors.allocate({60 * row_bytes, 1}));
    CHECK(tensors.diagnose({60 * row_bytes, 1}).reason == refusal::exhausted);
    CHECK(is_whole(rows));
    CHECK(is_whole(tables));
    CHECK(tensors.allocate({2 * row_bytes, 1}));
}

TEST_CASE("paged: a row that an entry cannot name is deallocated, with all earlier rows") {
    supply from;
    device_rows rows{handles<>{from}, 1 << 20};
    host_tables tables{{}, 8192};
    allot::paged<device_rows&, host_tables&, offset_table<std::uint16_t>> narrow{rows, tables, rows.regions()[0].base};
    CHECK_FALSE(narrow.allocate({300 * row_bytes, 1}));
    CHECK(narrow.diagnose({300 * row_bytes, 1}).reason == refusal::over_limit);
    CHECK(is_whole(rows));
    CHECK(is_whole(tables));
    CHECK(narrow.allocate({256 * row_bytes, 1}));

    device_rows odd_rows{handles<>{from}, 1 << 20};
    allot::paged<device_rows&, host_tables&, index_table<std::uint32_t>> by_index{odd_rows, tables,
                                                                                  odd_rows.regions()[0].base};
    const auto in_the_way = odd_rows.allocate_at({0, 64});
    REQUIRE(in_the_way);
    CHECK_FALSE(by_index.allocate({row_bytes, 64}));  // the next free byte is between two rows
    CHECK(by_index.diagnose({row_bytes, 64}).reason == refusal::over_limit);
    odd_rows.deallocate(in_the_way);
    CHECK(is_whole(odd_rows));
}

namespace {

// The host heap, limited to `left` regions.
struct rationed : allot::host::heap {
    std::size_t* left;
    allot::acquired<allot::host::heap> acquire(allot::layout wanted) noexcept {
        if (*left == 0) return allot::acquired<allot::host::heap>::failure(error::no_memory);
        --*left;
        return allot::host::heap::acquire(wanted);
    }
};

}  // namespace

TEST_CASE("paged: a device that fails at any region leaves no allocations") {
    using growing = allot::arena<rationed, allot::best_fit<side_table>,
                                 allot::growth::fixed<allot::growth_options{.step = row_bytes, .regions = 16}>>;
    for (std::size_t n = 0; n <= 8; ++n) {
        std::size_t left = n;
        growing rows{rationed{{}, &left}};
        host_tables tables{{}, 1024};
        allot::paged<growing&, host_tables&, pointers> tensors{rows, tables};
        const auto tensor = tensors.allocate({8 * row_bytes, 16});
        CHECK(static_cast<bool>(tensor) == (n == 8));
        if (!tensor) {
            CHECK(tensors.diagnose({8 * row_bytes, 16}).reason == refusal::device_refused);
            CHECK(tensors.diagnose({8 * row_bytes, 16}).device_error ==
                  static_cast<long>(allot::host::heap::error::no_memory));
        }
        tensors.deallocate(tensor);
        CHECK(left == 0);
        CHECK(is_whole(tables));
        CHECK(rows.trim() == (n == 8 ? n * row_bytes : 0));
    }
}

TEST_CASE("paged: a failure uses no memory of bump arenas") {
    allot::arena<allot::host::heap, up> rows{{}, 4 * row_bytes}, tables{{}, 1024};
    allot::paged<decltype(rows)&, decltype(tables)&, pointers> tensors{rows, tables};
    for (int i = 0; i != 20; ++i) CHECK_FALSE(tensors.allocate({5 * row_bytes, 1}));
    CHECK(tensors.allocate({4 * row_bytes, 1}));
}

TEST_CASE("paged: diagnose changes nothing, even in bump arenas") {
    allot::arena<allot::host::heap, up> rows{{}, 4 * row_bytes}, tables{{}, 1024};
    allot::paged<decltype(rows)&, decltype(tables)&, pointers> tensors{rows, tables};
    for (int i = 0; i != 20; ++i) CHECK(tensors.diagnose({4 * row_bytes, 1}).reason == refusal::none);
    CHECK(tensors.allocate({4 * row_bytes, 1}));
}

TEST_CASE("paged: rows of a ring are reclaimed in order, oldest tensor first") {
    allot::arena<allot::host::heap, allot::ring<>> rows{{}, 16 * row_bytes};
    host_tables tables{{}, 1024};
    allot::paged<decltype(rows)&, host_tables&, pointers> tensors{rows, tables};
    auto older = tensors.allocate({3 * row_bytes + 1, 1});
    REQUIRE(older);
    for (int i = 0; i != 100; ++i) {
        const auto newer = tensors.allocate({5 * row_bytes - 7, 1});
        REQUIRE(newer);
        tensors.deallocate(older);
        older = newer;
    }
    tensors.deallocate(older);
    CHECK(is_whole(tables));
    CHECK(rows.allocate({16 * row_bytes, 1}));
}

TEST_CASE("paged: a failure and a diagnose use no memory of a ring") {
    allot::arena<allot::host::heap, allot::ring<>> rows{{}, 16 * row_bytes};
    allot::arena<allot::host::heap, allot::ring<>, allot::growth::none<>, allot::arena_options{.align = 8}> tables{{},
                                                                                                                   999};
    allot::paged<decltype(rows)&, decltype(tables)&, pointers> tensors{rows, tables};
    const auto first = tensors.allocate({11 * row_bytes, 1});
    const auto second = tensors.allocate({2 * row_bytes, 1});
    REQUIRE((first && second));
    for (int i = 0; i != 50; ++i) {
        CHECK_FALSE(tensors.allocate({4 * row_bytes, 1}));
        CHECK(tensors.diagnose({4 * row_bytes, 1}).reason == refusal::exhausted);
        CHECK(tensors.diagnose({3 * row_bytes, 1}).reason == refusal::none);
    }
    tensors.deallocate(first);
    for (int i = 0; i != 50; ++i) {  // the ring wraps
        CHECK_FALSE(tensors.allocate({15 * row_bytes, 1}));
        CHECK(tensors.diagnose({13 * row_bytes, 1}).reason == refusal::none);
    }
    const auto third = tensors.allocate({13 * row_bytes, 1});
    REQUIRE(third);
    tensors.deallocate(second);
    tensors.deallocate(third);
    CHECK(rows.allocate({16 * row_bytes, 1}));
    CHECK(tables.allocate({999, 1}));
}

TEST_CASE("paged: a failure and a diagnose use no memory of a fallback with bumps") {
    const auto plays = [](auto fast, auto slow) {
        host_tables tables{{}, 1024};
        using both = allot::fallback<decltype(fast)&, decltype(slow)&>;
        both rows{fast, slow};
        allot::paged<both&, host_tables&, pointers> tensors{rows, tables};
        const auto kept = tensors.allocate({row_bytes, 1});
        REQUIRE(kept);
        for (int i = 0; i != 50; ++i) {
            CHECK_FALSE(tensors.allocate({8 * row_bytes, 1}));
            CHECK(tensors.diagnose({7 * row_bytes, 1}).reason == refusal::none);
        }
        const auto rest = tensors.allocate({7 * row_bytes, 1});
        CHECK(rest);
        CHECK_FALSE(tensors.allocate({1, 1}));
        tensors.deallocate(kept);
        tensors.deallocate(rest);
        CHECK(is_whole(tables));
    };
    using bumps = allot::arena<allot::host::heap, down>;
    plays(bumps{{}, 4 * row_bytes}, bumps{{}, 4 * row_bytes});
    plays(host_rows{{}, 4 * row_bytes}, bumps{{}, 4 * row_bytes});
    plays(allot::arena<allot::host::heap, allot::ring<>>{{}, 4 * row_bytes}, bumps{{}, 4 * row_bytes});
}

TEST_CASE("paged: a failure and a diagnose do not change the size of a growing arena") {
    using growing = allot::arena<allot::host::heap, allot::best_fit<side_table>,
                                 allot::growth::fixed<allot::growth_options{.step = 3 * row_bytes, .regions = 4}>>;
    growing rows;
    host_tables tables{{}, 1024};
    allot::paged<growing&, host_tables&, pointers> tensors{rows, tables};
    const auto kept = tensors.allocate({2 * row_bytes, 1});
    CHECK(rows.size() == 3 * row_bytes);
    CHECK(tensors.diagnose({5 * row_bytes, 1}).reason == refusal::none);
    CHECK(rows.size() == 3 * row_bytes);
    CHECK_FALSE(tensors.allocate({13 * row_bytes, 1}));
    CHECK(rows.size() == 3 * row_bytes);
    tensors.deallocate(kept);
}

namespace {
template <class Strategy, class Growth>
using growing_rows = allot::arena<allot::host::heap, Strategy, Growth>;
using upward = allot::bump<allot::bump_options{.direction = allot::direction::up}>;
using fixed_step = allot::growth::fixed<allot::growth_options{.step = 3 * row_bytes, .regions = 4}>;

template <class Arena>
std::vector<const void*> bases(const Arena& arena) {
    std::vector<const void*> all;
    for (const auto& region : arena.regions()) all.push_back(region.base);
    return all;
}
}  // namespace

TEST_CASE_TEMPLATE("paged: a failure and a diagnose keep all earlier regions and no others", Rows,
                   growing_rows<allot::best_fit<side_table>, fixed_step>, growing_rows<allot::best_fit<>, fixed_step>,
                   growing_rows<allot::deferred<allot::best_fit<>>, fixed_step>, growing_rows<down, fixed_step>,
                   growing_rows<upward, fixed_step>) {
    Rows rows;
    const auto small = rows.allocate({2 * row_bytes, 1}), other = rows.allocate({2 * row_bytes, 1});
    REQUIRE((small && other));
    rows.deallocate(small);
    rows.deallocate(other);
    if constexpr (requires { rows.reset(); }) rows.reset();
    REQUIRE(rows.size() == 6 * row_bytes);
    host_tables tables{{}, 1024};
    allot::paged<Rows&, host_tables&, pointers> tensors{rows, tables};
    const auto held = bases(rows);
    for (int i = 0; i != 10; ++i) {
        CHECK_FALSE(tensors.allocate({13 * row_bytes, 1}));
        CHECK(bases(rows) == held);
        CHECK(tensors.diagnose({13 * row_bytes, 1}).reason != refusal::none);
        CHECK(tensors.diagnose({7 * row_bytes, 1}).reason == refusal::none);
        CHECK(bases(rows) == held);
    }
    const auto tensor = tensors.allocate({7 * row_bytes, 1});
    CHECK(tensor);
    tensors.deallocate(tensor);
}

TEST_CASE("paged: a failure and a diagnose do not move the end of a region that grows in place") {
    using up_to_100_000 =
        allot::growth::contiguous<allot::growth_options{.step = 16'384, .limit = 100'000, .regions = 1}>;
    using growing = allot::arena<allot::host::virtual_memory, allot::best_fit<>, up_to_100_000>;
    growing rows{allot::host::virtual_memory{1'000'000}};
    const auto block = rows.allocate({50'000, 1});
    rows.deallocate(block);
    const std::size_t size = rows.size();
    host_tables tables{{}, 100'000};
    allot::paged<growing&, host_tables&, pointers> tensors{rows, tables};
    for (int i = 0; i != 3; ++i) {
        CHECK_FALSE(tensors.allocate({100'000, 1}));
        CHECK(tensors.diagnose({100'000, 1}).reason == refusal::over_limit);
        CHECK(rows.size() == size);
        CHECK(tensors.diagnose({60'000, 1}).reason == refusal::none);
        CHECK(rows.size() == size);
    }
}

TEST_CASE("paged: over a growing arena, diagnose reports a failure if and only if allocate fails") {
    using seven = allot::pool<allot::pool_options{.slot = 1000, .count = 7, .align = 16}>;
    using doubled = allot::growth::geometric<allot::growth_options{.step = 1, .limit = 50'021, .regions = 4}>;
    using growing = allot::arena<allot::host::heap, seven, doubled>;
    using small_rows = allot::pointer_table<40, allot::row_pointer>;
    growing rows;
    allot::arena<allot::host::heap, allot::best_fit<>> tables{{}, 100'000};
    allot::paged<growing&, decltype(tables)&, small_rows> tensors{rows, tables};
    std::vector<decltype(tensors.allocate({}))> live;
    std::minstd_rand random{1};
    for (int i = 0; i != 2000; ++i) {
        if (!live.empty() && random() % 3 == 0) {
            std::swap(live[random() % live.size()], live.back());
            tensors.deallocate(live.back());
            live.pop_back();
            continue;
        }
        if (random() % 40 == 0) rows.trim();
        const allot::layout wanted{1 + random() % 700, 1};
        const auto reason = tensors.diagnose(wanted).reason;
        const auto block = tensors.allocate(wanted);
        REQUIRE(bool(block) == (reason == refusal::none));
        if (block) live.push_back(block);
    }
    for (const auto& each : live) tensors.deallocate(each);
}

TEST_CASE("paged: a double free is reported before the table is read") {
    noted::take();
    using hardened = allot::arena<allot::host::heap, allot::best_fit<side_table>, allot::growth::none<>, debug, noted>;
    const auto plays = [](auto& tables) {
        host_rows rows{{}, 4 * row_bytes};
        allot::paged<host_rows&, decltype(tables), pointers> tensors{rows, tables};
        const auto tensor = tensors.allocate({3 * row_bytes, 1});
        REQUIRE(tensor);
        tensors.deallocate(tensor);
        tensors.deallocate(tensor);
        CHECK(noted::only(allot::misuse::not_live, allot::raw_pointer::position(tensor.metadata.address),
                          tensor.metadata.size));
        const auto again = tensors.allocate({3 * row_bytes, 1});  // a table at the same address
        tensors.deallocate(tensor);
        CHECK(noted::only(allot::misuse::not_live, allot::raw_pointer::position(tensor.metadata.address),
                          tensor.metadata.size));
        tensors.deallocate(again);
        CHECK(is_whole(rows));
    };
    hardened tables{{}, 1000}, more{{}, 1000};
    plays(tables);
    allot::fallback both{tables, more};
    plays(both);
    allot::synchronized<hardened&, allot::no_lock> alone{tables};
    plays(alone);
    CHECK(noted::take().empty());
}

// ── bad input ────────────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("paged: rejects invalid sizes and alignments") {
    host_rows rows{{}, 4 * row_bytes};
    host_tables tables{{}, 1024};
    allot::paged<host_rows&, host_tables&, pointers> tensors{rows, tables};
    const auto refuses = [&](allot::layout wanted, refusal reason) {
        CHECK_FALSE(tensors.allocate(wanted));
        CHECK(tensors.diagnose(wanted).reason == reason);
        CHECK(is_whole(rows));
        CHECK(is_whole(tables));
    };
    refuses({0, 1}, refusal::empty_layout);
    refuses({1, 0}, refusal::bad_alignment);
    refuses({1, 3}, refusal::bad_alignment);
    refuses({most, 1}, refusal::exhausted);
    refuses({most - 1, 16}, refusal::exhausted);
    tensors.deallocate({});
}

TEST_CASE("paged: a table whose size overflows is over the limit") {
    allot::arena<allot::host::heap, allot::best_fit<side_table>> rows{{}, 64}, tables{{}, 64};
    allot::paged<host_rows&, host_tables&, allot::pointer_table<1>> bytes{rows, tables};
    for (const std::size_t size : {most, most - 1, most / 8 + 1, most / 12 + 1}) {
        CHECK_FALSE(bytes.allocate({size, 1}));
        CHECK(bytes.diagnose({size, 1}).reason != refusal::none);
    }
    CHECK(bytes.diagnose({most, 1}).reason == refusal::over_limit);
    CHECK(is_whole(rows));
    CHECK(is_whole(tables));
    CHECK(bytes.allocate({3, 1}));
}

TEST_CASE("paged: owns allocators of value types, and references those of reference types") {
    using owning = allot::paged<host_rows, host_tables, pointers>;
    owning tensors{host_rows{{}, 4 * row_bytes}, host_tables{{}, 1024}};
    const auto tensor = tensors.allocate({3 * row_bytes, 1});
    REQUIRE(tensor);
    CHECK(tensor.address.size() == 3);
    tensors.deallocate(tensor);
    static_assert(sizeof(allot::paged<host_rows&, host_tables&, pointers>) == 3 * sizeof(void*));
}

TEST_CASE("paged: checked arenas get each row back exactly once") {
    noted::take();
    using watched = allot::arena<allot::host::heap, allot::best_fit<side_table>, allot::growth::none<>, debug, noted>;
    {
        watched rows{{}, 8 * row_bytes}, tables{{}, 1024};
        allot::paged<watched&, watched&, pointers> tensors{rows, tables};
        const auto a = tensors.allocate({4 * row_bytes, 1}), b = tensors.allocate({3 * row_bytes, 1});
        REQUIRE((a && b));
        CHECK_FALSE(tensors.allocate({2 * row_bytes, 1}));
        tensors.deallocate(a);
        tensors.deallocate(b);
    }
    CHECK(noted::take().empty());
}
