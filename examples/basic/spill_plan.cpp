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

    // An arena in each memory has the buffers that the plan puts there, and one region as large as they need.
    const allot::memory_layout in_fast = made->in(0), in_slow = made->in(1);
    allot::arena<allot::host::heap, allot::planned<>> fast{{}, in_fast}, slow{{}, in_slow};
    if (!fast.at(0) || fast.at(1) || !slow.at(1)) return 1;
    return fast.size() <= 1024 && slow.size() == 768 ? 0 : 1;
}
