// A compile-time plan that needs more bytes than its capacity; the message contains the shortfall.
// refused: plan_shortfall<100>
#include <allot/plan.hpp>

static constexpr allot::plan_buffer buffers[] = {{.size = 600, .live = {0, 3}}, {.size = 300, .live = {2, 5}}};
#ifdef MISUSE
static constexpr auto layout = allot::plan<buffers, allot::plan_options{.capacity = 800}>();
#else
static constexpr auto layout = allot::plan<buffers, allot::plan_options{.capacity = 900}>();
#endif

int main() { return layout.peak == 900 ? 0 : 1; }
