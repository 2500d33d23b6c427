// A plan in a constant expression of a buffer with an empty lifetime.
// refused: allot: invalid planning problem: fix the buffer that plan_refused<reason, buffer> names
#include <allot/plan.hpp>

#ifdef MISUSE
static constexpr allot::plan_buffer buffers[] = {{.size = 4, .live = {1, 1}}};
#else
static constexpr allot::plan_buffer buffers[] = {{.size = 4, .live = {1, 2}}};
#endif
static constexpr auto layout = allot::plan<buffers>();

int main() { return layout.peak == 4 ? 0 : 1; }
