// The laws of memory that the host cannot access: see laws.hpp.
#include "subjects.hpp"

namespace laws {
namespace {

/// Raw pointers into protected pages.
constexpr row protected_memory[] = {
    {"best fit, automatic, protected pages", make<on<protected_pages, automatic>>},
    {"best fit, side table of 24, protected pages", make<on<protected_pages, beside_fixed>>},
    {"best fit, side table, two ends, protected pages", make<on<protected_pages, beside_two_ends>>},
    {"best fit, debug, protected pages", make<on<protected_pages, automatic, none, debug>>},
    {"bump up, protected pages", make<on<protected_pages, up>>},
    {"bump down, protected pages", make<on<protected_pages, down>>},
    {"stack, protected pages", make<on<protected_pages, stack>>},
    {"ring, protected pages", make<on<protected_pages, ring>>},
    {"pool, automatic, protected pages", make<on<protected_pages, pool<allot::pool_store::automatic>>>},
    {"pool, bitmap, protected pages", make<on<protected_pages, pool<bitmap>>>},
};

/// A handle and an offset. tests/unit/opencl/laws_test.cpp covers OpenCL itself.
constexpr row handle_memory[] = {
    {"best fit, automatic, handles", make<on<even_handles, automatic>>},
    {"best fit, side table of 24, handles", make<on<even_handles, beside_fixed>>},
    {"best fit, two ends, handles of small alignment", make<on<uneven_handles, beside_two_ends>>},
    {"best fit, 32 bits, handles", make<on<even_handles, beside_narrow>>},
    {"best fit, 32 bits, checked, handles", make<on<even_handles, beside_narrow, none, checked>>},
    {"bump up, handles", make<on<even_handles, up>>},
    {"bump down, handles of small alignment", make<on<uneven_handles, down>>},
    {"bump up, 32 bits, handles", make<on<even_handles, up_narrow>>},
    {"stack, two ends, handles", make<on<even_handles, stack_two_ends>>},
    {"ring, 32 bits, handles", make<on<even_handles, ring_narrow>>},
    {"pool, index stack, 32 bits, handles", make<on<even_handles, pool_narrow<index_stack>>>},
    {"pool, atomic bitmap, handles", make<on<even_handles, pool<atomic_bitmap>>>},
    {"page tree, 32 bits, handles of small alignment", make<on<uneven_handles, narrow_pages_in_tree>>},
};

}  // namespace
}  // namespace laws

TEST_CASE("laws: arenas over protected pages") {
    CHECK(std::size(laws::protected_memory) == 10);
    laws::judge(laws::protected_memory);
}

TEST_CASE("laws: arenas over handles") {
    CHECK(std::size(laws::handle_memory) == 13);
    laws::judge(laws::handle_memory);
}
