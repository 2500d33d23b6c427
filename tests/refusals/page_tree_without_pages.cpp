// A tree without the number of its pages.
// refused: allot: a page_tree needs the number of pages: page_tree_options{.page = 4096, .count = 1024}
#include <allot/strategy/page_tree.hpp>

int main() {
#ifdef MISUSE
    constexpr allot::page_tree_options options{.page = 4096};
#else
    constexpr allot::page_tree_options options{.page = 4096, .count = 4};
#endif
    allot::page_tree<options> strategy;
    return strategy.insert({0, 65536}) ? 0 : 1;
}
