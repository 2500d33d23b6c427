#include <allot/adapt/std_allocator.hpp>
#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>

#include <doctest/doctest.h>

#include <random>
#include <type_traits>
#include <vector>

namespace {

using allot::index_options;
using allot::misuse;

struct note {
    static inline int count = 0;
    static inline misuse last{};
    void operator()(misuse what, std::size_t, std::size_t) const noexcept {
        ++count;
        last = what;
    }
    static int take() { return std::exchange(count, 0); }
};

// Memory that the host cannot access: addresses of an unmapped range.
template <bool Pointers>
struct remote {
    using address_model = std::conditional_t<Pointers, allot::raw_pointer, allot::handle_offset<const char*>>;
    using address = typename address_model::address;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = Pointers ? allot::offset_use::arithmetic : allot::offset_use::carried;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr auto dl_device = allot::dl_device_type::ext_dev;
    std::size_t next = std::size_t{1} << 20U;
    [[nodiscard]] allot::acquired<remote> acquire(allot::layout wanted) noexcept {
        const std::size_t at = std::exchange(next, next + allot::align_up(wanted.size, std::size_t{64}) + 64);
        if constexpr (Pointers) return allot::region<address>{reinterpret_cast<void*>(at), wanted.size, 64};  // NOLINT
        else return allot::region<address>{{reinterpret_cast<const char*>(at), 0}, wanted.size, 64};          // NOLINT
    }
    void release(allot::region<address>) noexcept {}
};

template <class Memory>
void random_calls_equal_those_of_a_model(Memory& memory, std::size_t largest, int steps) {
    using block = typename Memory::block_type;
    using model = typename Memory::address_model;
    std::vector<block> live;
    std::mt19937 random{6};
    int around = 0;
    for (int step = 0; step != steps; ++step) {
        if (live.empty() || random() % 5 < 3) {
            const std::size_t size = 1 + random() % (random() % 8 == 0 ? largest : 100);
            if (const block fresh = memory.allocate({size, 1})) live.push_back(fresh);
        } else {
            std::swap(live[random() % live.size()], live.back());
            CHECK(memory.size_of(live.back().address) == live.back().size);
            if (random() % 2 == 0) memory.deallocate(live.back().address);
            else memory.deallocate(live.back());
            CHECK(memory.size_of(live.back().address) == 0);
            live.pop_back();
        }
        if (live.empty()) continue;
        const block one = live[random() % live.size()];
        const std::size_t inside = random() % one.size;
        CHECK(memory.block_containing(model::locate(one.address, inside)) == one);
        CHECK(memory.block_containing(model::locate(one.address, one.size - 1)) == one);
        CHECK(memory.block_at(one.address) == one);
        if (inside != 0) CHECK(!memory.block_at(model::locate(one.address, inside)));
        if (step % 8 != 0) continue;
        // Any address: the block of the list that contains it, or none.
        const auto anywhere = model::locate(one.address, random() % largest);
        block expected;
        for (const block& each : live)
            for (std::size_t at = 0; at < each.size; ++at)
                if (model::locate(each.address, at) == anywhere) expected = each;
        CHECK(memory.block_containing(anywhere) == expected);
        around += !expected;
        std::size_t listed = 0;
        memory.for_each_block([&](const auto& address, std::size_t size) {
            ++listed;
            CHECK(memory.size_of(address) == size);
        });
        CHECK(listed == live.size());
    }
    CHECK(around > 0);
    CHECK(note::take() == 0);
}

}  // namespace

