// A growing arena inserts extents, and this strategy manages only one.
// refused: allot: this strategy manages one extent
#include <allot/allot.hpp>

struct my_strategy {
    using allocation = allot::basic_allocation<std::size_t, allot::no_metadata<my_strategy>>;
    using offset_type = std::size_t;
    using metadata_type = allot::no_metadata<my_strategy>;
    using memory_type = allot::no_memory;
    static constexpr bool in_band = false;
    static constexpr auto reclaims = allot::reclaim::any;
    static constexpr bool exact = false;
    static constexpr bool several_extents = false;
    bool insert(allot::extent, allot::no_memory) noexcept { return true; }
    allocation allocate(allot::layout) noexcept { return {}; }
    void deallocate(allocation) noexcept {}
    std::size_t capacity(allocation held) const noexcept { return held.where.size; }
    allot::diagnosis diagnose(allot::layout) const noexcept { return {allot::refusal::exhausted}; }
    static std::size_t bytes_for(std::size_t, allot::layout) noexcept { return 0; }
};

int main() {
#ifdef MISUSE
    using growth = allot::growth::fixed<>;
#else
    using growth = allot::growth::none<>;
#endif
    allot::arena<allot::host::heap, my_strategy, growth> arena{{}, 64};
    return static_cast<int>(arena.size());
}
