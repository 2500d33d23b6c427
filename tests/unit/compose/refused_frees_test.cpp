// A hardened allocator can report a misuse inside `deallocate` and keep the block: the block is out of order, or a
// record next to it is damaged. The compositions over it then keep their records of the block.
#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>
#include <allot/compose/recorded.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

namespace {

using allot::misuse;

struct note {
    static inline int reports = 0;
    static inline misuse last{};
    void operator()(misuse what, std::size_t, std::size_t) const noexcept {
        ++reports;
        last = what;
    }
};
template <class Strategy>  // `damage` writes to records, which a memory checker reports
inline constexpr allot::arena_options options{.hardening = allot::hardening::checked,
                                              .annotate = !std::is_same_v<Strategy, allot::best_fit<>>};
template <class Strategy>
using hard = allot::arena<allot::host::heap, Strategy, allot::growth::none<>, options<Strategy>, note>;
using plain = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none<>>;

struct sink {
    int live = 0, calls = 0;
    std::uint64_t allocate(std::uint64_t, std::uint64_t) noexcept {
        ++live;
        return static_cast<std::uint64_t>(++calls);
    }
    void deallocate(std::uint64_t) noexcept { --live; }
    std::uint64_t resize(std::uint64_t number, std::uint64_t) noexcept { return number; }
    void reset() noexcept { live = 0; }
};
struct deaf {};

/// All that a composition tells about its blocks.
template <class Memory>
std::vector<std::size_t> state_of(const Memory& memory) {
    std::vector<std::size_t> blocks;
    memory.for_each_block([&](const auto& address, std::size_t size) {
        blocks.push_back(reinterpret_cast<std::size_t>(address) * 4096 + size);
    });
    std::sort(blocks.begin(), blocks.end());
    if constexpr (requires { memory.used(); }) blocks.push_back(memory.used());
    if constexpr (requires { memory.waiting(); }) blocks.push_back(memory.waiting());
    if constexpr (requires { memory.kept(); }) blocks.push_back(memory.kept());
    if constexpr (requires { memory.sink(); }) blocks.push_back(static_cast<std::size_t>(memory.sink().live));
    if constexpr (requires { memory.statistics(); }) {
        blocks.push_back(memory.statistics().used);
        blocks.push_back(memory.statistics().count);
    }
    if constexpr (requires { memory.for_each_tag([](auto, auto) {}); })
        memory.for_each_tag([&](auto, const allot::allocator_statistics& now) {
            blocks.push_back(now.used);
            blocks.push_back(now.count);
        });
    return blocks;
}
bool is_zero(const std::vector<std::size_t>& state) {
    return std::all_of(state.begin(), state.end(), [](std::size_t each) { return each == 0; });
}

template <class Arena>
struct wrong_order {  // the older block of a stack, or the newer block of a ring, is freed first
    template <class Memory>
    static void play(Arena&, Memory& memory) {
        const auto older = memory.allocate({.size = 37}), newer = memory.allocate({.size = 101});
        REQUIRE(older);
        REQUIRE(newer);
        const bool is_stack = Arena::reclaims == allot::reclaim::lifo;
        const auto &wrong = is_stack ? older : newer, &right = is_stack ? newer : older;
        const auto before = state_of(memory);
        for (int repeat = 0; repeat != 2; ++repeat) {
            note::reports = 0;
            memory.deallocate(wrong);
            CHECK(note::reports == 1);
            CHECK(note::last == misuse::out_of_order);
            CHECK(state_of(memory) == before);
        }
        note::reports = 0;
        memory.deallocate(right);
        memory.deallocate(wrong);
        CHECK(note::reports == 0);
        CHECK(is_zero(state_of(memory)));
    }
};

/// Changes the seal behind a block of an arena, or the record behind the seal, for the lifetime of this object.
template <class Arena>
class damage {
public:
    damage(const Arena& arena, const void* inside, std::size_t distance = 0) {
        arena.for_each_block([&](void* address, std::size_t size) {
            auto* const at = static_cast<std::byte*>(address);
            if (at > inside || inside >= at + size) return;
            word_ = at + size + distance;  // the usable bytes
        });
        REQUIRE(word_ != nullptr);
        std::memcpy(&before_, word_, sizeof before_);
        std::memset(word_, 0xA5, sizeof before_);
    }
    damage(const damage&) = delete;
    damage& operator=(const damage&) = delete;
    ~damage() { std::memcpy(word_, &before_, sizeof before_); }

private:
    std::byte* word_ = nullptr;
    std::size_t before_ = 0;
};

template <class Arena>
struct damaged_record {
    template <class Memory>
    static void play(Arena& arena, Memory& memory) {
        for (const std::size_t distance : {0U, 8U}) play(arena, memory, distance);
    }
    template <class Memory>
    static void play(Arena& arena, Memory& memory, std::size_t distance) {
        const auto block = memory.allocate({.size = 37}), next = memory.allocate({.size = 101});
        REQUIRE(block);
        REQUIRE(next);
        const auto before = state_of(memory);
        {
            const damage<Arena> here{arena, block.address, distance};
            for (int repeat = 0; repeat != 2; ++repeat) {
                note::reports = 0;
                memory.deallocate(block);
                CHECK(note::reports == 1);
                CHECK(note::last == misuse::overwritten);
            }
        }
        CHECK(state_of(memory) == before);  // the blocks are listed by the records in band
        note::reports = 0;
        memory.deallocate(block);
        CHECK(note::reports == 0);
        CHECK(state_of(memory) != before);
        memory.deallocate(next);
        CHECK(note::reports == 0);
        CHECK(is_zero(state_of(memory)));
    }
};

template <class Arena>
struct stale_mark {  // a rollback to a mark that a rollback to an earlier mark made invalid
    template <class Memory>
    static void play(Arena&, Memory& memory) {
        const auto oldest = memory.allocate({.size = 37});
        const auto earlier = memory.mark();
        REQUIRE(memory.allocate({.size = 101}));
        const auto later = memory.mark();
        memory.rollback(earlier);
        const auto newest = memory.allocate({.size = 29});
        REQUIRE(newest);
        const auto before = state_of(memory);
        for (int repeat = 0; repeat != 2; ++repeat) {
            note::reports = 0;
            memory.rollback(later);
            CHECK(note::reports == 1);
            CHECK(note::last == misuse::stale_mark);
            CHECK(state_of(memory) == before);
        }
        note::reports = 0;
        memory.rollback(earlier);
        memory.deallocate(oldest);
        CHECK(note::reports == 0);
        CHECK(is_zero(state_of(memory)));
    }
};

template <class Strategy, template <class> class Play>
struct with {
    using arena_type = hard<Strategy>;
    /// Plays over a composition that `make(arena)` returns. Afterward, the arena is as it was.
    template <class Make>
    static void over(Make make) {
        arena_type arena{{}, 4096};
        auto memory = make(arena);
        Play<arena_type>::play(arena, memory);
        CHECK(memory.allocate({.size = 3000}));
    }
};

template <class Strategy, template <class> class Play>
void each_composition_keeps_a_refused_block() {
    using A = hard<Strategy>&;
    using run = with<Strategy, Play>;
    run::over([](A arena) { return allot::counted<A>{arena}; });
    run::over([](A arena) { return allot::limited<A>{arena, 4000}; });
    run::over([](A arena) { return allot::tagged<A>{arena}; });
    run::over([](A arena) { return allot::guarded<A, allot::guard_options{}, note>{arena}; });
    run::over([](A arena) { return allot::indexed<A, allot::index_options{}, note>{arena}; });
    run::over([](A arena) { return allot::recorded{arena, sink{}}; });
    run::over([](A arena) { return allot::observed{arena, deaf{}}; });
    run::over([](A arena) { return allot::failing<A>{arena}; });
    run::over([](A arena) { return allot::retrying{arena, [](allot::layout) { return false; }}; });
}

template <class Strategy, template <class> class Play>
void compositions_pass_on_that_a_block_is_live() {
    using A = hard<Strategy>&;
    using run = with<Strategy, Play>;
    run::over([](A arena) { return allot::counted{allot::tagged<A>{arena}}; });
    run::over([](A arena) { return allot::counted{allot::guarded<A, allot::guard_options{}, note>{arena}}; });
    run::over([](A arena) { return allot::counted{allot::indexed<A, allot::index_options{}, note>{arena}}; });
    run::over([](A arena) { return allot::tagged{allot::counted{allot::limited<A>{arena, 4000}}}; });
    run::over([](A arena) { return allot::limited{allot::recorded{arena, sink{}}, 4000}; });
    run::over([](A arena) { return allot::counted{allot::any_allocator_ref{arena}}; });
    run::over([](A arena) { return allot::tagged{allot::fallback{arena, plain{{}, 4096}}}; });
    run::over([](A arena) { return allot::tagged{allot::fallback{plain{{}, 16}, arena}}; });
    run::over([](A arena) { return allot::counted{allot::segregated{allot::up_to<16>(plain{{}, 64}), arena}}; });
    run::over([](A arena) { return allot::synchronized<allot::counted<A>, allot::no_lock>{allot::counted<A>{arena}}; });
}

}  // namespace

