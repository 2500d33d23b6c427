// Options are members of a struct: one that is not there does not compile, whatever it was meant to be.
// refused: candidate
#include <allot/core/options.hpp>

int main() {
#ifdef MISUSE
    constexpr allot::best_fit_options options{.candidate = 2};
#else
    constexpr allot::best_fit_options options{.candidates = 2};
#endif
    return options.candidates == 2 ? 0 : 1;
}
