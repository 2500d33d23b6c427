// A strategy whose pages have 4096 bytes, where indices are counted.
// refused: allot: the pages of a page_cache are indices, so its strategy counts in units of 1: use page_pool<4096>, or a page_tree with page = 1
#include <allot/page_cache/page_cache.hpp>
#include <allot/strategy/page_tree.hpp>

int main() {
#ifdef MISUSE
    using pages = allot::page_tree<allot::page_tree_options{.page = 4096, .count = 64}>;
#else
    using pages = allot::page_tree<allot::page_tree_options{.page = 1, .count = 64}>;
#endif
    return allot::page_cache<pages>::bytes_for({.bytes = 64}) != 0 ? 0 : 1;
}
