// A planned arena refers to its plan, which must outlive it.
// refused: allot: a planned arena refers to its plan: give the plan a name: const auto layout = made->in(0)
// only
#include <allot/allot.hpp>
#include <allot/plan.hpp>

static constexpr allot::plan_memory memories[] = {{.capacity = 64}, {.cost = 1}};
static constexpr allot::plan_buffer buffers[] = {{.size = 64, .live = {0, 2}}};

int main() {
    const auto made = allot::plan_memories({.buffers = {.buffers = buffers}, .memories = memories});
    if (!made) return 1;
#ifdef MISUSE
    allot::arena<allot::host::heap, allot::planned<>> fast{{}, made->in(0)};
#else
    const auto layout = made->in(0);
    allot::arena<allot::host::heap, allot::planned<>> fast{{}, layout};
#endif
    return fast.at(0) ? 0 : 1;
}
