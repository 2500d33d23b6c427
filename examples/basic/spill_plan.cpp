// A plan for two memories: a small fast one, and a large slow one for the buffers that cost least there.
#include <allot/allot.hpp>
#include <allot/plan.hpp>

#include <cstdio>

int main() {
    const allot::plan_memory memories[] = {{.capacity = 1024, .align = 128}, {.cost = 1}};  // fast; slow and unbounded
    const allot::plan_buffer buffers[] = {
        {.size = 512, .live = {0, 4}}, {.size = 768, .live = {1, 2}}, {.size = 512, .live = {2, 4}}};
    const std::uint64_t uses[] = {10, 1, 4};

    // A buffer in the slow memory costs its size, times its uses, times the cost of the memory.
    const auto made = allot::plan_memories({.buffers = {.buffers = buffers}, .memories = memories, .uses = uses});
    if (!made) {
        std::printf("the problem is invalid: %s\n", made.error().what());
        return 1;
    }
    for (std::size_t i = 0; i != made->places.size(); ++i)
        std::printf("buffer %zu: memory %u, offset %llu\n", i, made->places[i].memory,
                    static_cast<unsigned long long>(made->places[i].offset));
    std::printf("spilled: %llu bytes; cost: %llu; no plan costs less than %llu\n",
                static_cast<unsigned long long>(made->spilled), static_cast<unsigned long long>(made->cost),
                static_cast<unsigned long long>(made->bound));
    if (made->unplaced != 0 || made->spilled != 768) return 1;

    // One region of each memory, as large as the plan needs.
    const auto needs = [&](std::size_t memory) {
        return allot::layout{static_cast<std::size_t>(made->needs[memory].peak),
                             static_cast<std::size_t>(made->needs[memory].align)};
    };
    allot::naive<allot::host::heap> fast, slow;
    const auto in_fast = fast.allocate(needs(0)), in_slow = slow.allocate(needs(1));
    const bool fits = in_fast.size <= 1024 && in_slow.size == 768;
    fast.deallocate(in_fast);
    slow.deallocate(in_slow);
    return fits ? 0 : 1;
}
