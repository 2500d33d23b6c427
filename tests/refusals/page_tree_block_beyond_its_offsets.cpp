// A block that exceeds the 16 bits of the offsets.
// refused: allot: the largest block of a page_tree does not fit the offset type: use a smaller page or largest_order, or a wider offset type
#include <allot/strategy/page_tree.hpp>

int main() {
#ifdef MISUSE
    constexpr allot::page_tree_options options{.page = 4096, .count = 16, .largest_order = 4};
#else
    constexpr allot::page_tree_options options{.page = 4096, .count = 16, .largest_order = 3};
#endif
    allot::page_tree<options, std::uint16_t> strategy;
    return strategy.insert({0, 65535}) ? 0 : 1;
}
