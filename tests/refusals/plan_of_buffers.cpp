// The planner takes a problem, because buffers are a part of it.
// refused: allot: plan takes a problem, whose member has the buffers: plan({.buffers = buffers})
// only
#include <allot/plan.hpp>

static constexpr allot::plan_buffer buffers[] = {{.size = 64, .live = {0, 2}}};

int main() {
#ifdef MISUSE
    return allot::plan(buffers) ? 0 : 1;
#else
    return allot::plan({.buffers = buffers}) ? 0 : 1;
#endif
}
