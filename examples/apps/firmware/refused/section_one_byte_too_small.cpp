// SPDX-License-Identifier: BSL-1.0
// A section that is one byte too small; the message contains the number.
// refused: plan_shortfall<1>
#include "../layout.hpp"

#ifdef MISUSE
constexpr std::size_t missing = 1;
#else
constexpr std::size_t missing = 0;
#endif

// The planner minimizes the bytes in slow memory first. With one byte less, it also finds a lower peak.
constexpr std::size_t slow = firmware::layout<firmware::boards::mps2_an386>::plan.needs[1].peak;
constexpr std::size_t least = firmware::layout<firmware::options{.slow_bytes = slow - 1}>::plan.needs[1].peak;

constexpr firmware::options options{.slow_bytes = least - missing};
static_assert(firmware::layout<options>::slow.peak == options.slow_bytes);

int main() {}
