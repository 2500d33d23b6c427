// The error of a successful result in a constant expression.
// refused: error_of_a_successful_result
#include <allot/core/result.hpp>

using number = allot::result<int, int>;
#ifdef MISUSE
constexpr number made = 1;
#else
constexpr number made = number::failure(1);
#endif
constexpr int error = made.error();

int main() { return error == 1 ? 0 : 1; }
