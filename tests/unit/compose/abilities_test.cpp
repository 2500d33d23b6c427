// The abilities of wrappers: each has an ability exactly when its parts support it (the table in docs/choosing.md), and
// each call reaches the right part.
#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>
#include <allot/arena/shared_arena.hpp>
#include <allot/compose/recorded.hpp>
#include <allot/compose/symmetric.hpp>
#include <allot/host/virtual_memory.hpp>
#include <allot/inspect/trace.hpp>

#include "numbered.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <variant>
#include <vector>

namespace {

using namespace allot::literals;
using allot::hardening;
using allot::refusal;

// ── the table ────────────────────────────────────────────────────────────────────────────────────────────────────────

enum ability : unsigned {
    size = 1,
    owns = 2,
    capacity = 4,
    resize = 8,
    trim = 16,
    reset = 32,
    at = 64,
    marks = 128,
    holes = 256,
    blocks = 512,
    counters = 1024,
};

template <class A>
constexpr unsigned of =
    (allot::sized_allocator<A> ? size : 0U) | (allot::owning<A> ? owns : 0U) |
    (allot::measuring_allocator<A> ? capacity : 0U) | (allot::resizable_allocator<A> ? resize : 0U) |
    (allot::trimmable_allocator<A> ? trim : 0U) | (allot::resettable_allocator<A> ? reset : 0U) |
    (allot::positional_allocator<A> ? at : 0U) | (allot::markable_allocator<A> ? marks : 0U) |
    (allot::hole_walkable_allocator<A> ? holes : 0U) | (allot::block_walkable_allocator<A> ? blocks : 0U) |
    (allot::counting_allocator<A> ? counters : 0U);

// Only the members that an allocator must have.
struct bare : allot::host::heap {
    using block_type = allot::block<void*, allot::no_metadata<bare>>;
    static constexpr auto reclaims = allot::reclaim::any;
    [[nodiscard]] block_type allocate(allot::layout) noexcept { return {}; }
    void deallocate(block_type) noexcept {}
    [[nodiscard]] allot::diagnosis diagnose(allot::layout) const noexcept { return {refusal::exhausted}; }
};

template <class Strategy>
using fixed = allot::arena<allot::host::static_storage<4_KiB>, Strategy>;
template <class Strategy>
using grows = allot::arena<allot::host::heap, Strategy, allot::growth::geometric<>>;
using bitmap = allot::pool<allot::pool_options{.slot = 64, .count = 32, .store = allot::pool_store::bitmap}>;
using freed_any = fixed<allot::best_fit<>>;
using freed_together = fixed<allot::bump<>>;
using cached_naive = allot::naive<allot::cached<allot::host::heap>>;

// The parts differ in every ability.
constexpr unsigned of_any_arena = size | owns | capacity | holes;
static_assert(of<bare> == 0);
static_assert(of<freed_any> == (of_any_arena | resize | at | blocks));
static_assert(of<freed_together> == (of_any_arena | reset | marks));
static_assert(of<fixed<allot::stack<>>> == of<freed_together> && of<fixed<allot::ring<>>> == of<freed_together>);
static_assert(of<fixed<bitmap>> == (of_any_arena | at | blocks));
static_assert(of<grows<allot::best_fit<>>> == (of_any_arena | resize | trim | blocks));
static_assert(of<grows<allot::bump<>>> == (of_any_arena | trim | reset | marks));
static_assert(of<fixed<allot::deferred<allot::best_fit<>>>> == of<freed_any>);
static_assert(of<grows<allot::deferred<allot::best_fit<>>>> == of<grows<allot::best_fit<>>>);
static_assert(of<grows<allot::pool<allot::pool_options{.slot = 64}>>> == (of_any_arena | trim));
static_assert(of<allot::arena<allot::host::virtual_memory, allot::best_fit<>, allot::growth::contiguous<>>> ==
              (of_any_arena | resize | trim | at | blocks));
static_assert(of<allot::shared_arena<>> == (size | owns | capacity | resize | at));
static_assert(of<allot::naive<allot::host::heap>> == (capacity | resize));
static_assert(of<cached_naive> == (capacity | resize | trim));

// synchronized: every ability of the allocator except marks.
template <class A>
constexpr bool synchronized_passes_on = of<allot::synchronized<A, allot::spin_lock>> == (of<A> & ~marks) &&
                                        of<allot::synchronized<A&, allot::no_lock>> == (of<A> & ~marks);
// fallback: trim if one allocator has it, positions never, every other ability if both allocators have it.
template <class A, class B>
constexpr bool fallback_passes_on = [] {
    constexpr unsigned expected = (of<A> & of<B> & ~(at | trim)) | ((of<A> | of<B>)&trim);
    return of<allot::fallback<A, B>> == expected && of<allot::fallback<A&, B>> == expected &&
           of<allot::fallback<A, B&>> == expected && of<allot::fallback<A&, B&>> == expected;
}();
// segregated: the same.
template <class A, class B>
constexpr bool segregated_passes_on = [] {
    constexpr unsigned expected = (of<A> & of<B> & ~(at | trim)) | ((of<A> | of<B>)&trim);
    return of<allot::segregated<allot::size_branch<64, A>, B>> == expected &&
           of<allot::segregated<allot::size_branch<64, A&, allot::when_full::next>, B&>> == expected;
}();
// paged: the same, except that it never resizes and lists nothing, and that a capacity is a number of rows.
template <class Rows, class Tables>
constexpr bool paged_passes_on = [] {
    if constexpr (Rows::reclaims == allot::reclaim::fifo && Tables::reclaims == allot::reclaim::fifo) return true;
    constexpr unsigned expected =
        capacity | (of<Rows> & of<Tables> & (size | owns | reset | marks | counters)) | ((of<Rows> | of<Tables>)&trim);
    return of<allot::paged<Rows, Tables, allot::pointer_table<64>>> == expected &&
           of<allot::paged<Rows&, Tables&, allot::pointer_table<64>>> == expected;
}();

// counted and the wrappers like it: every ability of the allocator, and those that the wrapper adds.
template <template <class> class Wrapper, class A, unsigned Added>
constexpr bool wrapper_passes_on = of<Wrapper<A>> == (of<A> | Added) && of<Wrapper<A&>> == (of<A> | Added);

template <class... Each>
struct list {
    static constexpr bool synchronized_hold = (synchronized_passes_on<Each> && ...);
    template <template <class> class Wrapper, unsigned Added = 0>
    static constexpr bool wrappers_hold = (wrapper_passes_on<Wrapper, Each, Added> && ...);
    template <class A>
    static constexpr bool fallback_holds = (fallback_passes_on<A, Each> && ...);
    template <class A>
    static constexpr bool segregated_holds = (segregated_passes_on<A, Each> && ...);
    static constexpr bool segregated_hold = (segregated_holds<Each> && ...);
    template <class A>
    static constexpr bool paged_holds = (paged_passes_on<A, Each> && ...);
    static constexpr bool fallbacks_hold = (fallback_holds<Each> && ...);
    static constexpr bool paged_hold = (paged_holds<Each> && ...);
};
using parts = list<bare, freed_any, freed_together, fixed<bitmap>, grows<allot::best_fit<>>, grows<allot::bump<>>,
                   allot::naive<allot::host::heap>, cached_naive, allot::fallback<freed_any, grows<allot::best_fit<>>>,
                   allot::fallback<freed_together, grows<allot::bump<>>>, allot::counted<freed_any>>;
template <class A>
using tagged_blocks = allot::tagged<A>;
static_assert(parts::wrappers_hold<tagged_blocks, blocks>);
template <class... Each>
constexpr bool guarded_passes_on = ((of<allot::guarded<Each>> == (of<Each> | capacity | blocks)) && ...);
static_assert(guarded_passes_on<bare, freed_any, freed_together, fixed<bitmap>, grows<allot::bump<>>, cached_naive>);
template <class A>
using quarantined_blocks = allot::quarantined<A>;
static_assert(parts::wrappers_hold<quarantined_blocks>);
template <class... Each>
constexpr bool block_cache_passes_on = ((of<allot::block_cache<Each>> == (of<Each> & ~at)) && ...);
static_assert(
    block_cache_passes_on<bare, freed_any, freed_together, fixed<bitmap>, grows<allot::bump<>>, cached_naive>);
template <class... Each>
constexpr bool indexed_passes_on = ((of<allot::indexed<Each>> == (of<Each> | owns | blocks)) && ...);
static_assert(indexed_passes_on<bare, freed_any, freed_together, fixed<bitmap>, grows<allot::bump<>>, cached_naive>);
static_assert(parts::synchronized_hold);
static_assert(parts::wrappers_hold<allot::counted, counters>);
static_assert(parts::wrappers_hold<allot::limited>);
template <class A>
using observed_by_nothing = allot::observed<A, std::monostate>;
static_assert(parts::wrappers_hold<observed_by_nothing>);
static_assert(parts::wrappers_hold<allot::failing>);
struct frees_nothing {
    bool operator()(allot::layout) const noexcept { return false; }
};
template <class A>
using retrying_once = allot::retrying<A, frees_nothing>;
static_assert(parts::wrappers_hold<retrying_once>);
// any_allocator: the functions of all abilities except marks and reset, which refuse at run time.
static_assert(of<allot::any_allocator_ref<>> ==
              (size | owns | capacity | resize | trim | at | holes | blocks | counters));
static_assert(of<allot::any_allocator<>> == of<allot::any_allocator_ref<>>);
template <class A>
using recorded_in_a_trace = allot::recorded<A, allot::trace_writer>;
static_assert(parts::wrappers_hold<recorded_in_a_trace>);
static_assert(parts::fallbacks_hold);
static_assert(parts::segregated_hold);
static_assert(parts::paged_hold);

// symmetric: every ability of the arena except lists and counters. An arena that can trim does not compile
// (tests/refusals).
struct alone {
    [[nodiscard]] int rank() const noexcept { return 0; }
    [[nodiscard]] int size() const noexcept { return 1; }
    [[nodiscard]] long maximum(std::span<std::uint64_t>) noexcept { return 0; }
};
template <class Strategy>
using numbers = allot::arena<numbered, Strategy>;
template <class A>
constexpr bool symmetric_passes_on = of<allot::symmetric<A, alone>> == (of<A> & ~(holes | blocks | counters)) &&
                                     of<allot::symmetric<A&, alone>> == of<allot::symmetric<A, alone>>;
static_assert(symmetric_passes_on<numbers<allot::best_fit<>>> && symmetric_passes_on<numbers<allot::bump<>>>);
static_assert(symmetric_passes_on<numbers<bitmap>> && symmetric_passes_on<numbers<allot::stack<>>>);
static_assert(symmetric_passes_on<allot::naive<numbered>>);

// An ability costs nothing: no member is added.
static_assert(sizeof(allot::synchronized<freed_any, allot::no_lock>) == sizeof(freed_any));
static_assert(sizeof(allot::fallback<freed_any&, freed_together&>) == 2 * sizeof(void*));

// ── behavior ─────────────────────────────────────────────────────────────────────────────────────────────────────────

void fill(void* to, std::size_t bytes, std::size_t value) { std::memset(to, static_cast<int>(value & 0xFF), bytes); }
bool is_filled(const void* from, std::size_t bytes, std::size_t value) {
    for (std::size_t i = 0; i != bytes; ++i)
        if (static_cast<const unsigned char*>(from)[i] != (value & 0xFF)) return false;
    return true;
}

// A block, its value, and its address when it was allocated.
template <class Block>
struct known {
    Block block;
    std::size_t value;
    void* address;
};

struct counting_lock {
    static inline int times = 0;
    void lock() noexcept { ++times; }
    void unlock() noexcept {}
};

}  // namespace

