#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>
#include <allot/compose/recorded.hpp>
#include <allot/inspect/trace.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

namespace {

using namespace allot::literals;

/// Writes each call into a list, and numbers the blocks by 10.
struct listing {
    std::vector<std::string> calls{};
    std::uint64_t next = 0;
    void add(std::string what, std::uint64_t a = 0, std::uint64_t b = 0) {
        calls.push_back(what + ' ' + std::to_string(a) + ' ' + std::to_string(b));
    }
    std::uint64_t allocate(std::uint64_t size, std::uint64_t align) {
        add("allocate", size, align);
        return next += 10;
    }
    void deallocate(std::uint64_t number) { add("deallocate", number); }
    std::uint64_t resize(std::uint64_t number, std::uint64_t size) {
        add("resize", number, size);
        return number + 1;
    }
    void reset() { add("reset"); }
    void refuse(std::uint64_t size, std::uint64_t align) { add("refuse", size, align); }
    void trim(std::uint64_t) { add("trim"); }
};

/// An opaque handle. Each acquisition returns another one.
struct handles {
    using address_model = allot::handle_offset<int>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr auto dl_device = allot::dl_device_type::ext_dev;
    int next = 1;
    [[nodiscard]] allot::acquired<handles> acquire(allot::layout wanted) noexcept {
        return allot::region<address_model::address>{{next++, 0}, wanted.size, 64};
    }
    void release(allot::region<address_model::address>) noexcept {}
};

/// Replays a trace, and returns the offset of each allocated block.
template <class Memory>
std::vector<std::size_t> replay(const allot::trace& trace, Memory& memory) {
    std::vector<typename Memory::block_type> slots(trace.slots);
    std::vector<std::size_t> offsets;
    const std::size_t base = Memory::address_model::position(memory.regions()[0].base);
    for (const allot::trace_operation& each : trace.operations) {
        auto& slot = slots[each.slot];
        if (each.action == allot::trace_action::allocate) {
            slot = memory.allocate({static_cast<std::size_t>(each.size), static_cast<std::size_t>(each.align())});
            REQUIRE(slot);
            offsets.push_back(Memory::address_model::position(slot.address) - base);
        } else if (each.action == allot::trace_action::deallocate) {
            memory.deallocate(slot);
        } else if constexpr (allot::resettable_allocator<Memory>) {
            memory.reset();
        }
    }
    return offsets;
}

template <class Strategy>
using fixed = allot::arena<allot::host::static_storage<8192, 4096>, Strategy>;

}  // namespace

TEST_CASE_TEMPLATE("recorded: a replay of the trace on an arena of the same type returns the same offsets", Strategy,
                   allot::best_fit<>, allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>,
                   allot::pool<allot::pool_options{.slot = 400}>, allot::stack<>, allot::bump<>, allot::ring<>) {
    fixed<Strategy> arena;
    allot::trace_writer trace;
    allot::recorded memory{arena, trace};
    using block = typename decltype(memory)::block_type;
    std::vector<block> live;
    std::vector<std::size_t> offsets;
    const std::size_t base = decltype(memory)::address_model::position(arena.regions()[0].base);
    std::mt19937 random{5};
    constexpr bool stack = Strategy::reclaims == allot::reclaim::lifo;
    std::size_t refused = 0, rolled = 0;
    for (int step = 0; step != 4000; ++step) {
        if (live.empty() || random() % 5 < 3) {
            // At most the alignment of the region: larger ones depend on its address.
            const std::size_t size = 1 + random() % 399;
            const std::size_t align = std::size_t{1} << (random() % 8 == 0 ? 12 : random() % 8);
            if (const block fresh = memory.allocate({size, align})) {
                live.push_back(fresh);
                offsets.push_back(decltype(memory)::address_model::position(fresh.address) - base);
            } else {
                ++refused;
                if constexpr (allot::resettable_allocator<decltype(memory)>) {
                    memory.reset();
                    live.clear();
                }
            }
        } else {
            const std::size_t i = stack                                        ? live.size() - 1
                                  : Strategy::reclaims == allot::reclaim::fifo ? 0
                                                                               : random() % live.size();
            memory.deallocate(live[i]);
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
        }
        if constexpr (stack) {
            if (random() % 8 == 0) {
                const auto mark = memory.mark();
                for (int i = 0; i != 3; ++i)
                    if (const block fresh = memory.allocate({50, 8}))
                        offsets.push_back(decltype(memory)::address_model::position(fresh.address) - base);
                memory.rollback(mark);
                ++rolled;
            }
        }
    }
    CHECK(refused > 5);
    CHECK((rolled > 100 || !stack));
    const auto read = allot::read_trace(trace.bytes());
    REQUIRE(read);
    fixed<Strategy> again;
    CHECK(replay(read.value, again) == offsets);
}

