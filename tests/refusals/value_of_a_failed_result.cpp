// The value of a failed result in a constant expression.
// refused: value_of_a_failed_result
#include <allot/core/result.hpp>

using number = allot::result<int, int>;
#ifdef MISUSE
constexpr number made = number::failure(1);
#else
constexpr number made = 1;
#endif
constexpr int value = *made;

int main() { return value == 1 ? 0 : 1; }