TEST_CASE("hardened: is_live is silent and true for exactly the live blocks") {
    const auto judge = [](auto& memory) {
        note::reports = 0;
        const auto block = memory.allocate({.size = 37});
        CHECK(memory.is_live(block));
        CHECK_FALSE(memory.is_live({}));
        auto other = block;
        other.size = 36;
        CHECK_FALSE(memory.is_live(other));
        memory.deallocate(block);
        CHECK_FALSE(memory.is_live(block));
        const auto again = memory.allocate({.size = 37});
        CHECK(memory.is_live(again));
        if (again.address == block.address) CHECK_FALSE(memory.is_live(block));  // a stale copy
        memory.deallocate(again);
        CHECK(note::reports == 0);
    };
    hard<allot::best_fit<>> arena{{}, 4096};
    judge(arena);
    hard<allot::stack<>> stack{{}, 4096};
    judge(stack);
    allot::naive<allot::host::heap, allot::hardening::checked, note> naive;
    judge(naive);
    allot::quarantined<hard<allot::best_fit<>>&> waits{arena};
    judge(waits);
    allot::block_cache<hard<allot::best_fit<>>&> keeps{arena};
    CHECK(keeps.is_live(keeps.allocate({.size = 37})));
    allot::synchronized<hard<allot::best_fit<>>&, allot::no_lock> locked{arena};
    judge(locked);
}