TEST_CASE("fallback: owns, capacity and resize reach the allocator of the block, at random against a model") {
    using fast_arena = allot::arena<allot::host::static_storage<2_KiB>, allot::best_fit<>>;
    using slow_arena = allot::arena<allot::host::heap, allot::best_fit<>,
                                    allot::growth::fixed<allot::growth_options{.step = 4_KiB, .limit = 16_KiB}>>;
    fast_arena fast;
    slow_arena slow;
    allot::fallback memory{fast, slow};
    std::vector<known<decltype(memory)::block_type>> live;
    std::minstd_rand random{7};
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    int resized[2] = {}, refused[2] = {};

    for (std::size_t step = 0; step != 20'000; ++step) {
        if (live.empty() || below(3) == 0) {
            const std::size_t bytes = 1 + below(600);
            if (const auto block = memory.allocate({bytes, std::size_t{1} << below(7)})) {
                live.push_back({block, step, block.address});
                fill(block.address, bytes, step);
            }
        } else if (auto& one = live[below(live.size())]; below(2) == 0) {
            const auto before = one.block;
            const std::size_t to = below(900);  // 0 fails
            const bool first = memory.is_from_first(one.block);
            if (memory.resize(one.block, to)) {
                CHECK(to != 0);
                CHECK(one.block.size == to);
                CHECK(is_filled(one.block.address, std::min(before.size, to), one.value));
                fill(one.block.address, to, one.value);
                ++resized[first];
            } else {
                CHECK(one.block == before);
                ++refused[first];
            }
            CHECK(memory.is_from_first(one.block) == first);
            CHECK(one.block.address == one.address);  // no block moves, and none changes its allocator
        } else {
            CHECK(is_filled(one.block.address, one.block.size, one.value));
            memory.deallocate(one.block);
            std::swap(one, live.back());
            live.pop_back();
        }
        if (step % 64 == 0) {
            CHECK(memory.size() == fast.size() + slow.size());
            for (const auto& one : live) {
                const bool first = memory.is_from_first(one.block);
                CHECK(memory.owns(one.block));
                CHECK(fast.owns({one.block.address, one.block.size, {}}) == first);
                CHECK(slow.owns({one.block.address, one.block.size, {}}) == !first);
                CHECK(memory.capacity(one.block) >= one.block.size);
                CHECK(is_filled(one.block.address, one.block.size, one.value));
            }
        }
    }
    for (const int each : resized) CHECK(each > 100);
    for (const int each : refused) CHECK(each > 100);
    for (const auto& one : live) memory.deallocate(one.block);
    const std::size_t held = slow.size();
    CHECK(held > 0);
    CHECK(memory.trim() == held);  // the first allocator cannot trim
    CHECK(memory.size() == fast.size());
    CHECK(fast.allocate({2000, 16}));
}

