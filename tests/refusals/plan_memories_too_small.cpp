// Several memories, of which the last is one byte too small; the message contains the shortfall.
// refused: plan_shortfall<1>
#include <allot/plan/static_memories.hpp>

#ifdef MISUSE
constexpr std::uint64_t slow = 39;
#else
constexpr std::uint64_t slow = 40;
#endif

constexpr allot::plan_buffer buffers[] = {{.size = 40, .live = {0, 3}}, {.size = 40, .live = {2, 5}}};
constexpr allot::plan_memory memories[] = {{.capacity = 64}, {.capacity = slow, .cost = 1}};
constexpr allot::memories_problem problem{.buffers = {.buffers = buffers}, .memories = memories};
constexpr auto layout = allot::plan_memories<problem>();

int main() { return layout.needs[1].peak == 40 ? 0 : 1; }
