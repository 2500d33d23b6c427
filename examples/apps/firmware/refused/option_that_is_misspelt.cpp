// SPDX-License-Identifier: BSL-1.0
// A misspelled option.
// refused: slow_byte
#include "../config.hpp"

#ifdef MISUSE
constexpr firmware::options options{.slow_byte = 4096};
#else
constexpr firmware::options options{.slow_bytes = 4096};
#endif

int main() { return options.slow_bytes == 4096 ? 0 : 1; }