TEST_CASE("fallback: empty and foreign blocks are not owned, and have no capacity") {
    freed_any fast;
    grows<allot::best_fit<>> slow;
    allot::fallback memory{fast, slow};
    auto failed = memory.allocate({.size = 0});
    CHECK_FALSE(memory.owns(failed));
    CHECK(memory.capacity(failed) == 0);
    CHECK_FALSE(memory.resize(failed, 100));
    decltype(failed) empty;
    CHECK_FALSE(memory.owns(empty));
    CHECK(memory.capacity(empty) == 0);
    CHECK_FALSE(memory.resize(empty, 100));
    int outside = 0;
    CHECK_FALSE(memory.owns({&outside, sizeof outside, {}}));
    CHECK_FALSE(memory.owns({&outside, sizeof outside, {{}, true, {}}}));
    auto block = memory.allocate({.size = 100});
    CHECK_FALSE(memory.resize(block, 0));
    CHECK_FALSE(memory.resize(block, std::numeric_limits<std::size_t>::max()));
    CHECK_FALSE(memory.resize(block, 5000));  // larger than the first, and the second has space
    CHECK(block.size == 100);
    CHECK(slow.size() == 0);
    CHECK(memory.owns(block));
}

TEST_CASE("fallback: a part that changes its metadata in a resize is followed") {
    freed_any fast;
    allot::naive<allot::host::virtual_memory> slow{allot::host::virtual_memory{1_MiB}};
    allot::fallback memory{fast, slow};
    auto block = memory.allocate({.size = 10'000});
    REQUIRE_FALSE(memory.is_from_first(block));
    fill(block.address, block.size, 3);
    REQUIRE(memory.resize(block, 500'000));
    CHECK(block.size == 500'000);
    CHECK(memory.capacity(block) == 512_KiB);
    CHECK(is_filled(block.address, 10'000, 3));
    fill(block.address, block.size, 4);
    memory.deallocate(block);  // with its new size
}

TEST_CASE("fallback: reset frees the blocks of both allocators") {
    freed_together first;
    grows<allot::bump<>> second;
    allot::fallback memory{first, second};
    const auto one = memory.allocate({.size = 3000}), two = memory.allocate({.size = 3000});
    REQUIRE((memory.is_from_first(one) && !memory.is_from_first(two)));
    const std::size_t held = memory.size();
    memory.reset();
    CHECK(memory.size() == held);
    CHECK(memory.allocate({.size = 3000}) == one);
    CHECK(memory.allocate({.size = 3000}) == two);
    memory.reset();
    CHECK(memory.trim() == second.size() + held - memory.size());
    CHECK(second.size() == 0);
}

TEST_CASE("fallback: rollback returns to the state at the mark in both allocators, at random against a model") {
    fixed<allot::stack<>> first;
    allot::arena<allot::host::static_storage<8_KiB>, allot::bump<>> second;
    allot::fallback memory{first, second};
    using block_type = decltype(memory)::block_type;
    struct point {
        decltype(memory.mark()) mark;
        std::size_t blocks;
    };
    std::vector<block_type> live;
    std::vector<point> marks;
    std::minstd_rand random{11};
    int rolled = 0;
    for (int step = 0; step != 20'000; ++step) {
        const auto kind = random() % 16;
        if (kind == 0) {
            marks.push_back({memory.mark(), live.size()});
        } else if (kind == 1 && !marks.empty()) {
            marks.resize(1 + random() % marks.size(), marks[0]);
            const point to = marks.back();
            const std::vector<block_type> again{live.begin() + static_cast<std::ptrdiff_t>(to.blocks), live.end()};
            memory.rollback(to.mark);
            for (const block_type& each : again)  // the same calls return the same blocks
                CHECK(memory.allocate({each.size, 1}) == each);
            memory.rollback(to.mark);
            live.resize(to.blocks);
            ++rolled;
        } else if (const block_type block = memory.allocate({1 + random() % 200, 1})) {
            live.push_back(block);
        } else {
            memory.reset();
            live.clear();
            marks.clear();
        }
    }
    CHECK(rolled > 100);
}

TEST_CASE("fallback: every ability works through nested fallbacks and a synchronized part") {
    freed_any first;
    allot::synchronized<grows<allot::best_fit<>>, counting_lock> second;
    allot::fallback inner{first, second};
    freed_any third;
    allot::fallback memory{inner, third};
    auto block = memory.allocate({.size = 6000});
    REQUIRE(block);
    counting_lock::times = 0;
    CHECK(memory.owns(block));
    CHECK(memory.capacity(block) >= 6000);
    CHECK(memory.resize(block, 7000));
    CHECK(counting_lock::times == 3);
    CHECK(memory.size() == first.size() + second.size() + third.size());
    memory.deallocate(block);
    CHECK(memory.trim() > 0);
    CHECK(second.size() == 0);
}

TEST_CASE("synchronized: each ability locks once, and returns the result of the allocator") {
    freed_any inside;
    allot::synchronized<freed_any&, counting_lock> memory{inside};
    auto locks = [before = counting_lock::times]() mutable {
        return counting_lock::times - std::exchange(before, counting_lock::times);
    };
    auto block = memory.allocate_at({1024, 100});
    REQUIRE(block);
    CHECK(locks() == 1);
    CHECK(memory.diagnose_at({1024, 100}) == inside.diagnose_at({1024, 100}));
    CHECK(locks() == 1);
    CHECK_FALSE(memory.allocate_at({1024, 100}));
    CHECK(locks() == 1);
    const auto& constant = memory;
    CHECK(constant.owns(block));
    CHECK(locks() == 1);
    CHECK(constant.capacity(block) == inside.capacity(block));
    CHECK(locks() == 1);
    CHECK(memory.resize(block, 200));
    CHECK(locks() == 1);
    CHECK(block.size == 200);
    CHECK(constant.size() == 4_KiB);
    CHECK(locks() == 1);
    CHECK_FALSE(constant.owns({}));
    memory.deallocate(block);

    allot::synchronized<grows<allot::bump<>>, counting_lock> scratch;
    REQUIRE(scratch.allocate({.size = 100}));
    CHECK(locks() == 3);
    scratch.reset();
    CHECK(locks() == 1);
    CHECK(scratch.trim() > 0);
    CHECK(locks() == 1);
    CHECK(scratch.size() == 0);
}

TEST_CASE_TEMPLATE("naive: resizes blocks in place, at random against a model", Memory,
                   allot::naive<allot::host::virtual_memory>,
                   allot::naive<allot::host::virtual_memory, hardening::debug>, allot::naive<allot::host::heap>,
                   allot::naive<allot::host::heap, hardening::debug>) {
    constexpr bool extends = allot::extensible_device<typename Memory::device_type>;
    constexpr std::size_t reserve = 1_MiB;
    Memory memory{[] {
        if constexpr (extends) return allot::host::virtual_memory{reserve};
        else return allot::host::heap{};
    }()};
    std::vector<known<typename Memory::block_type>> live;
    std::minstd_rand random{5};
    int grown = 0, shrunk = 0;
    for (std::size_t step = 0; step != 2000; ++step) {
        const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
        if (live.size() < 3) {
            const auto block = memory.allocate({1 + below(300'000), 16});
            REQUIRE(block);
            fill(block.address, block.size, step);
            live.push_back({block, step, block.address});
            continue;
        }
        auto& one = live[below(live.size())];
        const auto before = one.block;
        const std::size_t to = below(2 * reserve), room = memory.capacity(before);
        const bool fits = to != 0 && to <= (extends ? reserve : room);
        CHECK(memory.resize(one.block, to) == fits);
        if (!fits) {
            CHECK(one.block == before);
        } else {
            CHECK(one.block.address == one.address);
            CHECK(one.block.size == to);
            CHECK(memory.capacity(one.block) == (extends ? allot::align_up(to, 64_KiB) : room));
            CHECK(is_filled(one.address, std::min(to, before.size), one.value));
            fill(one.address, to, one.value);
            ++(to > before.size ? grown : shrunk);
        }
        if (below(8) == 0) {
            memory.deallocate(one.block);
            std::swap(one, live.back());
            live.pop_back();
        }
    }
    CHECK(shrunk > 20);
    CHECK((grown > 20 || !extends));
    for (const auto& one : live) memory.deallocate(one.block);
    typename Memory::block_type empty;
    CHECK_FALSE(memory.resize(empty, 1));
}

TEST_CASE("naive: with hardening, a block has its new size after a resize, and a stale copy is a misuse") {
    static int misuses = 0;
    struct counted {
        void operator()(allot::misuse, std::size_t, std::size_t) const noexcept { ++misuses; }
    };
    allot::naive<allot::host::virtual_memory, hardening::checked, counted> memory{allot::host::virtual_memory{1_MiB}};
    auto block = memory.allocate({.size = 1000});
    auto stale = block;
    REQUIRE(memory.resize(block, 100'000));
    CHECK(memory.check(block));
    CHECK(misuses == 0);
    CHECK_FALSE(memory.resize(stale, 2000));
    CHECK(misuses == 1);
    CHECK(stale.size == 1000);
    memory.deallocate(stale);
    CHECK(misuses == 2);
    memory.deallocate(block);
    CHECK(misuses == 2);
    CHECK_FALSE(memory.resize(block, 10));
    CHECK(misuses == 3);
}

TEST_CASE("naive: a resize that releases memory makes an earlier refusal obsolete") {
    using allot::host::virtual_memory;
    struct one_region : virtual_memory {  // of 128 KiB in total
        using virtual_memory::virtual_memory;
        std::size_t out = 0;
        [[nodiscard]] allot::acquired<virtual_memory> acquire(allot::layout wanted) noexcept {
            if (out + wanted.size > 128_KiB) return allot::acquired<virtual_memory>::failure(12);
            const auto answer = virtual_memory::acquire(wanted);
            if (answer) out += answer->size;
            return answer;
        }
        [[nodiscard]] allot::acquired<virtual_memory> resize(allot::region<void*> held, std::size_t to) noexcept {
            const auto answer = virtual_memory::resize(held, to);
            if (answer) out = out - held.size + to;
            return answer;
        }
        void release(allot::region<void*> held) noexcept {
            out -= held.size;
            virtual_memory::release(held);
        }
    };
    static_assert(allot::extensible_device<one_region>);
    allot::naive<one_region> memory{one_region{1_MiB}};
    auto block = memory.allocate({.size = 128_KiB});
    REQUIRE(block);
    CHECK_FALSE(memory.allocate({.size = 1}));
    CHECK(memory.diagnose({.size = 1}).reason == refusal::device_refused);
    REQUIRE(memory.resize(block, 1000));
    CHECK(memory.diagnose({.size = 1}).reason == refusal::none);
    const auto other = memory.allocate({.size = 1});
    REQUIRE(other);
    memory.deallocate(other);
    memory.deallocate(block);
}

TEST_CASE("paged: owns checks table and rows, and capacity counts whole rows") {
    using table = allot::pointer_table<128>;
    freed_any rows;
    grows<allot::best_fit<>> tables;
    allot::paged<freed_any&, grows<allot::best_fit<>>&, table> memory{rows, tables};
    auto block = memory.allocate({.size = 300});
    REQUIRE(block);
    CHECK(memory.owns(block));
    CHECK(memory.capacity(block) == 384);
    CHECK(memory.capacity({}) == 0);
    CHECK_FALSE(memory.owns({}));
    CHECK(memory.size() == rows.size() + tables.size());

    freed_any other_rows;
    allot::paged<freed_any&, grows<allot::best_fit<>>&, table> other{other_rows, tables};
    CHECK_FALSE(other.owns(block));  // the table is its own, and the rows are not
    grows<allot::best_fit<>> other_tables;
    allot::paged<freed_any&, grows<allot::best_fit<>>&, table> another{rows, other_tables};
    CHECK_FALSE(another.owns(block));  // a foreign table is not read

    allot::paged<freed_any&, freed_any&, table> one_arena{rows, rows};
    CHECK(one_arena.size() == rows.size());
    memory.deallocate(block);
    CHECK(memory.trim() > 0);
    CHECK(tables.size() == 0);
}

TEST_CASE("paged: reset and rollback apply to rows and tables") {
    fixed<allot::bump<>> rows;
    fixed<allot::stack<>> tables;
    allot::paged<fixed<allot::bump<>>&, fixed<allot::stack<>>&, allot::pointer_table<128>> memory{rows, tables};
    const auto first = memory.allocate({.size = 300});
    auto before = memory.mark();
    const auto second = memory.allocate({.size = 300});
    memory.rollback(before);
    const auto again = memory.allocate({.size = 300});
    CHECK(again.metadata == second.metadata);
    CHECK(again.address[0] == second.address[0]);
    memory.reset();
    const auto anew = memory.allocate({.size = 300});
    CHECK(anew.metadata == first.metadata);
    CHECK(anew.address[0] == first.address[0]);

    fixed<allot::stack<>> both;  // rows and tables in one stack
    allot::paged<fixed<allot::stack<>>&, fixed<allot::stack<>>&, allot::pointer_table<128>> single{both, both};
    const auto start = single.mark();
    const auto one = single.allocate({.size = 300});
    single.rollback(start);
    CHECK(single.allocate({.size = 300}).metadata == one.metadata);
}

TEST_CASE("symmetric: size, owns, capacity and diagnose_at are those of the arena, and change nothing") {
    alone ranks;
    numbers<allot::best_fit<>> arena{{}, 4096};
    allot::symmetric memory{arena, ranks};
    const auto block = memory.allocate_at({1024, 100});
    REQUIRE(block);
    CHECK(block.address.offset == 1024);
    const auto calls = memory.agree().most_calls;
    CHECK(memory.size() == 4096);
    CHECK(memory.owns(block));
    CHECK_FALSE(memory.owns({}));
    CHECK(memory.capacity(block) >= 100);
    CHECK(memory.capacity({}) == 0);
    CHECK(memory.diagnose_at({1024, 1}).reason == refusal::not_free);
    CHECK(memory.diagnose_at({2048, 1}).reason == refusal::none);
    CHECK(memory.agree().most_calls == calls);
}
