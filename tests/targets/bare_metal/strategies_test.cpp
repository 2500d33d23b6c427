// Every strategy, with every store that needs no heap, in an arena over memory of a microcontroller.
#include <allot/arena/arena.hpp>
#include <allot/arena/growth.hpp>
#include <allot/host/buffer.hpp>
#include <allot/host/heap.hpp>
#include <allot/host/static_storage.hpp>
#include <allot/host/tightly_coupled.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/bump.hpp>
#include <allot/strategy/deferred.hpp>
#include <allot/strategy/pool.hpp>
#include <allot/strategy/ring.hpp>
#include <allot/strategy/stack.hpp>

#include <doctest/doctest.h>

#include <cstring>

namespace {

using allot::reclaim;
using allot::refusal;
using allot::host::static_storage;

constexpr std::size_t bytes = 1024;
using storage = static_storage<bytes, 64>;

constexpr allot::best_fit_options within{.store = allot::node_store::in_band};
constexpr allot::best_fit_options within_two_ends{.store = allot::node_store::in_band, .large = 48};
constexpr allot::best_fit_options beside{.store = allot::node_store::side_table, .records = 24};
constexpr allot::best_fit_options beside_two_ends{.store = allot::node_store::side_table, .records = 24, .large = 48};
constexpr allot::best_fit_options beside_in_granules{
    .store = allot::node_store::side_table, .records = 24, .granule = 16};
template <allot::pool_store Store>
constexpr allot::pool_options slots{.slot = 64, .count = 16, .align = 32, .store = Store};

/// Offsets may be wider than std::size_t, for example those of a disk.
template <allot::pool_store Store>
constexpr bool takes_back_beyond_4_gib() {
    constexpr std::uint64_t gib = 0x4000'0000;
    allot::pool<allot::pool_options{.slot = gib, .count = 9, .align = 1, .store = Store}, std::uint64_t> disk;
    if (!disk.insert({0, 9 * gib})) return false;
    allot::allocation_of<decltype(disk)> allocations[9];
    for (auto& allocation : allocations) allocation = disk.allocate({1, 1});
    disk.deallocate(allocations[6]);
    return disk.allocate({1, 1}) == allocations[6] && !disk.allocate({1, 1});
}
static_assert(takes_back_beyond_4_gib<allot::pool_store::bitmap>());
static_assert(takes_back_beyond_4_gib<allot::pool_store::index_stack>());

using bump_up = allot::arena<storage, allot::bump<allot::bump_options{.direction = allot::direction::up}>>;
using bump_down = allot::arena<storage, allot::bump<allot::bump_options{.direction = allot::direction::down}>>;
using stack = allot::arena<storage, allot::stack<>>;
using stack_two_ends = allot::arena<storage, allot::stack<allot::stack_options{.large = 48}>>;
using ring = allot::arena<storage, allot::ring<>>;
using pool_automatic = allot::arena<storage, allot::pool<slots<allot::pool_store::automatic>>>;
using pool_in_band = allot::arena<storage, allot::pool<slots<allot::pool_store::in_band>>>;
using pool_bitmap = allot::arena<storage, allot::pool<slots<allot::pool_store::bitmap>>>;
using pool_index_stack = allot::arena<storage, allot::pool<slots<allot::pool_store::index_stack>>>;
using best_fit_automatic = allot::arena<storage, allot::best_fit<>>;
using best_fit_in_band = allot::arena<storage, allot::best_fit<within>>;
using best_fit_two_ends = allot::arena<storage, allot::best_fit<within_two_ends>>;
using best_fit_beside = allot::arena<storage, allot::best_fit<beside>>;
using best_fit_beside_two_ends = allot::arena<storage, allot::best_fit<beside_two_ends>>;
using best_fit_in_granules = allot::arena<storage, allot::best_fit<beside_in_granules>>;
using deferred = allot::arena<storage, allot::deferred<allot::best_fit<>, allot::deferred_options{.largest = 64}>>;

/// Maximum number of live blocks in a step of the test.
constexpr std::size_t most = 20;

template <class Arena>
struct held_blocks {
    typename Arena::block_type all[most]{};
    std::size_t count = 0;
};

template <class Arena>
void fill(Arena& memory, held_blocks<Arena>& held) {
    constexpr allot::layout wanted[] = {{24, 8}, {40, 16}, {7, 1}, {64, 32}};
    for (; held.count != most; ++held.count) {
        const allot::layout each = wanted[held.count % 4];
        const bool expected = memory.diagnose(each).reason == refusal::none;
        auto& fresh = held.all[held.count] = memory.allocate(each);
        CHECK(static_cast<bool>(fresh) == expected);
        if (!fresh) break;
        CHECK(fresh.size == each.size);
        CHECK(memory.capacity(fresh) >= each.size);
        CHECK(memory.owns(fresh));
        CHECK(reinterpret_cast<std::uintptr_t>(fresh.address) % each.align == 0);
        std::memset(fresh.address, static_cast<int>(held.count + 1), fresh.size);
    }
}

/// Gives all back, in an order that the strategy reclaims, and looks at each block's bytes before.
template <class Arena>
void give_back(Arena& memory, held_blocks<Arena>& held) {
    const auto give = [&](std::size_t i) {
        const auto* const at = static_cast<const unsigned char*>(held.all[i].address);
        bool kept = true;
        for (std::size_t n = 0; n != held.all[i].size; ++n) kept = kept && at[n] == i + 1;
        CHECK(kept);
        memory.deallocate(held.all[i]);
    };
    if constexpr (Arena::reclaims == reclaim::fifo) {
        for (std::size_t i = 0; i != held.count; ++i) give(i);
    } else if constexpr (Arena::reclaims == reclaim::lifo) {
        for (std::size_t i = held.count; i-- != 0;) give(i);
    } else {  // alternate blocks first, so that neighbors merge
        for (std::size_t i = 0; i < held.count; i += 2) give(i);
        for (std::size_t i = 1; i < held.count; i += 2) give(i);
    }
    if constexpr (Arena::reclaims == reclaim::never) memory.reset();
    held.count = 0;
}

template <class Arena>
void serve_twice(Arena& memory) {
    held_blocks<Arena> held;
    fill(memory, held);
    const std::size_t first = held.count;
    CHECK(first >= 10);
    give_back(memory, held);
    fill(memory, held);
    CHECK(held.count == first);
    give_back(memory, held);
}

}  // namespace

