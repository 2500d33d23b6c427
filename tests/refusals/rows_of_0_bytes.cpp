// A pointer table whose rows are empty.
// refused: allot: a row has at least one byte
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t row_bytes = 0;
#else
    constexpr std::size_t row_bytes = 1;
#endif
    return static_cast<int>(allot::pointer_table<row_bytes>::row_bytes);
}
