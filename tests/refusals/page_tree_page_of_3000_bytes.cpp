// A page that is not a power of two.
// refused: allot: page_tree_options::page must be a power of two
#include <allot/strategy/page_tree.hpp>

int main() {
#ifdef MISUSE
    constexpr allot::page_tree_options options{.page = 3000, .count = 4};
#else
    constexpr allot::page_tree_options options{.page = 4096, .count = 4};
#endif
    allot::page_tree<options> strategy;
    return strategy.insert({0, 65536}) ? 0 : 1;
}
