// Random tests of compositions of allocators, against their documented properties:
//
//     live blocks do not overlap, have the requested alignment, and keep their contents
//     diagnose predicts the result of allocate, and changes nothing
//     a failure changes nothing: an allocator without the failed requests returns the same places afterwards
//     after all blocks are deallocated in an order that is reclaimed, the state is the initial one
//     a hardened arena reports no misuse
#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <vector>

namespace {

using allot::hardening;
using allot::reclaim;
using allot::refusal;

struct counted {
    static inline int misuses = 0, leaks = 0;
    void operator()(allot::misuse what, std::size_t, std::size_t) const noexcept {
        ++(what == allot::misuse::leaked ? leaks : misuses);
    }
};

// ── arenas ───────────────────────────────────────────────────────────────────────────────────────────────────────────

// An arena over a buffer of the test. `get` is the allocator. `place` is the distance of an address from the buffer,
// so that two arenas can be compared, and 0 for other addresses. `comes_back`: every block is reclaimed. `has_twin`: a
// second arena behaves identically. `settles`: when all is free, the next places are those of a new arena; false for a
// pool, which keeps the order of deallocations. `undoes`: an allocation that is deallocated immediately does not
// change the next places; false for best_fit, which can then select another of several holes.
template <class Strategy, hardening Hardening = hardening::none, std::size_t Size = 3001>
struct over {
    static constexpr bool comes_back = Strategy::reclaims != reclaim::never;
    static constexpr bool has_places = true, has_twin = true, settles = !requires { Strategy::concurrent; },
                          undoes = !settles || Strategy::reclaims != reclaim::any;
    using arena_type = allot::arena<allot::host::buffer, Strategy, allot::growth::none<>,
                                    allot::arena_options{.hardening = Hardening}, counted>;
    struct release {
        void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{4096}); }
    };
    std::unique_ptr<std::byte, release> bytes{static_cast<std::byte*>(::operator new(Size, std::align_val_t{4096}))};
    arena_type arena{allot::host::buffer{bytes.get(), Size}};

    arena_type& get() { return arena; }
    std::size_t place(const void* address) const {
        const std::size_t at = allot::raw_pointer::position(const_cast<void*>(address));
        const std::size_t from = allot::raw_pointer::position(bytes.get());
        return at >= from && at - from < Size ? at - from + 1 : 0;
    }
};

template <class Strategy, hardening Hardening = hardening::none>
struct growing {
    static constexpr bool comes_back = false;  // regions are kept, at different addresses in each arena
    static constexpr bool has_places = false, has_twin = false, settles = false, undoes = true;
    using arena_type =
        allot::arena<allot::host::heap, Strategy,
                     allot::growth::fixed<allot::growth_options{.step = 700, .limit = 4000, .regions = 8}>,
                     allot::arena_options{.hardening = Hardening}, counted>;
    arena_type arena;
    arena_type& get() { return arena; }
    static std::size_t place(const void*) { return 0; }
};

template <class Device, hardening Hardening = hardening::none>
struct each {
    static constexpr bool comes_back = true;
    static constexpr bool has_places = false, has_twin = true, settles = false, undoes = true;
    allot::naive<Device, Hardening, counted> memory;
    auto& get() { return memory; }
    static std::size_t place(const void*) { return 0; }
};

// ── compositions ─────────────────────────────────────────────────────────────────────────────────────────────────────

template <class First, class Second>
struct both {
    static constexpr bool comes_back = First::comes_back && Second::comes_back;
    static constexpr bool has_places = First::has_places && Second::has_places,
                          has_twin = First::has_twin && Second::has_twin, settles = First::settles && Second::settles,
                          undoes = First::undoes && Second::undoes;
    First first;
    Second second;
    allot::fallback<decltype(first.get()), decltype(second.get())> memory{first.get(), second.get()};
    auto& get() { return memory; }
    std::size_t place(const void* address) const {
        if (const std::size_t in_first = first.place(address)) return 2 * in_first;
        const std::size_t in_second = second.place(address);
        return in_second == 0 ? 0 : 2 * in_second + 1;
    }
};

