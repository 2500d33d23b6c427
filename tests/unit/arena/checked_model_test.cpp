// Random calls and misuses of arenas with `hardening::checked`, against a model that knows all live blocks. No correct
// call is reported, each misuse is reported once with its kind, and it changes nothing.
#include "helpers.hpp"

#include <allot/host/virtual_memory.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace {

using namespace helpers;
using allot::misuse;

constexpr std::size_t capacity = 100'003;
using some_growth = allot::growth::fixed<allot::growth_options{.step = 7001, .regions = 16}>;

template <class Strategy, class Growth = allot::growth::none<>>
struct on_host {
    using arena_type = allot::arena<allot::host::heap, Strategy, Growth, checked, noted>;
    static arena_type make(supply&) {
        if constexpr (Growth::regions > 1) return arena_type{};
        else return arena_type{{}, capacity};
    }
};
template <class Strategy>
struct in_place {
    using arena_type = allot::arena<allot::host::virtual_memory, Strategy, allot::growth::contiguous<>, checked, noted>;
    static arena_type make(supply&) { return arena_type{allot::host::virtual_memory{1 << 20}}; }
};
template <class Strategy, class Growth = allot::growth::none<>>
struct on_handles {
    using arena_type = allot::arena<handles<>, Strategy, Growth, checked, noted>;
    static arena_type make(supply& from) {
        if constexpr (Growth::regions > 1) return arena_type{handles<>{from}};
        else return arena_type{handles<>{from}, capacity};
    }
};

template <class Kind>
class model {
    using arena_type = typename Kind::arena_type;
    using block_type = typename arena_type::block_type;
    using linear = typename arena_type::address_model;
    static constexpr auto order = arena_type::reclaims;

public:
    explicit model(unsigned seed) : random_{seed} { noted::take(); }

    void run(int calls) {
        for (int i = 0; i != calls; ++i) {
            INFO("call ", i);
            switch (below(8)) {
                case 0:
                case 1:
                case 2:
                case 3: allocate(); break;
                case 4:
                case 5: deallocate(); break;
                case 6: resize(); break;
                default: misuse_something();
            }
            if (i % 64 == 0) look();
            if (i % 1024 == 1023) roll_back();
            REQUIRE(noted::calls.empty());
        }
        while (!live_.empty()) deallocate();
        look();
        CHECK(noted::take().empty());
    }

private:
    [[nodiscard]] std::size_t below(std::size_t n) { return random_() % n; }
    [[nodiscard]] static std::size_t position(const block_type& block) { return linear::position(block.address); }

    void allocate() {
        const auto fresh = arena_.allocate({1 + below(below(4) == 0 ? 999 : 99), std::size_t{1} << below(5)});
        if (fresh) live_.push_back(fresh);
        else if constexpr (requires { arena_.reset(); }) forget_all();
    }
    void forget_all() {
        if (order != allot::reclaim::never) return;
        arena_.reset();
        gone_ = std::exchange(live_, {});
    }

