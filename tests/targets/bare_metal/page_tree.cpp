// The lock-free tree of pages: compiles for a Cortex-M4, and a Cortex-M0+ refuses it (exclusive_access.cmake).
// refused: allot: this core has no instructions for exclusive access (Cortex-M0, Cortex-M0+, or RISC-V without A),
// which page_tree needs: use synchronized<Arena, Lock> with another strategy and a lock that disables interrupts
#include <allot/strategy/page_tree.hpp>

static allot::page_tree<allot::page_tree_options{.page = 64, .count = 100, .largest_order = 3}> tree;

int main() { return tree.insert({0x2000'0000, 6400}) && tree.allocate({512, 64}) ? 0 : 1; }
