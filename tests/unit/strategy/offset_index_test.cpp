// The index of holes by offset: it agrees with std::set, and a call reads O(log holes) of them.
#include <allot/strategy/best_fit.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace {

using allot::best_fit_options;

/// Records of holes that count how many of them are read.
struct counted_nodes {
    using node = allot::detail::record_index;
    static constexpr node none = allot::detail::no_record;

    [[nodiscard]] std::uint64_t offset(node of) const noexcept { return ++reads, offsets[of]; }
    [[nodiscard]] allot::detail::index_links& note(node of) noexcept { return notes[of]; }
    [[nodiscard]] const allot::detail::index_links& note(node of) const noexcept { return notes[of]; }

    std::vector<std::uint64_t> offsets;
    std::vector<allot::detail::index_links> notes;
    mutable std::size_t reads = 0;
};

/// The most reads of a call on an index of so many holes: a multiple of the logarithm. A list would read them all.
constexpr std::size_t most_reads(std::size_t holes) { return 8 * std::bit_width(holes) + 8; }

void index_agrees_with_a_set(std::size_t holes, bool in_order) {
    counted_nodes nodes;
    allot::detail::offset_index<counted_nodes> index;
    std::set<std::pair<std::uint64_t, counted_nodes::node>> expected;
    std::mt19937 random{static_cast<std::uint32_t>(holes)};
    std::size_t most = 0, sum = 0, calls = 0;
    const auto counted = [&](auto call) {
        nodes.reads = 0;
        const auto result = call();
        most = std::max(most, nodes.reads);
        sum += nodes.reads;
        ++calls;
        return result;
    };
    const auto add = [&](counted_nodes::node n) {
        counted([&] { return index.insert(nodes, n), 0; });
        expected.emplace(nodes.offsets[n], n);
    };
    for (counted_nodes::node n = 0; n != holes; ++n) nodes.offsets.push_back(std::uint64_t{n} * 10 + 5);
    if (!in_order) std::shuffle(nodes.offsets.begin(), nodes.offsets.end(), random);
    nodes.notes.resize(holes);
    for (counted_nodes::node n = 0; n != holes; ++n) add(n);
    for (std::size_t i = 0; i != 2000; ++i) {
        const std::uint64_t at = random() % (holes * 10 + 20);
        const auto found = counted([&] { return index.at_or_below(nodes, at); });
        const auto after = expected.upper_bound({at, counted_nodes::none});
        REQUIRE(found == (after == expected.begin() ? counted_nodes::none : std::prev(after)->second));
        const auto n = static_cast<counted_nodes::node>(random() % holes);
        if (expected.erase({nodes.offsets[n], n}) == 0) add(n);
        else counted([&] { return index.erase(nodes, n), 0; });
    }
    CHECK(most <= 2 * most_reads(holes));
    CHECK(sum <= calls * most_reads(holes));
    for (const auto& [offset, n] : expected) index.erase(nodes, n);
    CHECK(index.at_or_below(nodes, std::uint64_t{holes} * 10) == counted_nodes::none);
}

}  // namespace

TEST_CASE("offset_index: agrees with std::set and reads few of 10, 1,000 and 100,000 holes") {
    for (const std::size_t holes : {10U, 1'000U, 100'000U}) {
        index_agrees_with_a_set(holes, true);
        index_agrees_with_a_set(holes, false);
    }
}

TEST_CASE("offset_index: best_fit makes the same choices with and without it") {
    allot::best_fit<best_fit_options{.granule = 8}> without;
    allot::best_fit<best_fit_options{.granule = 8, .offset_index = true}> with;
    REQUIRE(without.insert({64, 200'000}));
    REQUIRE(with.insert({64, 200'000}));
    std::mt19937 random{3};
    std::vector<std::pair<allot::allocation_of<decltype(without)>, allot::allocation_of<decltype(with)>>> live;
    for (int i = 0; i != 3000; ++i) {
        if (random() % 2 != 0 && !live.empty()) {
            std::swap(live[random() % live.size()], live.back());
            without.deallocate(live.back().first);
            with.deallocate(live.back().second);
            live.pop_back();
            continue;
        }
        const std::size_t size = 1 + random() % 900, align = std::size_t{1} << random() % 7;
        const auto first = without.allocate({size, align});
        const auto second = with.allocate({size, align});
        REQUIRE(first.where == second.where);
        if (first) live.emplace_back(first, second);
    }
    auto moved = std::move(with);
    CHECK_FALSE(with.allocate_at({64, 8}));  // NOLINT(bugprone-use-after-move): it has no offsets
    for (const auto& [first, second] : live) {
        moved.deallocate(second);
        REQUIRE(moved.diagnose_at(second.where).reason == allot::refusal::none);
    }
    CHECK(moved.allocate_at({64, 200'000}));
}
