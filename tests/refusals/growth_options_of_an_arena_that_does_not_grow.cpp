// Options of growth for an arena that does not grow.
// refused: allot: growth::none does not grow: remove its growth_options
// only
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr allot::growth_options options{.limit = 4096};
#else
    constexpr allot::growth_options options;
#endif
    using arena = allot::arena<allot::host::heap, allot::bump<>, allot::growth::none<options>>;
    arena memory{{}, 1024};
    return memory ? 0 : 1;
}
