// A handle is not an address: adding a number to it does not compile.
// refused: handle_offset<int>::address' and 'int')
#include <allot/allot.hpp>

int main() {
    constexpr allot::handle_offset<int>::address at{7, 64};
#ifdef MISUSE
    const auto next = at + 16;
#else
    const auto next = allot::handle_offset<int>::locate(at, 16);
#endif
    return static_cast<int>(next.offset);
}