template <class One, class Lock = allot::no_lock>
struct shared {
    static constexpr bool comes_back = One::comes_back;
    static constexpr bool has_places = One::has_places, has_twin = One::has_twin, settles = One::settles,
                          undoes = One::undoes;
    One one;
    allot::synchronized<decltype(one.get()), Lock> memory{one.get()};
    auto& get() { return memory; }
    std::size_t place(const void* address) const { return one.place(address); }
};

constexpr std::size_t row_bytes = 104;

template <class Rows, class Tables, class Entry = allot::row_pointer>
struct in_rows {
    static constexpr bool comes_back = Rows::comes_back && Tables::comes_back;
    static constexpr bool undoes = Rows::undoes && Tables::undoes, settles = Rows::settles && Tables::settles,
                          has_places = Rows::has_places && Tables::has_places,
                          has_twin = undoes && Rows::has_twin && Tables::has_twin;
    using table = allot::pointer_table<row_bytes, Entry>;
    Rows rows;
    Tables tables;
    allot::paged<decltype(rows.get()), decltype(tables.get()), table> memory = make();
    auto make() {
        if constexpr (std::same_as<Entry, allot::row_pointer>) {
            return allot::paged<decltype(rows.get()), decltype(tables.get()), table>{rows.get(), tables.get()};
        } else {
            return allot::paged<decltype(rows.get()), decltype(tables.get()), table>{rows.get(), tables.get(),
                                                                                     rows.bytes.get()};
        }
    }
    auto& get() { return memory; }
    std::size_t place(const void* address) const {
        if (const std::size_t in_row = rows.place(address)) return 2 * in_row;
        const std::size_t in_table = tables.place(address);
        return in_table == 0 ? 0 : 2 * in_table + 1;
    }
};

// ── the judge ────────────────────────────────────────────────────────────────────────────────────────────────────────

struct piece {
    std::byte* at;
    std::size_t size;
    bool is_table;
};

template <class Block>
std::vector<piece> pieces_of(const Block& block) {
    std::vector<piece> all;
    if constexpr (requires { block.address.count; }) {
        for (std::size_t row = 0; row != block.address.count; ++row)
            all.push_back({static_cast<std::byte*>(block.address[row]), row_bytes, false});
        all.push_back({static_cast<std::byte*>(block.metadata.address), block.metadata.size, true});
    } else {
        all.push_back({static_cast<std::byte*>(block.address), block.size, false});
    }
    return all;
}

template <class Setup>
std::vector<std::size_t> places_of(const Setup& in, const std::vector<piece>& pieces) {
    std::vector<std::size_t> all;
    for (const piece& each : pieces) all.push_back(in.place(each.at));
    return all;
}

class numbers {
public:
    explicit numbers(std::uint64_t seed) : state_{seed * 0x9E37'79B9'7F4A'7C15 + 1} {}
    std::size_t below(std::size_t n) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<std::size_t>(state_ >> 11) % n;
    }

private:
    std::uint64_t state_;
};

template <class Setup>
struct play {
    using allocator = std::remove_reference_t<decltype(std::declval<Setup&>().get())>;
    using block = typename allocator::block_type;
    static constexpr reclaim order = allocator::reclaims;
    struct held {
        block here, there;  // of the allocator, and of its twin, which gets no failing requests
        std::vector<piece> pieces;
        unsigned char fill;
    };

    explicit play(std::uint64_t seed) : any{seed} {}

