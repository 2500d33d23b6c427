// A buffer that may only live where it does not fit, whatever the last memory were.
// refused: allot: a buffer fits none of its allowed memories: allow another memory, or enlarge one
#include <allot/plan/static_memories.hpp>

#ifdef MISUSE
constexpr std::uint64_t allowed[] = {1, 3};
#else
constexpr std::uint64_t allowed[] = {2, 3};
#endif

constexpr allot::plan_buffer buffers[] = {{.size = 80, .live = {0, 3}}, {.size = 40, .live = {2, 5}}};
constexpr allot::plan_memory memories[] = {{.capacity = 64}, {.capacity = 128, .cost = 1}};
constexpr allot::memories_problem problem{.buffers = {.buffers = buffers}, .memories = memories, .allowed = allowed};
constexpr auto layout = allot::plan_memories<problem>();

int main() { return layout.unplaced == 0 ? 0 : 1; }
