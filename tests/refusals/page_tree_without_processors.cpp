// A tree for no processor.
// refused: allot: page_tree_options::processors must be at least 1
#include <allot/strategy/page_tree.hpp>

int main() {
#ifdef MISUSE
    constexpr allot::page_tree_options options{.page = 4096, .count = 4, .processors = 0};
#else
    constexpr allot::page_tree_options options{.page = 4096, .count = 4, .processors = 1};
#endif
    allot::page_tree<options> strategy;
    return strategy.insert({0, 65536}) ? 0 : 1;
}