TEST_CASE("indexed: random blocks of memory that the host cannot access are found by any of their addresses") {
    using pointers = allot::arena<remote<true>, allot::best_fit<>>;
    allot::indexed<pointers, index_options{}, note> memory{pointers{{}, 20'000}};
    random_calls_equal_those_of_a_model(memory, 3000, 1500);
    using handles =
        allot::arena<remote<false>, allot::best_fit<>, allot::growth::fixed<allot::growth_options{.step = 1024}>>;
    allot::indexed<handles, index_options{.records = 50}, note> regions;
    random_calls_equal_those_of_a_model(regions, 700, 1000);
    allot::indexed<allot::naive<remote<false>>, index_options{.records = 20}, note> separate;
    random_calls_equal_those_of_a_model(separate, 300, 500);
}

TEST_CASE("indexed: an address without a live block, and a block of another size, are reported") {
    using arena = allot::arena<remote<true>, allot::best_fit<>>;
    allot::indexed<arena, index_options{}, note> memory{arena{{}, 4096}};
    CHECK(!memory.block_containing(nullptr));
    auto block = memory.allocate({.size = 100});
    const auto freed = memory.allocate({.size = 100});
    memory.deallocate(freed.address);
    memory.deallocate(nullptr);
    memory.deallocate(decltype(block){});
    CHECK(note::take() == 0);
    memory.deallocate(freed.address);
    memory.deallocate(freed);
    memory.deallocate(allot::raw_pointer::locate(block.address, 1));
    CHECK(note::last == misuse::not_live);
    CHECK(!memory.owns(freed));
    CHECK(memory.owns(block));
    CHECK(note::take() == 3);
    auto other = block;
    other.size = 99;
    memory.deallocate(other);
    CHECK(note::last == misuse::wrong_size);
    CHECK(memory.capacity(other) == 0);
    CHECK(!memory.resize(other, 10));
    CHECK(!memory.check(other));
    CHECK(!memory.owns(other));
    CHECK(note::take() == 4);
    CHECK(memory.check(block));
    REQUIRE(memory.resize(block, 300));
    CHECK(memory.size_of(block.address) == 300);
    CHECK(memory.capacity(block) >= 300);
    CHECK(memory.block_containing(allot::raw_pointer::locate(block.address, 299)) == block);
    CHECK(!memory.block_containing(allot::raw_pointer::locate(block.address, 300)));
    memory.deallocate(block);
    CHECK(memory.allocate({.size = 4096}));
}

TEST_CASE("indexed: reset, rollback and allocate_at keep the index of live blocks") {
    allot::indexed<allot::arena<allot::host::static_storage<1000>, allot::stack<>>, index_options{}, note> memory;
    const auto old = memory.allocate({.size = 100});
    const auto mark = memory.mark();
    const auto fresh = memory.allocate({.size = 50});
    memory.rollback(mark);
    CHECK(memory.owns(old));
    CHECK(!memory.owns(fresh));
    CHECK(memory.allocate({.size = 60}).address == fresh.address);
    CHECK(memory.size_of(fresh.address) == 60);
    memory.reset();
    CHECK(memory.size_of(old.address) == 0);
    REQUIRE(memory.allocate({.size = 1000, .align = 1}));

    using handles = allot::arena<remote<false>, allot::best_fit<>>;
    allot::indexed<handles, index_options{.records = 2}, note> few{handles{{}, 1000}};
    const auto placed = few.allocate_at({100, 33});
    REQUIRE(placed);
    CHECK(few.size_of(placed.address) == 33);
    CHECK(few.diagnose_at({120, 5}).reason == allot::refusal::not_free);
    REQUIRE(few.allocate({.size = 5}));
    CHECK(!few.allocate({.size = 5}));
    CHECK(few.diagnose({.size = 5}).reason == allot::refusal::out_of_records);
    few.deallocate(placed);
    CHECK(few.allocate({.size = 5}));
    CHECK(note::take() == 0);
}

TEST_CASE("indexed: containers have no header, and compositions and moves keep the index") {
    using beside = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>;
    using arena = allot::arena<allot::host::heap, beside>;
    using memory_type = allot::indexed<arena>;
    static_assert(std::is_empty_v<memory_type::metadata_type>);
    memory_type memory{arena{{}, 100'000}};
    {
        std::vector<int, allot::std_allocator<int, memory_type>> values{memory};
        for (int i = 0; i != 200; ++i) values.push_back(i);
        CHECK(memory.size_of(values.data()) == values.capacity() * sizeof(int));
        CHECK(memory.block_containing(&values[77]).address == values.data());
    }
    const auto block = memory.allocate({.size = 77});
    memory_type moved{std::move(memory)};
    CHECK(moved.owns(block));
    CHECK(memory.size_of(block.address) == 0);
    CHECK(!memory.block_containing(block.address));
    moved.deallocate(block.address);
    std::size_t live = 0;
    moved.for_each_block([&](void*, std::size_t) { ++live; });
    CHECK(live == 0);

    using fixed = allot::indexed<arena, index_options{.records = 3}, note>;
    fixed full{arena{{}, 4096}};
    const auto first = full.allocate({.size = 7}), second = full.allocate({.size = 300});
    fixed target{std::move(full)};
    CHECK(target.owns(first));
    CHECK(target.block_containing(static_cast<char*>(second.address) + 299) == second);
    CHECK(!full.block_containing(second.address));
    target.deallocate(first.address);
    CHECK(target.allocate({.size = 7}));
    CHECK(target.allocate({.size = 7}));
    CHECK(!target.allocate({.size = 7}));
    CHECK(note::take() == 0);

    allot::arena<allot::host::static_storage<512>, beside> fast;
    arena slow{{}, 4096};
    allot::indexed both{allot::fallback{fast, slow}};
    const auto a = both.allocate({.size = 500}), b = both.allocate({.size = 500});
    REQUIRE(b);
    both.deallocate(a.address);
    CHECK(both.allocate({.size = 500}).address == a.address);
    both.deallocate(b.address);
    CHECK(!both.block_containing(b.address));
    CHECK(slow.allocate({.size = 4096, .align = 1}));
    // A wrapper inside that needs the metadata of its blocks.
    allot::indexed tags{allot::tagged{std::move(slow)}};
    CHECK(!tags.allocate({.size = 10}));
}

TEST_CASE("indexed: a block that is freed out of order in a hardened stack or ring stays known") {
    const auto play = []<class Strategy>(std::type_identity<Strategy>, bool newest_first) {
        allot::indexed<allot::arena<allot::host::static_storage<1000>, Strategy, allot::growth::none<>,
                                    allot::arena_options{.hardening = allot::hardening::checked}, note>,
                       index_options{}, note>
            memory;
        const auto first = memory.allocate({.size = 50}), second = memory.allocate({.size = 60});
        memory.deallocate(newest_first ? first : second);
        CHECK(note::take() == 1);
        CHECK(note::last == misuse::out_of_order);
        CHECK(memory.owns(first));
        CHECK(memory.owns(second));
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
