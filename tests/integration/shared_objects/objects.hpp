// Exports of the two shared objects: one arena each, and functions that allocate and free blocks.
#pragma once

#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>

namespace objects {

/// Misuse handler that counts in the arena's own shared object.
struct first_counts {
    void operator()(allot::misuse, std::size_t, std::size_t) const noexcept;
};
struct second_counts {
    void operator()(allot::misuse, std::size_t, std::size_t) const noexcept;
};

inline constexpr allot::arena_options checked{.hardening = allot::hardening::checked};
using growth = allot::growth::fixed<allot::growth_options{.step = 4096, .regions = 8}>;

template <class OnMisuse>
using checked_arena = allot::arena<allot::host::heap, allot::best_fit<>, growth, checked, OnMisuse>;
/// The same type in both objects. The dynamic linker merges its functions but not its memory.
using plain_arena = allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>;
using block = plain_arena::block_type;

}  // namespace objects

#define ALLOT_OBJECT(NAME)                                     \
    namespace NAME {                                           \
    objects::checked_arena<objects::NAME##_counts>& checked(); \
    objects::plain_arena& plain();                             \
    int misuses();                                             \
    objects::block allocate(allot::layout wanted);             \
    void deallocate(objects::block held);                      \
    }
ALLOT_OBJECT(first)
ALLOT_OBJECT(second)
#undef ALLOT_OBJECT