TEST_CASE_TEMPLATE("strategies: blocks keep their bytes, and all bytes are free at the end", Arena, bump_up, bump_down,
                   stack, stack_two_ends, ring, pool_automatic, pool_in_band, pool_bitmap, pool_index_stack,
                   best_fit_automatic, best_fit_in_band, best_fit_two_ends, best_fit_beside, best_fit_beside_two_ends,
                   best_fit_in_granules, deferred) {
    Arena memory;
    serve_twice(memory);
    CHECK_FALSE(memory.allocate({0, 8}));
    CHECK_FALSE(memory.allocate({8, 3}));
    CHECK_FALSE(memory.allocate({SIZE_MAX, 8}));
    CHECK(memory.diagnose({0, 8}).reason == refusal::empty_layout);
    CHECK(memory.diagnose({SIZE_MAX, 8}).reason != refusal::none);
    CHECK_FALSE(memory.allocate({8, std::size_t{1} << 31}));
}

TEST_CASE_TEMPLATE("windows: a window of any alignment moves with its arena", Device, allot::host::buffer,
                   allot::host::tightly_coupled) {
    alignas(64) std::byte window[bytes];
    allot::arena<Device, allot::best_fit<beside>> memory{Device{window + 3, bytes - 3}};
    serve_twice(memory);
    const auto kept = memory.allocate({.size = 100, .align = 32});
    CHECK(kept);
    auto moved = std::move(memory);
    CHECK_FALSE(memory.allocate({.size = 1}));
    CHECK(moved.owns(kept));
    moved.deallocate(kept);
    CHECK(moved.allocate({.size = bytes - 3, .align = 1}));
}

TEST_CASE_TEMPLATE("marks: a rollback frees the blocks allocated since the mark", Arena, bump_up, bump_down, stack) {
    Arena memory;
    const auto first = memory.allocate({.size = 100, .align = 4});
    const auto mark = memory.mark();
    const auto second = memory.allocate({.size = 100, .align = 4});
    CHECK(first);
    CHECK(second);
    memory.rollback(mark);
    CHECK(memory.allocate({.size = 100, .align = 4}) == second);
    memory.reset();
    CHECK(memory.allocate({.size = 100, .align = 4}) == first);
}

