// Calls each planner of allot::planner, and one in a constant expression.
#include <allot/plan.hpp>
#include <allot/plan/plan.hpp>  // for the plan in a constant expression

namespace {

constexpr allot::plan_buffer buffers[] = {{.size = 600, .live = {0, 3}, .align = 4},
                                          {.size = 300, .live = {2, 5}, .align = 8},
                                          {.size = 600, .live = {4, 6}}};
constexpr auto layout = allot::plan<buffers>();
constexpr std::uint64_t expected = 900;

bool plans() {
    const allot::plan_problem problem{.buffers = buffers};
    const auto made = allot::plan(problem);
    const auto again = allot::replan(problem, made->places, 1);
    const auto later = allot::replan_at(problem, made->places, 2);
    const allot::symbolic_buffer sized[] = {{.size = {allot::plan_symbol{0}, 8}, .live = {0, 2}}};
    const std::uint64_t bounds[] = {100};
    auto shapes = allot::plan_symbolic({.buffers = sized, .bounds = bounds});
    const auto bound = shapes->bind({0}, 50, 0);
    return made->peak == expected && again->peak == expected && later->peak == expected && bound->peak == 400;
}

bool plans_memories() {
    const allot::plan_memory memories[] = {{.capacity = 600}, {.cost = 1}};
    const allot::memories_problem problem{.buffers = {.buffers = buffers}, .memories = memories};
    const auto made = allot::plan_memories(problem);
    const allot::plan_access accesses[] = {{.buffer = 0, .step = 0, .writes = true}, {.buffer = 0, .step = 2}};
    const allot::moves_problem moves{.memories = problem, .accesses = accesses};
    const auto moved = allot::plan_moves(moves);
    return made->spilled == 300 && allot::validate_moves(moves, *moved).kind == allot::moves_violation_kind::none;
}

bool plans_pages() {
    const std::size_t paged[] = {1};
    const allot::mixed_problem problem{.buffers = {.buffers = buffers}, .page_size = 128, .paged = paged};
    const auto made = allot::plan_mixed(problem);
    return allot::validate_mixed(problem, *made, made->peak).kind == allot::mixed_violation_kind::none;
}

bool makes_a_guide() {
    const allot::pass_request requests[] = {{.size = 100, .until = 2}, {.size = 200, .until = 2}};
    return allot::make_guide(requests)->slots.size() == 3;
}

}  // namespace

int main() {
    static_assert(layout.peak == expected);
    return plans() && plans_memories() && plans_pages() && makes_a_guide() ? 0 : 1;
}
