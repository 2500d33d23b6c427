// A best fit that compares no hole.
// refused: allot: best_fit_options::candidates must be at least 1
// alone
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr unsigned candidates = 0;
#else
    constexpr unsigned candidates = 1;
#endif
    allot::arena<allot::host::static_storage<256>, allot::best_fit<allot::best_fit_options{.candidates = candidates}>>
        arena;
    return static_cast<int>(arena.size());
}
