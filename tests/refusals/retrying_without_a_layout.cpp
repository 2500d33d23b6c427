// The function gets the layout that failed.
// refused: allot: the function of retrying takes the layout that failed, and returns whether it freed memory: bool(layout)
#include <allot/allot.hpp>

int main() {
    allot::arena<allot::host::static_storage<256>, allot::best_fit<>> arena;
#ifdef MISUSE
    allot::retrying memory{arena, []() noexcept { return false; }};
#else
    allot::retrying memory{arena, [](allot::layout) noexcept { return false; }};
#endif
    return memory.allocate({.size = 10}) ? 0 : 1;
}
