#include <allot/allot.hpp>
#ifdef WITH_BOOST
#include <allot/arena/hardening.hpp>
constexpr allot::arena_options options{.hardening = allot::hardening::checked};
#else
constexpr allot::arena_options options;
#endif

int main() {
    allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none<>, options> memory{{}, 4096};
    const auto block = memory.allocate({.size = 100, .align = 32});
    memory.deallocate(block);
    return block ? 0 : 1;
}
