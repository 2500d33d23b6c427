// SPDX-License-Identifier: BSL-1.0
// Tests of allot's planner in the interface of TensorFlow Lite Micro, here a stand-in of it.
#include "allot_planner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace {
std::string printed;  // by MicroPrintf
}

void MicroPrintf(const char* format, ...) {
    char line[200];
    va_list values;
    va_start(values, format);
    std::vsnprintf(line, sizeof line, format, values);
    va_end(values);
    printed += line;
    printed += '\n';
}

namespace {

struct buffer {
    int size, first, last, offset = -1;  // -1: not prescribed
};

/// Adds the buffers and returns the offsets; empty if one of the calls fails.
std::vector<int> offsets_of(tflite::MicroMemoryPlanner& planner, const std::vector<buffer>& of,
                            std::vector<unsigned char>& scratch) {
    printed.clear();
    if (planner.Init(scratch.data(), static_cast<int>(scratch.size())) != kTfLiteOk) return {};
    for (const buffer& each : of)
        if ((each.offset < 0 ? planner.AddBuffer(each.size, each.first, each.last)
                             : planner.AddBuffer(each.size, each.first, each.last, each.offset)) != kTfLiteOk)
            return {};
    CHECK(planner.GetBufferCount() == static_cast<int>(of.size()));
    std::vector<int> made(of.size());
    for (std::size_t i = 0; i != of.size(); ++i)
        if (planner.GetOffsetForBuffer(static_cast<int>(i), &made[i]) != kTfLiteOk) return {};
    return made;
}

/// Checks each pair of buffers, and returns the end of the highest one.
std::size_t judge(const std::vector<buffer>& of, const std::vector<int>& offsets) {
    REQUIRE(offsets.size() == of.size());
    int highest = 0;
    for (std::size_t i = 0; i != of.size(); ++i) {
        if (of[i].offset >= 0) CHECK(offsets[i] == of[i].offset);
        else CHECK(offsets[i] % 16 == 0);
        CHECK(offsets[i] >= 0);
        highest = std::max(highest, offsets[i] + of[i].size);
        for (std::size_t j = 0; j != i; ++j) {
            if (of[i].first > of[j].last || of[j].first > of[i].last) continue;
            const bool apart = offsets[i] + of[i].size <= offsets[j] || offsets[j] + of[j].size <= offsets[i];
            CHECK(apart);
        }
    }
    return static_cast<std::size_t>(highest);
}

TEST_CASE("tflite_micro: the planner finds the lower bound where the greedy planner does not") {
    // The model of interpreter_test.py: the greedy planner of TensorFlow Lite Micro needs 640 bytes.
    const std::vector<buffer> model{{128, 0, 3}, {112, 1, 4}, {112, 2, 5}, {80, 3, 6},
                                    {112, 4, 6}, {112, 5, 6}, {112, 6, 6}};
    std::vector<unsigned char> scratch(65'536);
    allot::tflite_micro::planner planner;
    CHECK(judge(model, offsets_of(planner, model, scratch)) == 432);
    CHECK(planner.GetMaximumMemorySize() == 432);
    CHECK(planner.summary().status == allot::plan_status::optimal);
    CHECK(!planner.preserves_all_tensors());
    planner.PrintMemoryPlan();
    CHECK(printed.find("buffer 0: 128 bytes at ") != std::string::npos);
    CHECK(printed.find(", steps 0 to 3\n") != std::string::npos);
    CHECK(printed.find("allot: 7 buffers in 432 bytes, lower bound 432: optimal\n") != std::string::npos);
}

TEST_CASE("tflite_micro: prescribed offsets are kept, and the other buffers fit around them") {
    const std::vector<buffer> model{{64, 0, 2, 100}, {32, 1, 3}, {48, 0, 1}, {16, 2, 4, 4}};
    std::vector<unsigned char> scratch(8'192);
    allot::tflite_micro::planner planner;
    CHECK(judge(model, offsets_of(planner, model, scratch)) == 164);
    CHECK(planner.GetMaximumMemorySize() == 164);
}

TEST_CASE("tflite_micro: random buffers, with any amount of memory to plan in and at any address") {
    std::mt19937 random{7};
    for (int turn = 0; turn != 60; ++turn) {
        std::vector<buffer> model;
        for (int i = 0, count = 1 + static_cast<int>(random() % 30); i != count; ++i) {
            const int first = static_cast<int>(random() % 20);
            model.push_back({static_cast<int>(1 + random() % 50) * 16, first, first + static_cast<int>(random() % 6)});
        }
        std::vector<unsigned char> scratch(random() % 20'000);
        const std::size_t moved = scratch.empty() ? 0 : random() % std::min<std::size_t>(scratch.size(), 16);
        std::vector<unsigned char> at_odd_address(scratch.begin() + static_cast<std::ptrdiff_t>(moved), scratch.end());
        allot::tflite_micro::planner planner{random() % 2 == 0 ? 0u : 5'000u};
        const std::vector<int> offsets = offsets_of(planner, model, at_odd_address);
        if (offsets.empty()) {
            CHECK(printed == "allot: the arena has no room to plan in\n");
            CHECK(at_odd_address.size() < 400 * model.size() + 4'000);
            continue;
        }
        CHECK(judge(model, offsets) == planner.GetMaximumMemorySize());
        CHECK(planner.GetMaximumMemorySize() >= planner.summary().bound);
    }
}

TEST_CASE("tflite_micro: a planner can plan again") {
    std::vector<unsigned char> scratch(8'192);
    allot::tflite_micro::planner planner;
    CHECK(judge({{32, 0, 1}, {32, 1, 2}}, offsets_of(planner, {{32, 0, 1}, {32, 1, 2}}, scratch)) == 64);
    CHECK(judge({{32, 0, 0}, {48, 1, 2}}, offsets_of(planner, {{32, 0, 0}, {48, 1, 2}}, scratch)) == 48);
}

TEST_CASE("tflite_micro: invalid calls fail with a message") {
    std::vector<unsigned char> scratch(4'096);
    allot::tflite_micro::planner planner;
    int offset = 0;
    const auto start = [&] {
        printed.clear();
        planner.Init(scratch.data(), static_cast<int>(scratch.size()));
    };
    start();
    CHECK(planner.AddBuffer(-1, 0, 1) == kTfLiteError);
    CHECK(planner.AddBuffer(16, 2, 1) == kTfLiteError);
    CHECK(planner.AddBuffer(16, 0, 1, -2) == kTfLiteError);
    CHECK(printed == "allot: the buffer is invalid\nallot: the buffer is invalid\n");
    start();
    CHECK(planner.AddBuffer(16, 0, 1) == kTfLiteOk);
    CHECK(planner.GetOffsetForBuffer(1, &offset) == kTfLiteError);
    CHECK(planner.GetOffsetForBuffer(-1, &offset) == kTfLiteError);
    CHECK(planner.GetMaximumMemorySize() == 16);
    CHECK(planner.AddBuffer(16, 0, 1) == kTfLiteError);  // the plan is made
    start();
    CHECK(planner.AddBuffer(16, 0, 1, 0) == kTfLiteOk);  // two prescribed buffers that share bytes at one step
    CHECK(planner.AddBuffer(16, 1, 2, 8) == kTfLiteOk);
    CHECK(planner.GetOffsetForBuffer(0, &offset) == kTfLiteError);
    CHECK(planner.GetMaximumMemorySize() == 0);
    CHECK(!printed.empty());
}

}  // namespace
