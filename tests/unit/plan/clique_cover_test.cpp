#include <allot/plan/detail/clique_cover.hpp>

#include "problems.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace {

/// A table with the neighbors of each item in the first rows, and pairs behind them. At first, all sizes are 1.
class table {
public:
    table(std::size_t items, std::size_t pairs)
        : bits_((items + pairs) * width(items)),
          windows_(2 * (items + pairs)),
          sizes_(items, 1),
          scratch_(2 * width(items)) {}

    void connect(std::size_t a, std::size_t b) {
        rows().add(a, b);
        rows().add(b, a);
    }
    void add_pair(std::size_t a, std::size_t b) {
        connect(a, b);
        rows().add(items() + pairs_, a);
        rows().add(items() + pairs_++, b);
    }
    /// Joins the pairs. Returns the number of sets.
    std::size_t join() {
        for (std::size_t row = 0; row != windows_.size() / 2; ++row) rows().find_window(row);
        allot::detail::clique_cover<> cover{rows(), sizes_, scratch_};
        return cover.join(items(), items() + pairs_);
    }
    [[nodiscard]] bool are_connected(std::size_t a, std::size_t b) { return rows().set(a).contains(b); }
    /// Returns the items of a row behind those of the neighbors.
    [[nodiscard]] std::vector<std::size_t> members(std::size_t set) {
        std::vector<std::size_t> made;
        for (std::size_t item = 0; item != items(); ++item)
            if (rows().set(items() + set).contains(item)) made.push_back(item);
        return made;
    }
    [[nodiscard]] std::size_t pairs() const { return pairs_; }
    [[nodiscard]] std::size_t items() const { return sizes_.size(); }
    std::vector<std::uint64_t>& sizes() { return sizes_; }

private:
    static std::size_t width(std::size_t items) { return (items + 63) / 64; }
    allot::detail::item_rows rows() { return {bits_, windows_, width(items())}; }

    std::vector<std::uint64_t> bits_;
    std::vector<std::uint32_t> windows_;
    std::vector<std::uint64_t> sizes_, scratch_;
    std::size_t pairs_ = 0;
};

}  // namespace

TEST_CASE("clique_cover: each pair is in a set, no items of a set share a byte, and sets are no larger than pairs") {
    for (std::uint64_t seed = 1; seed <= problems::times(40); ++seed) {
        CAPTURE(seed);
        problems::random draw{seed};
        const std::size_t items = 2 + draw.index(seed % 4 == 0 ? 150 : 20);
        table of{items, items * items};
        std::vector<std::pair<std::size_t, std::size_t>> pairs;
        const std::uint64_t connected = draw(8), apart = 1 + draw(4);
        for (std::size_t a = 0; a != items; ++a) {
            of.sizes()[a] = 1 + draw(3);
            for (std::size_t b = 0; b != a; ++b) {
                if (draw(8) < connected) of.connect(a, b);
                if (draw(8) >= apart) continue;
                pairs.emplace_back(a, b);
                of.add_pair(a, b);
            }
        }
        const std::size_t sets = of.join();
        REQUIRE(sets <= pairs.size());
        std::size_t count = 0;
        std::vector<bool> is_kept(items * items);
        for (std::size_t set = 0; set != sets; ++set) {
            const std::vector<std::size_t> members = of.members(set);
            count += members.size();
            bool is_clique = true;
            for (const std::size_t a : members)
                for (const std::size_t b : members) {
                    is_clique = is_clique && (a == b || of.are_connected(a, b));
                    is_kept[a * items + b] = true;
                }
            CHECK(is_clique);
        }
        CHECK(count <= 2 * pairs.size());
        for (const auto& [a, b] : pairs) CHECK(is_kept[a * items + b]);
        for (std::size_t set = sets; set != pairs.size(); ++set) CHECK(of.members(set).empty());
    }
}

TEST_CASE("clique_cover: a set takes the largest item first, then the one that leaves the most candidates") {
    // The pair 0, 1 has the candidates 2, 3, 4 and 5. Items 3 and 4 are neighbors, and all candidates are in pairs with
    // 0 and 1.
    const auto joined = [](std::uint64_t size_of_5) {
        table of{6, 9};
        of.sizes()[5] = size_of_5;
        of.add_pair(0, 1);
        for (std::size_t item = 2; item != 6; ++item) of.add_pair(0, item), of.add_pair(1, item);
        of.connect(3, 4);
        REQUIRE(of.join() >= 1);
        return of.members(0);
    };
    CHECK(joined(1) == std::vector<std::size_t>{0, 1, 3, 4});
    CHECK(joined(2) == std::vector<std::size_t>{0, 1, 5});
}

TEST_CASE("clique_cover: a set that counts more items than its pairs have keeps the items of its pairs") {
    table of{8, 1};
    of.add_pair(0, 1);
    for (std::size_t a = 0; a != 8; ++a)
        for (std::size_t b = 0; b != a; ++b) of.connect(a, b);
    CHECK(of.join() == 1);
    CHECK(of.members(0) == std::vector<std::size_t>{0, 1});
}

TEST_CASE("clique_cover: when the visits are spent, the remaining pairs stay pairs") {
    // Each of the pairs between the two triangles is a set, and takes a visit of all later rows.
    const std::size_t between = 2200, items = 2 * between + 6;
    table of{items, between + 6};
    const auto add_triangle = [&](std::size_t from) {
        of.add_pair(from, from + 1);
        of.add_pair(from, from + 2);
        of.add_pair(from + 1, from + 2);
    };
    add_triangle(0);
    for (std::size_t pair = 0; pair != between; ++pair) of.add_pair(3 + 2 * pair, 4 + 2 * pair);
    add_triangle(items - 3);
    CHECK(of.join() == 1 + between + 3);
    CHECK(of.members(0) == std::vector<std::size_t>{0, 1, 2});
    CHECK(of.members(between) == std::vector<std::size_t>{items - 5, items - 4});
    CHECK(of.members(between + 2) == std::vector<std::size_t>{items - 3, items - 1});
    CHECK(of.members(between + 4).empty());
}
