// An option with a name that the options struct does not have.
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
