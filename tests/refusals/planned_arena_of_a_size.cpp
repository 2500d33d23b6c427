// A planned arena gets its size from the plan.
// refused: allot: an arena over planned<> takes a plan, which has the size: arena{device, plan}
// only
#include <allot/allot.hpp>
#include <allot/plan.hpp>

using namespace allot::literals;

static constexpr allot::plan_buffer buffers[] = {{.size = 64, .live = {0, 2}}};

int main() {
#ifdef MISUSE
    allot::arena<allot::host::heap, allot::planned<>> memory{{}, 4_KiB};
#else
    const auto made = allot::plan({.buffers = buffers});
    if (!made) return 1;
    allot::arena<allot::host::heap, allot::planned<>> memory{{}, *made};
#endif
}
