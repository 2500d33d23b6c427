// A plan by the compiler of buffers that are none.
// refused: allot: no plan can be made of these buffers: plan_refused<reason, buffer> names the reason and a buffer
#include <allot/plan.hpp>

#ifdef MISUSE
static constexpr allot::plan_buffer buffers[] = {{.size = 4, .live = {1, 1}}};
#else
static constexpr allot::plan_buffer buffers[] = {{.size = 4, .live = {1, 2}}};
#endif
static constexpr auto layout = allot::plan<buffers>();

int main() { return layout.peak == 4 ? 0 : 1; }