    void allocate() {
        const std::size_t most = any.below(4) == 0 ? 1501 : any.below(2) == 0 ? 301 : 37;
        allot::layout wanted{1 + any.below(most), std::size_t{1} << any.below(7)};
        if (any.below(40) == 0) wanted = {any.below(2) * 5, any.below(4)};  // possibly invalid
        const bool promised = mine.get().diagnose(wanted).reason == refusal::none;
        const block given = mine.get().allocate(wanted);
        REQUIRE(promised == static_cast<bool>(given));
        if (!given) return;
        REQUIRE(wanted.is_valid());
        const block same = Setup::has_twin ? twin.get().allocate(wanted) : block{};
        REQUIRE(static_cast<bool>(same) == Setup::has_twin);
        REQUIRE(given.size == wanted.size);
        held fresh{given, same, pieces_of(given), static_cast<unsigned char>(any.below(256))};
        if (Setup::has_places && Setup::has_twin)
            REQUIRE(places_of(mine, fresh.pieces) == places_of(twin, pieces_of(same)));
        std::size_t bytes = 0;
        for (const piece& each : fresh.pieces) {
            if (!each.is_table) {
                REQUIRE(allot::raw_pointer::position(each.at) % wanted.align == 0);
                bytes += each.size;
            }
            const auto above = spans.upper_bound(each.at);
            REQUIRE((above == spans.end() || each.at + each.size <= above->first));
            REQUIRE((above == spans.begin() || std::prev(above)->first + std::prev(above)->second <= each.at));
            spans[each.at] = each.size;
            if (!each.is_table) std::memset(each.at, fresh.fill, each.size);
        }
        REQUIRE(bytes >= wanted.size);
        live.push_back(std::move(fresh));
    }

    void deallocate() {
        if (live.empty() || order == reclaim::never) return;
        const std::size_t which = order == reclaim::lifo   ? live.size() - 1
                                  : order == reclaim::fifo ? 0
                                                           : any.below(live.size());
        const held old = live[which];
        for (const piece& each : old.pieces) {
            if (!each.is_table)
                REQUIRE(std::count(each.at, each.at + each.size, std::byte{old.fill}) ==
                        static_cast<std::ptrdiff_t>(each.size));
            spans.erase(each.at);
        }
        mine.get().deallocate(old.here);
        twin.get().deallocate(old.there);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
    }

    void run(int steps) {
        for (int i = 0; i != steps; ++i) {
            if (any.below(5) < 3) allocate();
            else deallocate();
        }
        if (order == reclaim::never) return;
        while (!live.empty()) deallocate();
        if (!Setup::comes_back) return;  // a bump reclaims nothing
        Setup fresh;
        std::vector<block> here, there;
        for (int i = 0; i != 200; ++i) {  // the same results as initially
            const allot::layout wanted{1 + any.below(301), std::size_t{1} << any.below(5)};
            here.push_back(mine.get().allocate(wanted));
            there.push_back(fresh.get().allocate(wanted));
            REQUIRE(static_cast<bool>(here.back()) == static_cast<bool>(there.back()));
            if (Setup::has_places && Setup::settles && here.back())
                REQUIRE(places_of(mine, pieces_of(here.back())) == places_of(fresh, pieces_of(there.back())));
        }
        for (std::size_t i = 0; i != here.size(); ++i) {
            const std::size_t which = order == reclaim::lifo ? here.size() - 1 - i : i;
            mine.get().deallocate(here[which]);
            fresh.get().deallocate(there[which]);
        }
    }

    numbers any;
    Setup mine, twin;
    std::vector<held> live;
    std::map<std::byte*, std::size_t> spans;
};

// ── test cases ───────────────────────────────────────────────────────────────────────────────────────────────────────

template <allot::pool_store Store, std::size_t Slot = 97>
using pool = allot::pool<allot::pool_options{.slot = Slot, .count = 20, .align = 8, .store = Store}>;
using enum allot::pool_store;
using bumped = allot::bump<>;
using bumped_up = allot::bump<allot::bump_options{.direction = allot::direction::up}>;
using stacked = allot::stack<>;
using stacked_twice = allot::stack<allot::stack_options{.large = 123}>;
using ringed = allot::ring<>;
using fit = allot::best_fit<>;
using fit_beside = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table, .records = 37}>;
constexpr auto checked = hardening::checked, debug = hardening::debug;

template <class Setup>
void judge() {
    counted::misuses = counted::leaks = 0;
    for (std::uint64_t seed = 1; seed != 4; ++seed) {
        CAPTURE(seed);
        play<Setup>{seed}.run(700);
        REQUIRE(counted::misuses == 0);
        REQUIRE((counted::leaks == 0 || play<Setup>::order == reclaim::never));
    }
}

}  // namespace

