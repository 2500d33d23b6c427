// A planned arena never reclaims blocks, so hardening has no effect.
// refused: allot: a planned arena neither grows nor takes blocks back
// within: 12
#include <allot/arena/hardening.hpp>
#include <allot/plan.hpp>

static constexpr allot::plan_buffer buffers[] = {{.size = 1000, .live = {0, 2}}};
static constexpr auto layout = allot::plan<buffers>();
using device = allot::host::static_storage<layout.peak, layout.align>;

int main() {
#ifdef MISUSE
    allot::arena<device, allot::planned<layout>, allot::growth::none<>,
                 allot::arena_options{.hardening = allot::hardening::checked}>
        arena;
#else
    allot::arena<device, allot::planned<layout>> arena;
#endif
    return static_cast<int>(arena.size());
}
