// SPDX-License-Identifier: BSL-1.0
// A section that is one byte too small; the message contains the number.
// refused: plan_shortfall<1>
#include "../layout.hpp"

#ifdef MISUSE
constexpr std::size_t missing = 1;
#else
constexpr std::size_t missing = 0;
#endif

constexpr firmware::options options{.slow_bytes =
                                        firmware::layout<firmware::boards::mps2_an386>::plan.needs[1].peak - missing};
static_assert(firmware::layout<options>::slow.peak == options.slow_bytes);

int main() {}