TEST_CASE("recorded: each successful call is recorded with the number of the sink") {
    listing log;
    fixed<allot::best_fit<>> arena;
    const auto before = arena.allocate({.size = 10});
    allot::recorded memory{arena, log};
    auto a = memory.allocate({.size = 100, .align = 8});
    const auto b = memory.allocate_at({4096, 64});
    REQUIRE((a && b));
    CHECK_FALSE(memory.allocate({.size = 1_MiB, .align = 4}));
    CHECK_FALSE(memory.allocate_at({4096, 64}));
    CHECK(memory.resize(a, 120));
    CHECK_FALSE(memory.resize(a, 1_MiB));
    memory.deallocate(a);
    memory.deallocate({});
    memory.deallocate(before);  // not recorded
    memory.deallocate(b);
    CHECK(log.calls == std::vector<std::string>{"allocate 100 8", "allocate 64 1", "refuse 1048576 4", "refuse 64 1",
                                                "resize 10 120", "deallocate 11 0", "deallocate 20 0"});
    CHECK(arena.diagnose({.size = 1}).largest_hole > 8000);  // all blocks were freed
}

TEST_CASE("recorded: a rollback is recorded as deallocations, newest first, and a reset as one event") {
    listing log;
    allot::arena<allot::host::heap, allot::bump<>, allot::growth::geometric<>> arena;
    allot::recorded memory{arena, log};
    REQUIRE(memory.allocate({.size = 1}));
    const auto mark = memory.mark();
    for (int i = 0; i != 3; ++i) REQUIRE(memory.allocate({.size = 2}));
    memory.rollback(mark);
    memory.rollback(mark);
    memory.reset();
    CHECK(memory.trim() > 0);
    CHECK(log.calls == std::vector<std::string>{"allocate 1 16", "allocate 2 16", "allocate 2 16", "allocate 2 16",
                                                "deallocate 40 0", "deallocate 30 0", "deallocate 20 0", "reset 0 0",
                                                "trim 0 0"});
}

TEST_CASE("recorded: blocks at the same offset of different handles are told apart") {
    listing log;
    allot::arena<handles, allot::best_fit<>, allot::growth::fixed<allot::growth_options{.step = 256}>> arena;
    allot::recorded memory{arena, log};
    const auto a = memory.allocate({.size = 256}), b = memory.allocate({.size = 256});
    REQUIRE((a && b));
    REQUIRE(a.address.offset == b.address.offset);
    memory.deallocate(b);
    memory.deallocate(a);
    CHECK(log.calls[2] == "deallocate 20 0");
    CHECK(log.calls[3] == "deallocate 10 0");
}

TEST_CASE("recorded: a hardened arena's misuse is not recorded, and a moved object keeps its blocks") {
    static int misuses = 0;
    struct count {
        void operator()(allot::misuse, std::size_t, std::size_t) const noexcept { ++misuses; }
    };
    using hardened = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none<>,
                                  allot::arena_options{.hardening = allot::hardening::checked}, count>;
    allot::recorded from{hardened{{}, 4096}, listing{}};
    const auto a = from.allocate({.size = 10}), b = from.allocate({.size = 20});
    auto memory = std::move(from);
    memory.deallocate(a);
    memory.deallocate(a);
    CHECK(misuses == 1);
    memory.deallocate(b);
    CHECK(memory.sink().calls ==
          std::vector<std::string>{"allocate 10 16", "allocate 20 16", "deallocate 10 0", "deallocate 20 0"});

    using stack = allot::arena<allot::host::static_storage<1000>, allot::stack<>, allot::growth::none<>,
                               allot::arena_options{.hardening = allot::hardening::checked}, count>;
    allot::recorded<stack, listing> ordered;
    const auto older = ordered.allocate({.size = 10}), newer = ordered.allocate({.size = 20});
    ordered.deallocate(older);  // out of order: the stack reports it and keeps the block
    CHECK(misuses == 2);
    ordered.deallocate(newer);
    ordered.deallocate(older);
    CHECK(ordered.sink().calls ==
          std::vector<std::string>{"allocate 10 16", "allocate 20 16", "deallocate 20 0", "deallocate 10 0"});
}
