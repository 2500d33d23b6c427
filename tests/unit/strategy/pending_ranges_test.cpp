#include <allot/strategy/detail/pending_ranges.hpp>

#include <doctest/doctest.h>

#include <random>
#include <vector>

// The ranges are compared with an array of one use for each byte. With room for all ranges, each byte has exactly its
// queues. Without, it may have more, and never fewer.

namespace {

using allot::detail::pending_use, allot::detail::queue_set, allot::detail::epoch;
constexpr unsigned size = 60;

template <std::size_t Capacity>
struct compared {
    using ranges_type = allot::detail::pending_ranges<unsigned, Capacity>;
    ranges_type ranges;
    std::vector<pending_use> bytes = std::vector<pending_use>(size);

    void add(unsigned low, unsigned high, const pending_use& use) {
        ranges.add(low, high, use);
        for (unsigned i = low; i != high; ++i) {
            if (use.queues == 0 && bytes[i].queues == 0) continue;
            if (bytes[i].epoch == ranges_type::until_freed || bytes[i].epoch < use.epoch) bytes[i].epoch = use.epoch;
            bytes[i].queues |= use.queues;
        }
    }
    void take(unsigned low, unsigned high) {
        queue_set expected = 0, found = 0;
        for (unsigned i = low; i != high; ++i) {
            expected |= bytes[i].queues;
            bytes[i] = {};
        }
        ranges.take(low, high, [&](const pending_use& use) { found |= use.queues; });
        CHECK((expected & ~found) == 0);
        if (Capacity == 0) CHECK(found == expected);
    }
    void settle(const epoch* known) {
        ranges.erase_if([&](const pending_use& use) { return use.unknown(known) == 0; });
        for (pending_use& one : bytes)
            if (one.unknown(known) == 0) one = {};
    }
    void compare() {
        bool none = true;
        for (unsigned i = 0; i != size; ++i) {
            pending_use found;
            ranges.all_of(i, i + 1, [&](const pending_use& use) {
                CHECK(found.queues == 0);  // one range for each byte
                found = use;
                return true;
            });
            CHECK((bytes[i].queues & ~found.queues) == 0);
            if (bytes[i].queues != 0) CHECK(found.epoch >= bytes[i].epoch);
            if (Capacity == 0 && bytes[i].queues != 0) {
                CHECK(found.queues == bytes[i].queues);
                CHECK((found.epoch == ranges_type::until_freed) == (bytes[i].epoch == ranges_type::until_freed));
                bytes[i].epoch = found.epoch;  // later if a neighbor of the same queues is
            }
            if (bytes[i].queues != 0) none = false;
        }
        if (!none) CHECK_FALSE(ranges.empty());
    }
};

template <std::size_t Capacity>
void play(unsigned seed) {
    std::mt19937 random{seed};
    compared<Capacity> both;
    CHECK(both.ranges.prepare());
    epoch now = 1;
    for (int step = 0; step != 300; ++step) {
        const auto low = static_cast<unsigned>(random() % size);
        const auto high = static_cast<unsigned>(low + 1 + random() % (size - low));
        const auto queues = static_cast<queue_set>(random() % 8);
        switch (random() % 8) {
            case 0:
            case 1:
            case 2: both.add(low, high, {++now, queues}); break;
            case 3: both.add(low, high, {compared<Capacity>::ranges_type::until_freed, queues}); break;
            case 4: {
                const epoch known[] = {now - random() % 5, now - random() % 5, now - random() % 5};
                both.settle(known);
                break;
            }
            default: both.take(low, high); break;
        }
        both.compare();
    }
    both.take(0, size);
    CHECK(both.ranges.empty());
}

constexpr bool is_usable_in_constant_expressions() {
    allot::detail::pending_ranges<unsigned, 4> ranges;
    ranges.add(0, 10, {1, 1});
    ranges.add(10, 20, {2, 1});
    unsigned count = 0;
    return ranges.all_of(0, 20, [&](const pending_use& use) { return ++count == 1 && use.epoch == 2; });
}
static_assert(is_usable_in_constant_expressions());

}  // namespace

TEST_CASE("pending_ranges: each byte has the uses that were added since it was taken") {
    for (unsigned seed = 0; seed != 6; ++seed) play<0>(seed);
}

TEST_CASE("pending_ranges: without room for a range, bytes have more uses, and never fewer") {
    for (unsigned seed = 0; seed != 6; ++seed) {
        play<1>(seed);
        play<2>(seed);
        play<5>(seed);
    }
}
