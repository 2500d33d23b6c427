// A size that exceeds the address space of the target.
// refused: size_does_not_fit_on_this_target
#include <allot/allot.hpp>

using namespace allot::literals;

int main() {
#ifdef MISUSE
    return static_cast<int>(99'999'999'999'999_GiB);
#else
    return static_cast<int>(1'000_KiB - 1'024'000_B);
#endif
}