TEST_CASE("refused frees: a block that is out of order in a stack stays known") {
    each_composition_keeps_a_refused_block<allot::stack<>, wrong_order>();
    compositions_pass_on_that_a_block_is_live<allot::stack<>, wrong_order>();
}
TEST_CASE("refused frees: a block that is out of order in a ring stays known") {
    each_composition_keeps_a_refused_block<allot::ring<>, wrong_order>();
    compositions_pass_on_that_a_block_is_live<allot::ring<>, wrong_order>();
}
TEST_CASE("refused frees: a block next to a damaged record stays known") {
    each_composition_keeps_a_refused_block<allot::best_fit<>, damaged_record>();
    compositions_pass_on_that_a_block_is_live<allot::best_fit<>, damaged_record>();
}

TEST_CASE("refused rollbacks: the blocks since a mark that is no longer valid stay known") {
    using stack = allot::stack<>;
    using A = hard<stack>&;
    using run = with<stack, stale_mark>;
    each_composition_keeps_a_refused_block<stack, stale_mark>();
    with<allot::ring<>, stale_mark>::over([](hard<allot::ring<>>& arena) {
        return allot::quarantined<hard<allot::ring<>>&, allot::quarantine_options{.bytes = 0}, note>{arena};
    });
    run::over([](A arena) { return allot::tagged{allot::counted{allot::limited<A>{arena, 4000}}}; });
    run::over([](A arena) { return allot::tagged{allot::observed{allot::recorded{arena, sink{}}, deaf{}}}; });
    run::over([](A arena) { return allot::counted{allot::fallback{arena, hard<stack>{{}, 64}}}; });
    run::over([](A arena) { return allot::counted{allot::segregated{allot::up_to<16>(hard<stack>{{}, 64}), arena}}; });
}

TEST_CASE("refused frees: quarantined frees the blocks of a ring in its order") {
    hard<allot::ring<>> ring{{}, 4096};
    allot::quarantined<hard<allot::ring<>>&, allot::quarantine_options{}, note> quarantine{ring};
    allot::counted memory{quarantine};
    const auto live_in_ring = [&] {
        int live = 0;
        ring.for_each_block([&](auto, auto) { ++live; });
        return live;
    };
    const auto a = memory.allocate({.size = 37}), b = memory.allocate({.size = 101}), c = memory.allocate({.size = 59});
    memory.deallocate(c);
    memory.deallocate(b);
    CHECK(memory.statistics().count == 1);
    quarantine.flush();  // nothing can be freed before `a`
    CHECK(quarantine.waiting() == 160);
    CHECK(live_in_ring() == 3);
    memory.deallocate(a);
    CHECK(memory.statistics().count == 0);
    CHECK(memory.allocate({.size = 3900}));  // needs all of the ring
    CHECK(quarantine.waiting() == 0);
    CHECK(live_in_ring() == 1);
}

TEST_CASE("refused frees: quarantined keeps a block next to a damaged record until it can be freed") {
    using arena_type = hard<allot::best_fit<>>;
    arena_type arena{{}, 4096};
    allot::quarantined<arena_type&, allot::quarantine_options{.bytes = 0}, note> memory{arena};
    const auto block = memory.allocate({.size = 37}), next = memory.allocate({.size = 101});
    {
        const damage<arena_type> here{arena, block.address};
        note::reports = 0;
        memory.deallocate(block);
        CHECK(note::reports == 1);
        CHECK(memory.waiting() == 37);
        CHECK(memory.flush());
        CHECK(memory.waiting() == 37);
    }
    memory.deallocate(next);
    CHECK(memory.waiting() == 0);
    CHECK(memory.allocate({.size = 3900}));
}

