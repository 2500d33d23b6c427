#include "objects.hpp"

namespace {
int counted = 0;
objects::checked_arena<objects::second_counts> checked_memory;
objects::plain_arena plain_memory;
}  // namespace

void objects::second_counts::operator()(allot::misuse, std::size_t, std::size_t) const noexcept { ++counted; }

objects::checked_arena<objects::second_counts>& second::checked() { return checked_memory; }
objects::plain_arena& second::plain() { return plain_memory; }
int second::misuses() { return counted; }
objects::block second::allocate(allot::layout wanted) { return plain_memory.allocate(wanted); }
void second::deallocate(objects::block held) { plain_memory.deallocate(held); }
