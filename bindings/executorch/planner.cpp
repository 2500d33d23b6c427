// SPDX-License-Identifier: BSL-1.0
// liballot_planner.so: allot's planner behind functions of C, for programs that plan when a model is exported.
#include "planner.h"

#include <allot/plan/memories.hpp>

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

/// Calls `work`, which returns the message of a failure or an empty text. Returns the result of a function of C.
template <class Work>
int guarded(allot_plan_result* result, Work work) {
    *result = {};
    try {
        write(result, work());
    } catch (const std::exception& why) {
        write(result, why.what());
    }
    return result->message[0] == 0 ? 0 : -1;
}

std::vector<allot::plan_buffer> read(const allot_plan_buffer* buffers, std::size_t count) {
    std::vector<allot::plan_buffer> given;
    for (std::size_t i = 0; i != count; ++i)
        given.push_back({buffers[i].size, {buffers[i].from, buffers[i].until}, buffers[i].align});
    return given;
}

std::string text_of(allot::plan_error error) { return "buffer " + std::to_string(error.which) + ": " + error.what(); }

}  // namespace

extern "C" int allot_plan(const allot_plan_buffer* buffers, size_t count, uint64_t effort, uint64_t* offsets,
                          allot_plan_result* result) {
    return guarded(result, [&]() -> std::string {
        const auto given = read(buffers, count);
        const auto made = allot::plan({.buffers = given}, {.effort = effort});
        if (!made) return text_of(made.error());
        for (std::size_t i = 0; i != count; ++i) offsets[i] = made->places[i].offset;
        result->peak = made->peak;
        result->bound = made->bound;
        return {};
    });
}

extern "C" int allot_plan_memories(const allot_plan_buffer* buffers, size_t count, const uint64_t* allowed,
                                   const uint64_t* capacities, size_t memories, uint64_t effort, uint32_t* chosen,
                                   uint64_t* offsets, allot_plan_result* result) {
    return guarded(result, [&]() -> std::string {
        const auto given = read(buffers, count);
        std::vector<allot::plan_memory> in;
        for (std::size_t m = 0; m != memories; ++m) in.push_back({.capacity = capacities[m], .cost = m});
        const auto made = allot::plan_memories(
            {.buffers = {.buffers = given}, .memories = in, .allowed = {allowed, count}}, {.effort = effort});
        if (!made) return text_of(made.error());
        if (made->unplaced != 0)
            return std::to_string(made->unplaced) + " of " + std::to_string(count) + " buffers fit no memory";
        for (std::size_t i = 0; i != count; ++i) {
            chosen[i] = made->places[i].memory;
            offsets[i] = made->places[i].offset;
        }
        return {};
    });
}
