#include "objects.hpp"

namespace {
int counted = 0;
objects::checked_arena<objects::first_counts> checked_memory;
objects::plain_arena plain_memory;
}  // namespace

void objects::first_counts::operator()(allot::misuse, std::size_t, std::size_t) const noexcept { ++counted; }

objects::checked_arena<objects::first_counts>& first::checked() { return checked_memory; }
objects::plain_arena& first::plain() { return plain_memory; }
int first::misuses() { return counted; }
objects::block first::allocate(allot::layout wanted) { return plain_memory.allocate(wanted); }
void first::deallocate(objects::block held) { plain_memory.deallocate(held); }
