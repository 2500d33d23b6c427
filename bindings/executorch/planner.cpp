// SPDX-License-Identifier: BSL-1.0
// liballot_planner.so: allot's planner behind a function of C, for programs that plan when a model is exported.
#include "planner.h"

#include <allot/plan.hpp>

#include <cstring>
#include <exception>
#include <string>
#include <string_view>

namespace {

/// Writes a text to the end of the result, shortened to its length.
void write(allot_plan_result* to, std::string_view text) {
    const std::size_t length = std::min(text.size(), sizeof to->message - 1);
    std::memcpy(to->message, text.data(), length);
    to->message[length] = 0;
}

}  // namespace

extern "C" int allot_plan(const allot_plan_buffer* buffers, size_t count, uint64_t effort, uint64_t* offsets,
                          allot_plan_result* result) {
    *result = {};
    try {
        std::vector<allot::plan_buffer> given;
        for (std::size_t i = 0; i != count; ++i)
            given.push_back({buffers[i].size, {buffers[i].from, buffers[i].until}, buffers[i].align});
        const auto made = allot::plan({.buffers = given}, {.effort = effort});
        if (!made) {
            write(result, std::string{"buffer "} + std::to_string(made.error().which) + ": " + made.error().what());
            return -1;
        }
        for (std::size_t i = 0; i != count; ++i) offsets[i] = made->places[i].offset;
        result->peak = made->peak;
        result->bound = made->bound;
        return 0;
    } catch (const std::exception& why) {
        write(result, why.what());
        return -1;
    }
}
