// Checks every law for every row of a table.
#pragma once

#include "laws.hpp"

#include <doctest/doctest.h>

#include <span>

namespace laws {

/// A combination that a user can write.
struct row {
    const char* name;
    std::unique_ptr<subject> (*make)(variant);
    bool grows = false;
    bool predicts = true;  // has bytes_for, and can be constructed over any number of bytes
};

template <class Subject>
std::unique_ptr<subject> make(variant how) {
    return std::make_unique<Subject>(how);
}

/// A device that fails the first acquisition leaves an empty subject, which reports the device's code.
inline void start_without_memory(const row& each) {
    const std::unique_ptr<subject> empty = each.make({.fail_on = 1});
    if (empty->acquisitions() != 1) return;  // the subject grows, or has no device
    for (const std::size_t align : {1u, 16u, 4096u}) {
        CHECK(empty->allocate({64, align}) == nothing);
        const allot::diagnosis error = empty->diagnose({64, align});
        CHECK(error.reason == refusal::device_refused);
        CHECK(error.device_error == empty->device_error());
    }
    CHECK(empty->allocate({0, 16}) == nothing);
    CHECK(empty->allocate({64, 3}) == nothing);
    empty->reset();
    empty->move();
    CHECK(empty->allocate({64, 16}) == nothing);
}

/// How much a row is played.
struct effort {
#ifdef __OPTIMIZE__
    number seeds = 3;
#else
    number seeds = 2;
#endif
    std::size_t sequences = 3000, failures = 200;
};

inline void judge(std::span<const row> rows, effort much = {}) {
    for (const row& each : rows) {
        INFO(std::string{each.name});
        const auto judge_row = [&] {
            std::size_t served = 0, sequences = 0, refused = 2, predicted = 100;
            for (number seed = 1; seed <= much.seeds; ++seed)
                served += play_random(each.make, seed, times(1000)).served;
            for (const number unit : {1u, 16u})
                sequences += play_all(each.make, unit, 14 * unit, times(much.sequences));
            if (each.grows) {
                refused = fail_each_acquisition(each.make, 1, times(much.failures));
            } else {
                ask_too_much(each.make, {64, 16});
                start_without_memory(each);
                if (each.predicts) start_with_little(each.make);
                if (each.predicts) predicted = predict_capacity(each.make);
            }
            // Enough was checked.
            CHECK(served > 200 * much.seeds);
            CHECK(sequences >= much.sequences * 2 / 5);
            CHECK(refused >= 2);
            CHECK(predicted > 30);
        };
        with_laws(judge_row, [](const std::string& law) { FAIL_CHECK(law); });
    }
}

}  // namespace laws
