// algorithms: the sorts, heaps and searches of the planners agree with those of the standard library.
#include <allot/plan/detail/algorithms.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace {

using numbers = std::vector<std::uint64_t>;

/// Numbers below `limit`, so that a small limit makes equal ones.
numbers some(std::mt19937_64& random, std::size_t count, std::uint64_t limit) {
    numbers made(count);
    for (std::uint64_t& each : made) each = random() % limit;
    return made;
}

}  // namespace

TEST_CASE("algorithms: sorts numbers in ascending order, and by a comparison") {
    std::mt19937_64 random{1};
    for (std::size_t count = 0; count != 70; ++count) {
        const numbers given = some(random, count, count % 2 == 0 ? 5 : 1000);
        numbers ascending = given, sorted = given, scratch(count), digits = given;
        std::sort(ascending.begin(), ascending.end());
        allot::detail::sort(sorted.data(), count);
        CHECK(sorted == ascending);
        allot::detail::sort_by(digits.data(), scratch.data(), count, [](std::uint64_t n) { return n; });
        CHECK(digits == ascending);
        allot::detail::sort(sorted.data(), count, [](std::uint64_t a, std::uint64_t b) { return a > b; });
        CHECK(std::equal(sorted.begin(), sorted.end(), ascending.rbegin(), ascending.rend()));
    }
}

TEST_CASE("algorithms: the number at a position of the ascending order") {
    std::mt19937_64 random{4};
    for (std::size_t count = 1; count != 70; ++count)
        for (const std::uint64_t limit : {std::uint64_t{1}, std::uint64_t{5}, std::uint64_t{1000}, ~std::uint64_t{0}}) {
            const numbers given = some(random, count, limit);
            numbers ascending = given;
            std::sort(ascending.begin(), ascending.end());
            for (std::size_t nth = 0; nth != count; ++nth) {
                numbers changed = given;
                CHECK(allot::detail::nth_smallest(changed.data(), count, nth) == ascending[nth]);
            }
        }
}

TEST_CASE("algorithms: the front of a heap is the largest item") {
    const auto is_less = [](std::uint64_t a, std::uint64_t b) { return a < b; };
    std::mt19937_64 random{2};
    numbers heap(100), items;
    for (int step = 0; step != 2000; ++step) {
        if (items.size() != heap.size() && (items.empty() || random() % 2 == 0)) {
            items.push_back(random() % 50);
            heap[items.size() - 1] = items.back();
            allot::detail::push_heap(heap.data(), items.size() - 1, is_less);
        } else {
            const auto largest = std::max_element(items.begin(), items.end());
            allot::detail::pop_heap(heap.data(), items.size(), is_less);
            CHECK(heap[items.size() - 1] == *largest);
            items.erase(largest);
        }
        if (!items.empty()) CHECK(heap[0] == *std::max_element(items.begin(), items.end()));
    }
}

TEST_CASE("algorithms: finds the first position of a sorted array") {
    std::mt19937_64 random{3};
    for (std::size_t count = 0; count != 20; ++count) {
        numbers sorted = some(random, count, 12);
        std::sort(sorted.begin(), sorted.end());
        for (std::uint64_t wanted = 0; wanted != 13; ++wanted) {
            const auto expected = std::lower_bound(sorted.begin(), sorted.end(), wanted) - sorted.begin();
            CHECK(allot::detail::first_position(count, [&](std::size_t i) { return sorted[i] >= wanted; }) ==
                  static_cast<std::size_t>(expected));
        }
    }
}

TEST_CASE("algorithms: finds the greatest common divisor, and the smaller and larger of two values") {
    for (std::uint64_t a = 0; a != 40; ++a)
        for (std::uint64_t b = 0; b != 40; ++b) {
            CHECK(allot::detail::common_divisor(a, b) == std::gcd(a, b));
            CHECK(allot::detail::smaller(a, b) == std::min(a, b));
            CHECK(allot::detail::larger(a, b) == std::max(a, b));
        }
}
