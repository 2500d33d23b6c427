// Blocks of more words than a subtree has.
// refused: allot: page_tree_options::largest_order is at most 12 with 64-bit words, and 10 with 32-bit words
#include <allot/strategy/page_tree.hpp>

int main() {
#ifdef MISUSE
    constexpr allot::page_tree_options options{.page = 1, .count = 4, .largest_order = 13};
#else
    constexpr allot::page_tree_options options{.page = 1, .count = 4, .largest_order = 10};
#endif
    allot::page_tree<options> strategy;
    return strategy.insert({0, 65536}) ? 0 : 1;
}
