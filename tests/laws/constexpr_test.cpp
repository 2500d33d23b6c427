// The laws in constant expressions, for every strategy with a side table. A run that compiles has no undefined
// behavior. The space has 64 offsets, so that one word is its map.
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/bump.hpp>
#include <allot/strategy/pool.hpp>
#include <allot/strategy/ring.hpp>
#include <allot/strategy/stack.hpp>

#include <doctest/doctest.h>

namespace {

using allot::reclaim;

/// Returns the offsets [at, at + size) of 64 as bits.
constexpr std::uint64_t bits(std::uint64_t at, std::uint64_t size) {
    return (size == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1) << at;
}

/// Returns true if an aligned run of `size` offsets is free.
constexpr bool has_hole(std::uint64_t occupied, std::uint64_t size, std::uint64_t align) {
    for (std::uint64_t at = 0; size <= 64 && at <= 64 - size; at += align) {
        if ((occupied & bits(at, size)) == 0) return true;
    }
    return false;
}

/// A run of `steps` calls. Returns false if a block is misaligned, is outside, overlaps another block or is not free
/// after its deallocation, if a strategy that frees blocks in any order fails although a hole fits, or if the space is
/// not one hole at the end.
template <class Strategy>
constexpr bool keeps_the_laws(std::uint32_t seed, int steps) {
    using offset = typename Strategy::offset_type;
    constexpr offset start = 128;
    constexpr std::size_t most = 6;
    Strategy strategy;
    if (!strategy.insert({start, 64})) return false;
    if (Strategy::several_extents == false && strategy.insert({start + 64, 64})) return false;

    allot::allocation_of<Strategy> live[most]{};
    std::size_t count = 0;
    std::uint64_t occupied = 0;
    const auto random = [&seed](std::uint32_t bound) {
        seed = seed * 1664525U + 1013904223U;
        return (seed >> 16) % bound;
    };
    for (int step = 0; step != steps; ++step) {
        if (count == most || (count != 0 && random(5) < 2)) {
            const std::size_t which = Strategy::reclaims == reclaim::lifo   ? count - 1
                                      : Strategy::reclaims == reclaim::fifo ? 0
                                                                            : random(static_cast<std::uint32_t>(count));
            const offset freed = strategy.capacity(live[which]);
            strategy.deallocate(live[which]);
            if (Strategy::reclaims != reclaim::never) occupied &= ~bits(live[which].where.offset - start, freed);
            for (std::size_t i = which + 1; i != count; ++i) live[i - 1] = live[i];
            --count;
            continue;
        }
        const auto size = static_cast<offset>(random(12)), align = static_cast<offset>(1U << random(5));
        const bool served = strategy.diagnose({size, align}).reason == allot::refusal::none;
        const auto fresh = strategy.allocate({size, align});
        if (served != static_cast<bool>(fresh)) return false;
        if (!fresh) {
            if (Strategy::exact && Strategy::reclaims == reclaim::any && size != 0 && has_hole(occupied, size, align))
                return false;
            if (Strategy::reclaims == reclaim::never) {
                if constexpr (allot::resettable<Strategy>) strategy.reset();
                occupied = 0;
                count = 0;
            }
            continue;
        }
        const offset at = fresh.where.offset, room = strategy.capacity(fresh);
        if (size == 0 || fresh.where.size != size || room < size) return false;
        if (at < start || at - start > 64 || room > 64 - (at - start) || at % align != 0) return false;
        if ((occupied & bits(at - start, room)) != 0) return false;
        occupied |= bits(at - start, room);
        live[count++] = fresh;
    }
    if (strategy.allocate({0, 1}) || strategy.allocate({8, 0}) || strategy.allocate({8, 3})) return false;
    if (strategy.allocate({std::numeric_limits<offset>::max(), 1})) return false;

    for (; count != 0; --count) {
        const std::size_t which = Strategy::reclaims == reclaim::fifo ? 0 : count - 1;
        strategy.deallocate(live[which]);
        if (which == 0) {
            for (std::size_t i = 1; i != count; ++i) live[i - 1] = live[i];
        }
    }
    if constexpr (Strategy::reclaims == reclaim::never && allot::resettable<Strategy>) strategy.reset();
    for (offset whole = 64; whole != 0; --whole) {  // the largest block of an empty strategy
        Strategy empty;
        static_cast<void>(empty.insert({start, 64}));
        if (empty.allocate({whole, 1})) return static_cast<bool>(strategy.allocate({whole, 1}));
        if (whole == 64 && Strategy::exact) return false;
    }
    return false;
}

using narrow = std::uint32_t;
using wide = std::uint64_t;
constexpr allot::best_fit_options beside{.store = allot::node_store::side_table};
constexpr allot::best_fit_options beside_fixed{.store = allot::node_store::side_table, .records = 32};
constexpr allot::best_fit_options two_ends{.store = allot::node_store::side_table, .large = 6};
constexpr allot::best_fit_options in_granules{.store = allot::node_store::side_table, .granule = 4};
constexpr allot::bump_options up{.direction = allot::direction::up}, down{.direction = allot::direction::down};
constexpr allot::pool_options bitmap{.slot = 8, .count = 8, .align = 8, .store = allot::pool_store::bitmap};
constexpr allot::pool_options index_stack{.slot = 8, .count = 8, .align = 8, .store = allot::pool_store::index_stack};

static_assert(keeps_the_laws<allot::best_fit<beside, wide>>(1, 150));
static_assert(keeps_the_laws<allot::best_fit<beside, narrow>>(2, 150));
static_assert(keeps_the_laws<allot::best_fit<beside_fixed, wide>>(3, 150));
static_assert(keeps_the_laws<allot::best_fit<beside_fixed, narrow>>(4, 150));
static_assert(keeps_the_laws<allot::best_fit<two_ends, wide>>(5, 150));
static_assert(keeps_the_laws<allot::best_fit<two_ends, narrow>>(6, 150));
static_assert(keeps_the_laws<allot::best_fit<in_granules, narrow>>(18, 150));
static_assert(keeps_the_laws<allot::bump<up, wide>>(7, 500));
static_assert(keeps_the_laws<allot::bump<up, narrow>>(8, 500));
static_assert(keeps_the_laws<allot::bump<down, wide>>(9, 500));
static_assert(keeps_the_laws<allot::bump<down, narrow>>(10, 500));
static_assert(keeps_the_laws<allot::stack<allot::stack_options{}, wide>>(11, 500));
static_assert(keeps_the_laws<allot::stack<allot::stack_options{.large = 6}, narrow>>(12, 500));
static_assert(keeps_the_laws<allot::ring<allot::ring_options{}, wide>>(13, 500));
static_assert(keeps_the_laws<allot::ring<allot::ring_options{}, narrow>>(14, 500));
static_assert(keeps_the_laws<allot::pool<bitmap, wide>>(15, 500));
static_assert(keeps_the_laws<allot::pool<bitmap, narrow>>(16, 500));
static_assert(keeps_the_laws<allot::pool<index_stack, wide>>(17, 500));
static_assert(keeps_the_laws<allot::pool<index_stack, narrow>>(18, 500));

/// Adjacent extents never join; with allocate_at, resize and a removal.
template <class Strategy>
constexpr bool keeps_extents_apart() {
    Strategy strategy;
    if (!strategy.insert({64, 32}) || !strategy.insert({96, 32})) return false;
    if (strategy.allocate({33, 1}) || strategy.allocate_at({80, 32})) return false;
    auto block = strategy.allocate_at({72, 8});
    if (!block || block.where.offset != 72 || strategy.allocate_at({79, 4})) return false;
    if (strategy.remove({64, 32})) return false;
    if (!strategy.resize(block, 24)) return false;
    block.where.size = 24;
    if (strategy.resize(block, 25) || strategy.capacity(block) != 24) return false;
    if (!strategy.resize(block, 1)) return false;
    block.where.size = 1;
    strategy.deallocate(block);
    if (strategy.allocate({33, 1})) return false;
    if (!strategy.remove({64, 32}) || strategy.remove({64, 32})) return false;
    const auto last = strategy.allocate({32, 32});
    return last && last.where.offset == 96 && !strategy.allocate({1, 1});
}

static_assert(keeps_extents_apart<allot::best_fit<beside, wide>>());
static_assert(keeps_extents_apart<allot::best_fit<beside_fixed, narrow>>());

}  // namespace

TEST_CASE("laws: constant expressions, and longer at run time") {
    for (std::uint32_t seed = 1; seed != 50; ++seed) {
        CAPTURE(seed);
        CHECK(keeps_the_laws<allot::best_fit<beside, wide>>(seed, 2000));
        CHECK(keeps_the_laws<allot::best_fit<two_ends, narrow>>(seed, 2000));
        CHECK(keeps_the_laws<allot::bump<up, narrow>>(seed, 2000));
        CHECK(keeps_the_laws<allot::stack<allot::stack_options{.large = 6}, wide>>(seed, 2000));
        CHECK(keeps_the_laws<allot::ring<allot::ring_options{}, narrow>>(seed, 2000));
        CHECK(keeps_the_laws<allot::pool<bitmap, wide>>(seed, 2000));
        CHECK(keeps_the_laws<allot::pool<index_stack, narrow>>(seed, 2000));
    }
}