TEST_CASE("refused frees: quarantined forgets a waiting block that rollback frees") {
    using arena_type = hard<allot::ring<>>;
    arena_type ring{{}, 4096};
    allot::quarantined<arena_type&, allot::quarantine_options{}, note> memory{ring};
    const auto a = memory.allocate({.size = 37});
    const auto mark = memory.mark();
    const auto b = memory.allocate({.size = 101});
    memory.deallocate(b);
    memory.rollback(mark);
    CHECK(memory.waiting() == 0);
    note::reports = 0;
    memory.deallocate(a);
    memory.flush();
    CHECK(note::reports == 0);
    CHECK(is_zero(state_of(ring)));
}

TEST_CASE("refused frees: block_cache keeps a block next to a damaged record until it can be freed") {
    using arena_type = hard<allot::best_fit<>>;
    arena_type arena{{}, 4096};
    allot::block_cache<arena_type&> cache{arena};
    allot::counted memory{cache};
    const auto block = memory.allocate({.size = 37}), next = memory.allocate({.size = 101});
    memory.deallocate(block);
    CHECK(memory.statistics().count == 1);
    {
        const damage<arena_type> here{arena, block.address};
        CHECK_FALSE(cache.flush());
        CHECK(cache.kept() == 64);
    }
    const auto again = memory.allocate({.size = 60});
    CHECK(again.address == block.address);
    memory.deallocate(again);
    memory.deallocate(next);
    CHECK(memory.statistics().count == 0);
    CHECK(cache.flush());
    CHECK(cache.kept() == 0);
    CHECK(is_zero(state_of(arena)));
}

TEST_CASE("refused frees: paged keeps the table of rows that a stack keeps") {
    using rows_type = hard<allot::stack<>>;
    rows_type rows{{}, 4096};
    plain tables{{}, 4096};
    allot::paged<rows_type&, plain&, allot::pointer_table<64>> memory{rows, tables};
    const auto older = memory.allocate({.size = 150}), newer = memory.allocate({.size = 37});
    memory.deallocate(older);
    memory.deallocate(newer);
    note::reports = 0;
    memory.deallocate(older);
    CHECK(note::reports == 0);
    CHECK(is_zero(state_of(rows)));
    CHECK(is_zero(state_of(tables)));
}

TEST_CASE("refused frees: a wrapper of paged counts a block whose table stays") {
    using stack_type = hard<allot::stack<>>;
    stack_type rows{{}, 4096}, tables{{}, 4096};
    allot::counted memory{allot::paged<stack_type&, stack_type&, allot::pointer_table<64>>{rows, tables}};
    const auto older = memory.allocate({.size = 150}), newer = memory.allocate({.size = 37});
    memory.deallocate(older);
    CHECK(memory.statistics().count == 2);
    memory.deallocate(newer);
    memory.deallocate(older);
    CHECK(memory.statistics().count == 0);
    CHECK(memory.statistics().used == 0);
    CHECK(is_zero(state_of(rows)));
    CHECK(is_zero(state_of(tables)));
}

TEST_CASE("refused frees: block_cache forgets a kept block that rollback frees") {
    using arena_type = allot::arena<allot::host::heap, allot::bump<>, allot::growth::none<>,
                                    allot::arena_options{.hardening = allot::hardening::checked}, note>;
    arena_type arena{{}, 4096};
    allot::block_cache<arena_type&> memory{arena};
    const auto mark = memory.mark();
    const auto block = memory.allocate({.size = 37});
    memory.deallocate(block);
    memory.rollback(mark);
    CHECK(memory.kept() == 0);
    CHECK_FALSE(memory.is_live(block));
    CHECK(memory.allocate({.size = 37}).address == block.address);
}

TEST_CASE("refused rollbacks: block_cache knows the blocks since a mark that is no longer valid") {
    using arena_type = hard<allot::bump<>>;
    arena_type arena{{}, 4096};
    allot::block_cache<arena_type&> memory{arena};
    const auto earlier = memory.mark();
    REQUIRE(memory.allocate({.size = 37}));
    const auto later = memory.mark();
    memory.rollback(earlier);
    const auto newest = memory.allocate({.size = 37});
    note::reports = 0;
    CHECK_FALSE(memory.rollback(later));
    CHECK(note::reports == 1);
    CHECK(note::last == misuse::stale_mark);
    CHECK(memory.is_live(newest));
    CHECK(memory.rollback(earlier));
    CHECK_FALSE(memory.is_live(newest));
    CHECK(note::reports == 1);
}
