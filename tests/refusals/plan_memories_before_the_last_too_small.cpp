// Buffers that fit the first memory one by one, and may live in no other: the last memory's size does not matter.
// refused: allot: buffers that the last memory may not hold exceed the others: enlarge these, or plan with effort
#include <allot/plan/static_memories.hpp>

#ifdef MISUSE
constexpr std::uint64_t allowed[] = {1, 1};
#else
constexpr std::uint64_t allowed[] = {1, 3};
#endif

constexpr allot::plan_buffer buffers[] = {{.size = 40, .live = {0, 3}}, {.size = 40, .live = {2, 5}}};
constexpr allot::plan_memory memories[] = {{.capacity = 64}, {.capacity = 128, .cost = 1}};
constexpr allot::memories_problem problem{.buffers = {.buffers = buffers}, .memories = memories, .allowed = allowed};
constexpr auto layout = allot::plan_memories<problem>();

int main() { return layout.unplaced == 0 ? 0 : 1; }
