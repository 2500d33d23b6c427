// Without a join, waiting blocks would never become available for other sizes.
// refused: allot: deferred_options::joins must be at least 1
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t joins = 0;
#else
    constexpr std::size_t joins = 1;
#endif
    alignas(16) static std::byte bytes[256];
    using strategy = allot::deferred<allot::best_fit<>, allot::deferred_options{.joins = joins}>;
    allot::arena<allot::host::buffer, strategy> arena{allot::host::buffer{bytes}};
    return static_cast<int>(arena.size());
}
