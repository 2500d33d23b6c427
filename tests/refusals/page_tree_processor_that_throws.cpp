// A policy that may throw.
// refused: allot: the third parameter of a page_tree returns the number of the caller's processor: std::size_t operator()() const noexcept
#include <allot/strategy/page_tree.hpp>

struct only_one {
#ifdef MISUSE
    std::size_t operator()() const { return 0; }
#else
    std::size_t operator()() const noexcept { return 0; }
#endif
};

int main() {
    allot::page_tree<allot::page_tree_options{.page = 4096, .count = 4}, std::size_t, only_one> strategy;
    return strategy.insert({0, 65536}) ? 0 : 1;
}