    /// The block that the strategy accepts next, or any.
    [[nodiscard]] std::size_t next() {
        return order == allot::reclaim::lifo   ? live_.size() - 1
               : order == allot::reclaim::fifo ? 0
                                               : below(live_.size());
    }
    void deallocate() {
        if (live_.empty()) return;
        const std::size_t which = next();
        const block_type freed = live_[which];
        block_type given = freed;
        if (below(3) == 0) given.metadata.number = 0;  // constructed from an address and a size
        CHECK(arena_.is_live(given));
        arena_.deallocate(given);
        CHECK_FALSE(arena_.is_live(freed));
        live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(which));
        if (gone_.size() == 200) gone_.erase(gone_.begin());
        gone_.push_back(freed);
    }
    void resize() {
        if constexpr (requires(block_type b) { arena_.resize(b, 1); }) {
            if (live_.empty()) return;
            block_type& held = live_[next()];
            const block_type before = held;
            const std::size_t size = 1 + below(300);
            if (!arena_.resize(held, size)) CHECK(held == before);
            else if (held.size != before.size) expect(before, misuse::wrong_size);
        }
    }
    void roll_back() {
        if constexpr (allot::markable<typename arena_type::strategy_type>) {
            const auto mark = arena_.mark();
            const std::size_t before = live_.size();
            for (int i = 0; i != 40; ++i)
                if (const auto fresh = arena_.allocate({1 + below(60), 1})) live_.push_back(fresh);
            arena_.rollback(mark);
            for (; live_.size() != before; live_.pop_back()) CHECK_FALSE(arena_.is_live(live_.back()));
        }
    }

    /// Exactly the blocks of the model are live.
    void look() {
        for (const auto& block : live_) {
            CHECK(arena_.check(block));
            CHECK(arena_.capacity(block) >= block.size);
        }
        for (const auto& block : gone_) CHECK_FALSE(arena_.is_live(block));
    }

    /// A wrong block is reported by each call, which changes nothing.
    void expect(const block_type& wrong, misuse what) {
        REQUIRE(noted::calls.empty());
        CHECK_FALSE(arena_.is_live(wrong));
        arena_.deallocate(wrong);
        CHECK(noted::only(what, position(wrong), wrong.size));
        CHECK(arena_.capacity(wrong) == 0);
        CHECK(noted::only(what, position(wrong), wrong.size));
        if constexpr (requires(block_type b) { arena_.resize(b, 1); }) {
            block_type same = wrong;
            CHECK_FALSE(arena_.resize(same, 8));
            CHECK(noted::only(what, position(wrong), wrong.size));
            CHECK(same == wrong);
        }
    }
    [[nodiscard]] bool starts_block(const block_type& at) const {
        for (const auto& block : live_)
            if (block.address == at.address) return true;
        return false;
    }

    void misuse_something() {
        if (live_.empty()) return;
        block_type wrong = live_[below(live_.size())];
        switch (below(6)) {
            case 0:
                if (gone_.empty()) return;
                wrong = gone_[below(gone_.size())];
                return expect(wrong, arena_.owns(wrong) ? misuse::not_live : misuse::foreign_block);
            case 1:
                wrong.size = below(2) == 0 ? wrong.size + 1 + below(9999) : below(wrong.size);
                if (below(3) == 0) wrong.metadata.number = 0;
                return wrong.size == 0 ? void() : expect(wrong, misuse::wrong_size);
            case 2:
                wrong.address = linear::locate(wrong.address, 1 + below(wrong.size));
                wrong.size = 1;
                if (below(3) == 0) wrong.metadata.number = 0;
                if (starts_block(wrong) || !arena_.owns(wrong)) return;
                return expect(wrong, misuse::not_live);
            case 3: {
                const block_type& foreign = other_[below(other_.size())];
                return expect(foreign, misuse::foreign_block);
            }
            case 4: {
                const block_type& from = live_[below(live_.size())];
                if (from.metadata == wrong.metadata) return;
                wrong.metadata = from.metadata;
                return expect(wrong, misuse::wrong_size);
            }
            default: return out_of_order(wrong);
        }
    }
    void out_of_order(const block_type& wrong) {
        if (order != allot::reclaim::lifo && order != allot::reclaim::fifo) return;
        if (wrong == (order == allot::reclaim::lifo ? live_.back() : live_.front())) return;
        arena_.deallocate(wrong);
        CHECK(noted::only(misuse::out_of_order, position(wrong), wrong.size));
        CHECK(arena_.is_live(wrong));
    }

    [[nodiscard]] std::vector<block_type> blocks_of_other() {
        std::vector<block_type> blocks;
        for (std::size_t i = 1; i != 20; ++i)
            if (const auto block = others_.allocate({i, 1})) blocks.push_back(block);
        for (auto& block : blocks)
            if constexpr (requires { block.address.handle; }) block.address.handle += 1000;  // of another device
        return blocks;
    }

    std::minstd_rand random_;
    supply from_{}, from_other_{};
    arena_type arena_ = Kind::make(from_), others_ = Kind::make(from_other_);
    std::vector<block_type> live_, gone_, other_ = blocks_of_other();
};

}  // namespace

