// A strategy that may throw where an arena must not.
// refused: allot: a strategy gives grants
#include <allot/allot.hpp>

struct my_strategy {
    using grant = allot::basic_grant<std::size_t, allot::no_ticket<my_strategy>>;
    using offset_type = std::size_t;
    using ticket_type = allot::no_ticket<my_strategy>;
    using memory_type = allot::no_memory;
    static constexpr bool in_band = false;
    static constexpr auto reclaims = allot::reclaim::never;
    static constexpr bool exact = false;
    static constexpr bool several_extents = false;
    bool insert(allot::extent, allot::no_memory) noexcept { return true; }
#ifdef MISUSE
    grant allocate(allot::layout) { return {}; }
#else
    grant allocate(allot::layout) noexcept { return {}; }
#endif
    void deallocate(grant) noexcept {}
    std::size_t capacity(grant held) const noexcept { return held.where.size; }
    allot::diagnosis diagnose(allot::layout) const noexcept { return {allot::refusal::exhausted}; }
    static std::size_t bytes_for(std::size_t, allot::layout) noexcept { return 0; }
};

int main() {
    allot::arena<allot::host::static_storage<64>, my_strategy> arena;
    return static_cast<int>(arena.size());
}
