// deferred links waiting blocks through their bytes, which a strategy with a side table does not access.
// refused: allot: deferred needs a strategy with records in band whose blocks are freed in any order: use best_fit, in memory that the host can access
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr auto store = allot::node_store::side_table;
#else
    constexpr auto store = allot::node_store::in_band;
#endif
    alignas(16) static std::byte bytes[256];
    allot::arena<allot::host::buffer, allot::deferred<allot::best_fit<allot::best_fit_options{.store = store}>>> arena{
        allot::host::buffer{bytes}};
    return static_cast<int>(arena.size());
}
