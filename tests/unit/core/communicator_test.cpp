// communicator: digests, and their comparison over ranks.
#include <allot/core/communicator.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace {

std::uint64_t digest_of(const std::vector<std::uint64_t>& numbers) {
    allot::rolling_hash digest;
    for (const std::uint64_t number : numbers) digest.add(number);
    return digest.value();
}

/// The first of two ranks. `other` is what the second one passes.
struct two_ranks {
    std::vector<std::uint64_t> other;
    long fails_with = 0;
    [[nodiscard]] int rank() const noexcept { return 0; }
    [[nodiscard]] int size() const noexcept { return 2; }
    [[nodiscard]] long maximum(std::span<std::uint64_t> values) noexcept {
        for (std::size_t i = 0; i != values.size(); ++i) values[i] = std::max(values[i], other[i]);
        return fails_with;
    }
};
static_assert(allot::communicator<two_ranks>);

two_ranks beside(std::uint64_t digest, std::uint64_t number) { return {{digest, ~digest, number, ~number}}; }

}  // namespace

TEST_CASE("communicator: a digest depends on all numbers and on their order, and is the same on every machine") {
    CHECK(digest_of({1, 2}) != digest_of({2, 1}));
    CHECK(digest_of({1, 2}) != digest_of({3, 2}));
    CHECK(digest_of({1}) != digest_of({1, 0}));
    CHECK(digest_of({}) == 0x9E37'79B9'7F4A'7C15U);
    CHECK(digest_of({1, 2, 3}) == 0x2AB2'B1C2'04C2'D72AU);
}

TEST_CASE("communicator: a comparison returns whether the digests are equal, and the range of the numbers") {
    for (const std::uint64_t other : {5U, 6U, 7U}) {
        two_ranks ranks = beside(other, 10);
        const allot::comparison found = allot::compare_ranks(ranks, 6, 20);
        CHECK(found.error == 0);
        CHECK(found.equal == (other == 6));
        CHECK(found.least == 10);
        CHECK(found.greatest == 20);
    }
    two_ranks ranks = beside(6, 30);
    ranks.fails_with = 17;
    CHECK(allot::compare_ranks(ranks, 6, 20).error == 17);
}