TEST_CASE_TEMPLATE(
    "checked: a model of all live blocks agrees", Kind, on_host<down>, on_host<up, some_growth>,
    on_host<allot::stack<>>, on_host<allot::ring<>>,
    on_host<allot::pool<allot::pool_options{.slot = 48, .count = 700, .align = 16}>>,
    on_host<
        allot::pool<allot::pool_options{.slot = 104, .count = 300, .align = 8, .store = allot::pool_store::bitmap}>>,
    on_host<allot::pool<allot::pool_options{
        .slot = 13, .count = 200, .align = 1, .store = allot::pool_store::index_stack}>>,
    on_host<allot::pool<allot::pool_options{.slot = 40, .align = 8, .store = allot::pool_store::in_band}>>,
    on_host<allot::pool<allot::pool_options{.slot = 64, .store = allot::pool_store::in_band}>, some_growth>,
    on_handles<
        allot::pool<allot::pool_options{.slot = 100, .count = 1, .align = 4, .store = allot::pool_store::bitmap}>>,
    on_handles<allot::pool<allot::pool_options{.slot = 6, .count = 999, .align = 2, .store = allot::pool_store::bitmap},
                           std::uint32_t>>,
    on_handles<
        allot::pool<allot::pool_options{.slot = 24, .count = 999, .align = 8, .store = allot::pool_store::index_stack},
                    std::uint32_t>>,
    on_host<allot::best_fit<in_band>>, on_host<allot::best_fit<side_table>>,
    on_host<allot::best_fit<allot::best_fit_options{.store = allot::node_store::in_band, .prefer_size = true}>>,
    on_host<allot::best_fit<in_band>, some_growth>, on_host<allot::best_fit<side_table>, some_growth>,
    on_host<allot::deferred<allot::best_fit<in_band>>>, in_place<allot::best_fit<in_band>>,
    in_place<allot::deferred<allot::best_fit<in_band>>>, on_handles<allot::best_fit<>>, on_handles<up, some_growth>,
    on_handles<allot::best_fit<>, some_growth>) {
    for (const unsigned seed : {1U, 2U}) model<Kind>{seed}.run(3000);
}

TEST_CASE("checked: 30,000 live blocks, and a moved arena keeps its records") {
    noted::take();
    using arena_type = allot::arena<allot::host::heap, allot::best_fit<in_band>, allot::growth::none<>, checked, noted>;
    arena_type first{{}, 4'000'000};
    std::vector<arena_type::block_type> blocks;
    for (std::size_t i = 0; i != 30'000; ++i) {
        blocks.push_back(first.allocate({1 + i % 91, 8}));
        REQUIRE(blocks.back());
    }
    arena_type memory{std::move(first)};
    std::minstd_rand random{5};
    while (!blocks.empty()) {
        auto& block = blocks[random() % blocks.size()];
        if (blocks.size() % 2 == 0) block.metadata.number = 0;
        memory.deallocate(block);
        block = blocks.back();
        blocks.pop_back();
    }
    CHECK(noted::take().empty());
    CHECK(memory.allocate({3'999'000, 8}));
}

TEST_CASE("checked: over a pool each slot of an arena accepts exactly its own block") {
    // 8,192 bytes have 1,170 slots, so that records are added while blocks are live.
    using arena_type =
        allot::arena<allot::host::heap, allot::pool<allot::pool_options{.slot = 7, .count = 1170, .align = 1}>,
                     allot::growth::none<>, checked, noted>;
    noted::take();
    arena_type first{{}, 8192};
    std::vector<arena_type::block_type> blocks;
    while (const auto fresh = first.allocate({1 + blocks.size() % 7, 1})) blocks.push_back(fresh);
    REQUIRE(blocks.size() == 1170);
    arena_type memory{std::move(first)};
    for (const auto& block : blocks) {
        for (std::size_t away = 0; away != 7; ++away)
            for (std::size_t size = 0; size != 9; ++size)
                for (const std::uint32_t number : {block.metadata.number, block.metadata.number + 1, 0U}) {
                    auto other = block;
                    other.address = static_cast<std::byte*>(block.address) + away;
                    other.size = size;
                    other.metadata.number = number;
                    const bool same = away == 0 && size == block.size && number != block.metadata.number + 1;
                    REQUIRE(memory.is_live(other) == same);
                }
    }
    std::size_t listed = 0;
    memory.for_each_block([&](void* address, std::size_t size) {
        CHECK(blocks[listed].address == address);
        CHECK(blocks[listed].size == size);
        ++listed;
    });
    CHECK(listed == blocks.size());
    for (const auto& block : blocks) memory.deallocate(block);
    CHECK(noted::take().empty());
    for (const auto& block : blocks) {
        CHECK_FALSE(memory.is_live(block));
        CHECK_FALSE(memory.is_live({block.address, 0}));
        auto emptied = block;
        emptied.size = 0;
        memory.deallocate(emptied);
        memory.deallocate({block.address, 0});
        CHECK(noted::take().empty());
        memory.deallocate(block);
        CHECK(noted::only(misuse::not_live, arena_type::address_model::position(block.address), block.size));
    }
    std::size_t again = 0;
    while (memory.allocate({7, 1})) ++again;
    CHECK(again == blocks.size());  // no slot was freed twice
}

