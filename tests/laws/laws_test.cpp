// Every row of the table keeps the laws: in random runs of fixed seeds, in every short sequence of calls, and in what
// it predicts about its capacity.
#include "subjects.hpp"

#include <doctest/doctest.h>

namespace {

template <class Play>
void for_each_row(Play&& play) {
    for (const laws::row& each : laws::table) {
        INFO(std::string{each.name});
        try {
            play(each);
        } catch (const laws::broken& law) {
            FAIL_CHECK(std::string{std::string{each.name} + ": " + law.what()});
        }
    }
}

}  // namespace

TEST_CASE("the table is complete") {
    CHECK(std::size(laws::table) == 103);
}

TEST_CASE("random runs keep the laws") {
    for_each_row([](const laws::row& each) {
        std::size_t served = 0;
        for (const laws::number seed : {1u, 2u, 3u, 4u, 5u})
            served += laws::play_random(each.make, seed, laws::times(1500)).served;
        CHECK(served > 500);
    });
}

TEST_CASE("every short sequence keeps the laws") {
    for_each_row([](const laws::row& each) {
        CHECK(laws::play_all(each.make, 1, 8, laws::times(10'000)) > 1000);
        CHECK(laws::play_all(each.make, 16, 224, laws::times(10'000)) > 1000);
    });
}

TEST_CASE("refusals take nothing") {
    for_each_row([](const laws::row& each) {
        if (!each.grows) laws::ask_too_much(each.make, {64, 16});
    });
}

TEST_CASE("a refused acquisition loses nothing") {
    for_each_row([](const laws::row& each) {
        if (each.grows) CHECK(laws::fail_each_acquisition(each.make, 1, laws::times(300)) >= 2);
    });
}

TEST_CASE("an arena whose first acquisition is refused is empty, and knows the device's code") {
    for_each_row([](const laws::row& each) {
        const auto subject = each.make({.fail_on = 1});
        if (subject->acquisitions() != 1) return;  // it grows, or has no device
        for (const std::size_t align : {1u, 16u, 4096u}) {
            CHECK(subject->allocate({64, align}) == laws::nothing);
            const allot::diagnosis why = subject->diagnose({64, align});
            CHECK(why.why == allot::refusal::device_refused);
            CHECK(why.device_error == laws::journal::injected);
        }
        CHECK(subject->allocate({0, 16}) == laws::nothing);
        CHECK(subject->allocate({64, 3}) == laws::nothing);
        subject->reset();
        subject->move();
        CHECK(subject->allocate({64, 16}) == laws::nothing);
    });
}

TEST_CASE("bytes_for is exact") {
    for_each_row([](const laws::row& each) {
        if (each.sized && !each.grows && each.make({})->bytes_for(1, {16, 8}) != 0)
            CHECK(laws::predict_capacity(each.make) > 30);
    });
}