TEST_CASE_TEMPLATE("best fit: allocate_at succeeds once for a place, and blocks are resized in place", Arena,
                   best_fit_beside, best_fit_in_granules, best_fit_beside_two_ends) {
    Arena memory;
    auto claimed = memory.allocate_at({256, 128});
    CHECK(claimed);
    CHECK_FALSE(memory.allocate_at({352, 32}));
    CHECK(memory.diagnose_at({352, 32}).reason == refusal::not_free);
    CHECK(memory.resize(claimed, 256));
    CHECK_FALSE(memory.resize(claimed, bytes));
    CHECK(memory.resize(claimed, 64));
    CHECK(memory.allocate_at({352, 32}));
}

TEST_CASE("pool: allocate_at selects a slot by its place") {
    pool_bitmap memory;
    CHECK(memory.allocate_at({128, 64}));
    CHECK_FALSE(memory.allocate_at({128, 64}));
    CHECK_FALSE(memory.allocate_at({100, 64}));
}

namespace {

/// Device over two banks of memory. An arena over it grows.
class banks {
public:
    using address_model = allot::raw_pointer;
    enum class error : unsigned char { none, no_bank };
    static constexpr bool host_accessible = true;
    static constexpr auto offsets = allot::offset_use::arithmetic;
    static constexpr std::size_t min_align = 16, granularity = 1;
    static constexpr auto dl_device = allot::dl_device_type::cpu;

    explicit banks(std::byte (&first)[512], std::byte (&second)[512]) noexcept : bank_{first, second} {}
    [[nodiscard]] allot::acquired<banks> acquire(allot::layout wanted) noexcept {
        for (unsigned i = 0; i != 2; ++i) {
            if (taken_[i] || wanted.size > 512 || wanted.align > 16) continue;
            taken_[i] = true;
            return allot::region<void*>{bank_[i], 512, 16};
        }
        return allot::acquired<banks>::failure(error::no_bank);
    }
    void release(allot::region<void*> held) noexcept { taken_[held.base == bank_[0] ? 0 : 1] = false; }

private:
    std::byte* bank_[2];
    bool taken_[2]{};
};
using by_banks = allot::growth::fixed<allot::growth_options{.step = 512, .limit = 1024, .regions = 2}>;

/// Window that an arena extends at its end.
class sliding {
public:
    using address_model = allot::raw_pointer;
    enum class error : unsigned char { none, too_large };
    static constexpr bool host_accessible = true;
    static constexpr auto offsets = allot::offset_use::arithmetic;
    static constexpr std::size_t min_align = 64, granularity = 64;
    static constexpr auto dl_device = allot::dl_device_type::cpu;

    explicit sliding(std::byte (&window)[bytes]) noexcept : window_{window} {}
    [[nodiscard]] allot::acquired<sliding> acquire(allot::layout wanted) noexcept {
        if (wanted.size > bytes || wanted.align > 64) return allot::acquired<sliding>::failure(error::too_large);
        return allot::region<void*>{window_, wanted.size, 64};
    }
    [[nodiscard]] allot::acquired<sliding> resize(allot::region<void*> held, std::size_t size) noexcept {
        if (size > bytes) return allot::acquired<sliding>::failure(error::too_large);
        held.size = size;
        return held;
    }
    void release(allot::region<void*>) noexcept {}

private:
    std::byte* window_;
};
using in_place = allot::growth::contiguous<allot::growth_options{.step = 128, .limit = bytes, .regions = 1}>;

template <class Arena>
void grow_and_trim(Arena& memory) {
    CHECK(memory.size() == 0);
    const auto first = memory.allocate({.size = 300, .align = 16}),
               second = memory.allocate({.size = 300, .align = 16});
    CHECK(first);
    CHECK(second);
    CHECK_FALSE(memory.allocate({.size = 600, .align = 16}));
    memory.deallocate(second);
    const std::size_t held = memory.size(), given_back = memory.trim();
    CHECK(given_back > 0);
    CHECK(memory.size() == held - given_back);
    CHECK(memory.size() <= 512);
    CHECK(memory.allocate({.size = 300, .align = 16}));
}

}  // namespace

TEST_CASE_TEMPLATE("growth: an arena grows by a bank", Strategy, allot::best_fit<within>, allot::best_fit<beside>) {
    alignas(16) std::byte first[512], second[512];
    allot::arena<banks, Strategy, by_banks> memory{banks{first, second}};
    grow_and_trim(memory);
}

TEST_CASE_TEMPLATE("growth: an arena grows at its end", Strategy, allot::best_fit<within>, allot::best_fit<beside>) {
    alignas(64) std::byte window[bytes];
    allot::arena<sliding, Strategy, in_place> memory{sliding{window}};
    grow_and_trim(memory);
}