#define ONE(...) judge<__VA_ARGS__>()

TEST_CASE("compositions: fallback of any two allocators, random calls") {
    ONE(both<over<fit>, over<fit_beside>>);
    ONE(both<over<bumped>, over<bumped_up>>);
    ONE(both<over<bumped, debug>, over<fit, debug>>);
    ONE(both<over<stacked, debug>, over<stacked_twice, checked, 1777>>);
    ONE(both<over<ringed, checked>, over<ringed, debug, 2221>>);
    ONE(both<over<stacked>, over<ringed>>);
    ONE(both<over<pool<bitmap>>, over<pool<index_stack, 333>>>);
    ONE(both<over<pool<in_band>, debug>, over<ringed, debug>>);
    ONE(both<over<pool<atomic_bitmap>>, over<fit, checked>>);
    ONE(both<over<fit_beside, debug>, each<allot::host::heap, debug>>);
    ONE(both<over<fit, debug, 999>, growing<fit, debug>>);
    ONE(both<both<over<bumped>, over<stacked>>, over<fit>>);
}

TEST_CASE("compositions: synchronized over any allocator, random calls") {
    ONE(shared<over<fit, debug>>);
    ONE(shared<over<stacked, checked>, allot::spin_lock>);
    ONE(shared<over<ringed>>);
    ONE(shared<both<over<bumped>, over<fit>>>);
    ONE(both<shared<over<pool<bitmap>>>, shared<over<fit>>>);
    ONE(shared<each<allot::cached<allot::host::heap>, debug>>);
}

TEST_CASE("compositions: paged over any row and table allocators, random calls") {
    ONE(in_rows<over<fit>, over<fit_beside, hardening::none, 555>>);
    ONE(in_rows<over<fit_beside, debug>, over<fit, debug, 555>>);
    ONE(in_rows<over<ringed>, over<fit, hardening::none, 555>>);
    ONE(in_rows<over<ringed, debug>, over<ringed, checked, 555>>);
    ONE(in_rows<over<ringed>, over<ringed, checked>>);
    ONE(in_rows<over<stacked, debug>, over<stacked_twice, debug, 555>>);
    ONE(in_rows<over<bumped>, over<bumped_up, hardening::none, 555>>);
    ONE(in_rows<over<bumped, debug>, over<fit, debug, 555>>);
    ONE(in_rows<over<stacked>, over<ringed>>);
    ONE(in_rows<over<fit>, over<bumped, debug>>);
    ONE(in_rows<over<pool<in_band, row_bytes>>, over<pool<bitmap, 200>, hardening::none, 2001>>);
    ONE(in_rows<over<pool<index_stack, row_bytes>, debug>, over<stacked, debug, 555>>);
    ONE(in_rows<over<pool<atomic_bitmap, row_bytes>>, over<fit>, allot::row_offset<std::uint16_t>>);
    ONE(in_rows<over<fit>, over<fit>, allot::row_index<std::uint8_t>>);
}

TEST_CASE("compositions: paged over other compositions, random calls") {
    ONE(in_rows<both<over<bumped>, over<bumped_up>>, over<fit>>);
    ONE(in_rows<both<over<fit, debug>, over<ringed, debug>>, over<fit, debug>>);
    ONE(in_rows<both<over<ringed>, over<bumped>>, both<over<stacked, hardening::none, 333>, over<bumped>>>);
    ONE(in_rows<both<over<pool<bitmap, row_bytes>>, over<stacked>>, over<stacked>>);
    ONE(in_rows<shared<over<fit, debug>>, shared<over<pool<bitmap, 300>>>>);
    ONE(in_rows<each<allot::host::heap, debug>, over<fit, debug, 555>>);
    ONE(in_rows<over<fit>, each<allot::cached<allot::host::heap>, checked>>);
    ONE(in_rows<growing<fit, debug>, over<fit, debug>>);
    ONE(in_rows<growing<bumped>, growing<bumped_up>>);
    ONE(shared<in_rows<over<ringed>, over<ringed, checked>>>);
}
