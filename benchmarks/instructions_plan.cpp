// SPDX-License-Identifier: BSL-1.0
// Blocks of a static plan.
#include "instructions.hpp"

#include <allot/plan.hpp>

namespace {

using namespace counting;

constexpr allot::plan_buffer buffers[] = {{.size = 100, .live = {0, 2}}, {.size = 200, .live = {1, 3}}};
constexpr auto planned = allot::plan<buffers>();

struct plan_of_compiler {
    allot::arena<storage, allot::planned<planned>> arena;
    void* allocate(std::size_t) { return arena.at<1>().address; }
};

}  // namespace

std::vector<instructions_case> plan_cases() {
    return {
        {"planned/allot", frame<plan_of_compiler>},
    };
}
