// The third parameter of an arena is a growth, not the options of one.
// refused: allot: the third parameter of an arena is a growth
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    using growth = allot::growth_options;
#else
    using growth = allot::growth::none<>;
#endif
    allot::arena<allot::host::heap, allot::bump<>, growth> arena{{}, 64};
    return static_cast<int>(arena.size());
}