TEST_CASE_TEMPLATE(
    "checked: a pool allocates the slots that it allocates without hardening", Pool,
    allot::pool<allot::pool_options{.slot = 24, .align = 8, .store = allot::pool_store::in_band}>,
    allot::pool<allot::pool_options{.slot = 20, .count = 90, .align = 4, .store = allot::pool_store::index_stack}>) {
    noted::take();
    using checked_arena = allot::arena<allot::host::heap, Pool, allot::growth::none<>, checked, noted>;
    checked_arena first{{}, 4003};
    std::minstd_rand random{7};
    std::vector<typename checked_arena::block_type> blocks;
    const auto use = [&](checked_arena& memory, allot::arena<allot::host::heap, Pool>& plain, auto& plain_blocks) {
        const auto distance = [](const auto& arena, const auto& block) {
            return static_cast<std::byte*>(block.address) - static_cast<std::byte*>(arena.regions()[0].base);
        };
        for (int call = 0; call != 2000; ++call) {
            if (random() % 9 < 5) {
                const allot::layout wanted{random() % 26, std::size_t{1} << random() % 5};
                const auto ours = memory.allocate(wanted);
                const auto model = plain.allocate(wanted);
                REQUIRE(static_cast<bool>(ours) == static_cast<bool>(model));
                CHECK(memory.diagnose(wanted) == plain.diagnose(wanted));
                if (!ours) continue;
                REQUIRE(distance(memory, ours) == distance(plain, model));
                std::memset(ours.address, 0xFF, 20);
                blocks.push_back(ours);
                plain_blocks.push_back(model);
            } else if (!blocks.empty()) {
                const std::size_t which = random() % blocks.size();
                std::memset(blocks[which].address, static_cast<int>(random() % 256), 20);
                memory.deallocate(std::exchange(blocks[which], blocks.back()));
                plain.deallocate(std::exchange(plain_blocks[which], plain_blocks.back()));
                blocks.pop_back();
                plain_blocks.pop_back();
            }
        }
        std::size_t holes = 0, plain_holes = 0, listed = 0;
        memory.for_each_hole([&](void*, std::size_t size) { holes += size; });
        plain.for_each_hole([&](void*, std::size_t size) { plain_holes += size; });
        memory.for_each_block([&](void*, std::size_t) { ++listed; });
        CHECK(holes == plain_holes);
        CHECK(listed == blocks.size());
    };
    allot::arena<allot::host::heap, Pool> plain{{}, 4003};
    std::vector<typename decltype(plain)::block_type> plain_blocks;
    use(first, plain, plain_blocks);
    checked_arena second{std::move(first)};
    use(second, plain, plain_blocks);
    CHECK_FALSE(first.allocate({1, 1}));
    CHECK(noted::take().empty());
}

TEST_CASE("checked: a write to a free slot of a pool changes no later block") {
    noted::take();
    using arena_type =
        allot::arena<allot::host::heap,
                     allot::pool<allot::pool_options{.slot = 24, .align = 8, .store = allot::pool_store::in_band}>,
                     allot::growth::none<>, checked, noted>;
    arena_type memory{{}, 240};
    std::vector<arena_type::block_type> blocks;
    while (const auto fresh = memory.allocate({24, 8})) blocks.push_back(fresh);
    REQUIRE(blocks.size() == 10);
    for (const auto& block : blocks) memory.deallocate(block);
    const auto* const base = static_cast<std::byte*>(memory.regions()[0].base);
    std::memset(memory.regions()[0].base, 0x41, 240);
    std::vector<bool> seen(10);
    while (const auto fresh = memory.allocate({24, 8})) {
        const auto distance = static_cast<std::size_t>(static_cast<std::byte*>(fresh.address) - base);
        REQUIRE(distance < 240);
        CHECK_FALSE(seen[distance / 24]);
        seen[distance / 24] = true;
    }
    CHECK(std::count(seen.begin(), seen.end(), true) == 10);
    CHECK(noted::take().empty());
}

TEST_CASE_TEMPLATE("checked: a block below a hole that grew beyond the earlier end of the region is freed", Strategy,
                   allot::best_fit<in_band>, allot::deferred<allot::best_fit<in_band>>) {
    noted::take();
    using arena_type = typename in_place<Strategy>::arena_type;
    arena_type memory{allot::host::virtual_memory{std::size_t{1} << 27}};
    const auto below = memory.allocate({5000, 8}), freed = memory.allocate({5000, 8});
    memory.deallocate(freed);                                         // the arena knows the end of the region now
    const auto above = memory.allocate({100, std::size_t{1} << 25});  // and the region grows, with a hole below
    REQUIRE(below);
    REQUIRE(above);
    memory.deallocate(below);
    CHECK(noted::take().empty());
    CHECK_FALSE(memory.is_live(below));
    memory.deallocate(above);
    CHECK(noted::take().empty());
}
